"""Implements `headrace.consistent_versions` and `headrace.read_consistent`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.sinks.replicas.cuts.choosing import QueryCuts, choose
from headrace.sinks.replicas.cuts.cut import Cut
from headrace.sinks.replicas.cuts.cut_log import CUTS, CutList, read_cuts
from headrace.sinks.replicas.lake import TableName
from headrace.spark.sinks.registry import find_sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Folders = str | PathLike[str] | Sequence[str | PathLike[str]]


@dataclass(frozen=True)
class ConsistentVersions:
    """A version of each table at the same position of the source: each has all transactions up to
    the position, and nothing of later ones.

    `position` is the position in the notation of the database, `place` the same as a number, and
    `time` the time of the source of the last change before it (None: unknown). The versions can be
    read until `expires` at least. `versions` are snapshot ids of Iceberg or versions of Delta by
    the names of the tables; None: the table existed, but had no Iceberg snapshot yet, so no rows.
    """

    position: str
    place: int
    time: datetime | None
    expires: datetime
    versions: Mapping[str, int | None]


@dataclass(frozen=True)
class _Table:
    name: TableName
    version: str
    cut_list: CutList


def consistent_versions(
    checkpoint: Folders,
    tables: Sequence[str] | None = None,
    at: datetime | str | ConsistentVersions | None = None,
) -> ConsistentVersions:
    """See `headrace.consistent_versions`."""
    cuts, expires_ms, chosen = _chosen(checkpoint, tables, at)
    versions = {
        name: int(table.version) if table.version else None for name, table in chosen.items()
    }
    time_ms = max(cut.time_ms for cut in cuts)
    return ConsistentVersions(
        cuts[0].position,
        cuts[0].place,
        datetime.fromtimestamp(time_ms / 1000, UTC) if time_ms else None,
        datetime.fromtimestamp(expires_ms / 1000, UTC),
        versions,
    )


def read_consistent(
    spark: SparkSession,
    checkpoint: Folders,
    tables: Sequence[str] | None = None,
    at: datetime | str | ConsistentVersions | None = None,
    catalog: str | None = None,
) -> dict[str, DataFrame]:
    """See `headrace.read_consistent`."""
    _, _, chosen = _chosen(checkpoint, tables, at)
    frames = {}
    for name, table in chosen.items():
        lake = dict(table.cut_list.lake)
        if catalog is not None:
            lake["catalog.name"] = catalog
        listed = (*table.name.namespace, table.name.name)
        sink = find_sink(table.cut_list.table_format)
        frames[name] = sink.read_version(spark, lake, listed, table.version)
    return frames


def _chosen(
    checkpoint: Folders,
    tables: Sequence[str] | None,
    at: datetime | str | ConsistentVersions | None,
) -> tuple[tuple[Cut, ...], int, dict[str, _Table]]:
    """Return the chosen cuts, the time until which they can be read (milliseconds), and the tables
    by their names. Raises HeadraceError."""
    if isinstance(checkpoint, str | PathLike):
        checkpoint = [checkpoint]
    folders = list(map(Path, checkpoint))
    now_ms = time.time_ns() // 1_000_000
    cut_lists = [_read(folder) for folder in folders]
    queries = [
        QueryCuts(folder, cut_list.listed(now_ms))
        for folder, cut_list in zip(folders, cut_lists, strict=True)
    ]
    cuts = choose(queries, at.place if isinstance(at, ConsistentVersions) else at)
    expires_ms = min(
        cut_list.expires_ms(cut, now_ms) for cut_list, cut in zip(cut_lists, cuts, strict=True)
    )
    known: dict[str, _Table] = {}
    reasons: dict[str, str] = {}
    for cut_list, cut in zip(cut_lists, cuts, strict=True):
        for name, version in cut.versions.items():
            if str(name) in known:
                raise HeadraceError(
                    "replicas.ambiguous_table",
                    f"More than one of the queries has a table {name}",
                    "Call it once for each checkpoint, and pass the first result as `at` to the "
                    "later calls.",
                )
            known[str(name)] = _Table(name, version, cut_list)
        reasons |= {str(name): why for name, why in cut.missing.items()}
    names = [*known, *reasons] if tables is None else list(tables)
    _require(names, known, reasons, cuts[0].position)
    return cuts, expires_ms, {name: known[name] for name in names}


def _require(
    names: Sequence[str], known: Mapping[str, _Table], reasons: Mapping[str, str], position: str
) -> None:
    """Refuse tables that the cut does not have. Raises HeadraceError."""
    if missing := [name for name in names if name in reasons]:
        missing_tables = "; ".join(f"{name}: {reasons[name]}" for name in missing)
        raise HeadraceError(
            "replicas.table_not_in_cut",
            f"The consistent cut at {position} lacks tables: {missing_tables}",
            "Run headrace status and repair the tables that it lists, name the other tables in "
            "`tables`, or pass the time of an earlier cut as `at`. After an erasure, start the "
            "query and wait for its next commit.",
        )
    if unknown := [name for name in names if name not in known]:
        raise HeadraceError(
            "replicas.no_such_table",
            f"The consistent cut at {position} has no table {', '.join(unknown)}",
            f"Name some of these tables: {', '.join(known)}."
            if known
            else "Wait until the first copy of a table is complete: no table exists yet.",
        )


def _read(folder: Path) -> CutList:
    """Return the cuts of a query. `folder` is its state folder, or the checkpoint in that. Raises
    HeadraceError."""
    for state in _states(folder):
        try:
            known = read_cuts(state)
        except OSError as error:
            raise HeadraceError(
                "replicas.cuts_not_understood",
                f"The file of consistent cuts {state / CUTS} cannot be read ({error.strerror})",
                "Check the permissions.",
            ) from error
        if known is not None:
            return known
    raise HeadraceError(
        "replicas.no_cut",
        f"{folder} has no consistent cut: no query into replicas has recorded one there",
        "Name the folder of headrace run --checkpoint on the host of the query, and let the query "
        "run until the first copy of its tables is complete.",
    )


def _states(folder: Path) -> Iterator[Path]:
    """Yield the folders of sinks in a state folder, or in the state folder that has the checkpoint
    `folder`."""
    for state in (folder, folder.absolute().parent):
        for path in sorted(state.glob(f"*/{CUTS}")):
            yield path.parent
