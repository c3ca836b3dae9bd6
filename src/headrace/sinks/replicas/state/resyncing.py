"""Requests to copy tables again and the copies in progress, as files of the state folder.

`headrace resync` writes a request before it sends the signal that asks for the rows. The copy
begins with the micro-batch whose range of the log has the signal's snapshot, so that a signal that
was not sent changes nothing. The sink turns the request into a copy before it applies that
micro-batch, and records which data files are older. A table that takes some changes of its columns
only while it is empty is emptied.

Only `headrace resync` and a lost log write requests, and only the sink writes copies, so that a
request during a copy is neither lost nor taken for the copy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headrace.connect.disk import replace_text
from headrace.sinks.replicas.lake import TableName

COMPLETE_RESULTS = frozenset({"SUCCEEDED", "EMPTY"})
"""Results of a table's snapshot that read every row."""
_COPIES = "copying"


class Stage(StrEnum):
    """The progress of a table that is copied again. BEGUN: the files are recorded, and the state of
    a stopped table is not yet deleted."""

    REQUESTED = "requested"
    BEGUN = "begun"
    COPYING = "copying"


@dataclass(frozen=True)
class Resync:
    """A table that is copied again by a signal. `files` are the data files that it had at the
    beginning: rows that are left in them when every row was copied are not at the source. `batch`
    is the last micro-batch whose changes it received since then (-1: none). Rows are left out if
    changes did not carry all of their values: `lost` counts those before this micro-batch, and
    `lost_in_batch` those in it. `tables` are the source tables whose rows it has, all of which the
    signal reads (empty: all tables of the signal are meant). `epoch`: not a signal, but the
    snapshot with which this epoch of the offsets begins reads the rows (0: a signal)."""

    folder: Path
    name: TableName
    signal: str
    stage: Stage = Stage.REQUESTED
    files: tuple[str, ...] = ()
    batch: int = -1
    lost: int = 0
    lost_in_batch: int = 0
    tables: tuple[str, ...] = ()
    epoch: int = 0

    def write(self) -> None:
        """Write the request or the copy, in place of a former one of the table. Raises OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        known = {
            "namespace": self.name.namespace,
            "name": self.name.name,
            "signal": self.signal,
            "stage": self.stage,
            "files": self.files,
            "batch": self.batch,
            "lost": self.lost,
            "lost_in_batch": self.lost_in_batch,
            "tables": self.tables,
            "epoch": self.epoch,
        }
        replace_text(self._path, json.dumps(known))

    def begin(self, files: Iterable[str]) -> None:
        """Write the copy of a request, and delete the request unless another one has
        replaced it. `files` are the table's data files. Raises OSError."""
        replace(self, stage=Stage.BEGUN, files=tuple(files)).write()
        taken_path = self._path.with_suffix(".taken")
        self._path.replace(taken_path)
        if _of_file(self.folder, taken_path) != self:  # requested once more
            with suppress(FileExistsError):
                os.link(taken_path, self._path)
        taken_path.unlink()

    def copying(self) -> Resync:
        """Return and write the copy whose table takes changes. Raises OSError."""
        copy = replace(self, stage=Stage.COPYING)
        copy.write()
        return copy

    def is_empty(self, batch: int) -> bool:
        """Return whether the table received no changes since the beginning, before a micro-batch:
        it can be emptied."""
        return self.batch in (-1, batch)

    def count(self, batch: int, left_out: int) -> None:
        """Write that the table is about to receive a micro-batch, from which `left_out` rows are
        left out. A micro-batch that comes again counts once. Raises OSError."""
        lost = self.lost if batch == self.batch else self.lost + self.lost_in_batch
        later = replace(self, batch=batch, lost=lost, lost_in_batch=left_out)
        if later != self:
            later.write()

    def finish(self) -> None:
        """Delete the request or the copy. Raises OSError."""
        self._path.unlink(missing_ok=True)

    def is_in(self, offset: Mapping[str, Any]) -> bool:
        """Return whether the snapshot of the signal is in progress at an offset, or has rows in the
        range that ends there."""
        if self.epoch:
            return _reads_all(offset)
        signals = offset.get("signals") or {}
        tables = [*signals.get("tables", ()), *signals.get("blocking", ())]
        tables += [insert["table"] for insert in signals.get("inserts", ()) if insert.get("table")]
        return any(self._reads(*table[:2]) for table in tables)

    def ended(self, offset: Mapping[str, Any]) -> list[str]:
        """Return the results of the signal's snapshot in the range that ends at an offset; empty:
        it continues, or did not end in this range."""
        if self.epoch:
            return [] if _reads_all(offset) else ["SUCCEEDED"]
        signals = offset.get("signals") or {}
        ended = [text for *table, text in signals.get("ended", ()) if self._reads(*table)]
        goes_on = any(self._reads(*table[:2]) for table in signals.get("tables", ()))
        return [] if goes_on and COMPLETE_RESULTS.issuperset(ended) else ended

    def _reads(self, table: str, signal: str) -> bool:
        is_own = not self.tables or not table or table in self.tables
        return signal == self.signal and is_own

    @property
    def _path(self) -> Path:
        folder = self.folder if self.stage is Stage.REQUESTED else self.folder / _COPIES
        return folder / f"{quote(str(self.name), safe='')}.json"


def _of_file(folder: Path, path: Path) -> Resync:
    known = json.loads(path.read_text())
    return Resync(
        folder,
        TableName(tuple(known["namespace"]), known["name"]),
        known["signal"],
        Stage(known["stage"]),
        tuple(known["files"]),
        known["batch"],
        known["lost"],
        known["lost_in_batch"],
        tuple(known["tables"]),
        known["epoch"],
    )


def _in(folder: Path, paths: Iterable[Path]) -> Iterator[Resync]:
    for path in sorted(paths):
        with suppress(FileNotFoundError):  # another process has deleted it
            yield _of_file(folder, path)


def requests(folder: Path) -> Iterator[Resync]:
    """Yield the requests whose copies have not begun. `folder` has all requests and copies."""
    return _in(folder, folder.glob("*.json"))


def copies(folder: Path) -> Iterator[Resync]:
    """Yield the copies in progress."""
    return _in(folder, (folder / _COPIES).glob("*.json"))


def resyncs(folder: Path) -> Iterator[Resync]:
    """Yield the requests and the copies."""
    yield from requests(folder)
    yield from copies(folder)


def new_epoch(before: Mapping[str, Any], offset: Mapping[str, Any]) -> int:
    """Return the epoch that begins with `offset`, the end of a range in which a snapshot reads all
    tables because the log from `before` on was lost or is not read; 0: no epoch begins. A first
    copy that restarts does not count, unless the log was lost: the log has the changes since its
    first start."""
    epoch, former = offset.get("epoch", 0), before.get("epoch", 0)
    begins = 0 < former < epoch and _reads_all(offset)
    return epoch if begins and (offset.get("gap") or not _reads_all(before)) else 0


def _reads_all(offset: Mapping[str, Any]) -> bool:
    snapshot = offset.get("snapshot")
    return snapshot is not None and not snapshot.get("blocking")
