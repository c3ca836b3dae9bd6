"""Detects other runs of a query that commit to a table at the same time, with a copy of the query's
state folder and checkpoint, and deletes files that killed runs have left."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace

from headrace.sinks.replicas import refusals
from headrace.sinks.replicas.lake import (
    BATCH,
    POSITION,
    RUN,
    UPKEEP,
    ColumnChange,
    DataFile,
    LakeTable,
    TableName,
)
from headrace.sinks.replicas.outcomes import MicroBatch

log = logging.getLogger(__name__)


class OtherRuns:
    """Detects commits of other runs of the query to a table since this run began. Each commit
    writes the id of its run to the table, so that only one of two runs at a time goes on."""

    def __init__(self, name: TableName) -> None:
        self._name = name
        self._former: tuple[str | None, str | None] = None, None

    def begin(self, properties: Mapping[str, str]) -> None:
        """Note the last run and its micro-batch when this run first sees the table."""
        self._former = properties.get(RUN), properties.get(BATCH)

    def require_none(self, properties: Mapping[str, str], batch: MicroBatch) -> None:
        """Raise HeadraceError("replicas.other_run") if another run has committed meanwhile, or if
        it has committed other changes as this micro-batch."""
        run, number = properties.get(RUN), properties.get(BATCH, "")
        if not batch.run or run in (None, batch.run):
            return
        is_same = number != str(batch.number) or properties.get(POSITION) == batch.position
        if (run, number) != self._former or not is_same:
            raise refusals.other_run(self._name, number)


def sweep_left_files(
    table: LakeTable, batch: MicroBatch, before: Mapping[str, str], files: Iterable[DataFile]
) -> None:
    """Delete files of a micro-batch, or of the upkeep after the one before it, that a killed run
    may have left. The micro-batch has been committed, so that another run can no longer commit
    them; `before` and `files` are the properties and the live files of the table before it. Files
    of an upkeep that was committed stay, because former versions of the table have them. Earlier
    versions of headrace did not record the commit: then live files have its name, or those of a
    merge. Errors are logged: they do not fail the micro-batch."""
    number = before.get(BATCH, "-1")
    upkeep = replace(batch, number=int(number)).upkeep_name
    names = [file.path.rpartition("/")[2] for file in files]
    may_be_live = any(upkeep in name or not batch.is_of_query(name) for name in names)
    try:
        begun = table.begin(ColumnChange())
        begun.storage.sweep(f"{batch.name}-", begun.files)
        if before.get(UPKEEP) != number and not may_be_live:
            begun.storage.sweep(upkeep)
    except Exception as error:  # noqa: BLE001 - a table is correct with files that it does not use
        reason = f"{type(error).__name__}: {error}"
        log.warning("Files that a killed run may have left of %s stay: %s", table.name, reason)
