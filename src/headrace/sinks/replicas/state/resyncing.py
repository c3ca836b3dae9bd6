"""Requests to copy tables again, as files of the state folder: `headrace resync` writes them, and
the sink handles them before its next micro-batch.

The request is written before the signal that asks for the rows is sent. So the micro-batch with the
first of these rows begins after it, and the sink knows by then which data files are older. A table
that takes some changes of its columns only while it is empty is emptied.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headrace.connect.disk import replace_text
from headrace.sinks.replicas.lake import TableName

WHOLE = frozenset({"SUCCEEDED", "EMPTY"})
"""Results of a table's snapshot that read every row."""


class Stage(StrEnum):
    """The progress of a table that is copied again."""

    REQUESTED = "requested"
    BEGUN = "begun"
    COPYING = "copying"


@dataclass(frozen=True)
class Resync:
    """A table that is copied again by a signal. `files` are the data files that it had at the
    beginning: rows that are left in them when every row was copied are not at the source. `lost`
    counts rows that were left out, because changes did not carry all of their values;
    `has_changes`: the table has received changes or rows since then, so it cannot be emptied.
    `tables` are the source tables whose rows it has, all of which the signal reads (empty: written
    by an earlier version, and all tables of the signal are meant). `epoch`: not a signal, but the
    snapshot with which this epoch of the offsets begins reads the rows (0: a signal)."""

    folder: Path
    name: TableName
    signal: str
    stage: Stage = Stage.REQUESTED
    files: tuple[str, ...] = ()
    lost: int = 0
    has_changes: bool = False
    tables: tuple[str, ...] = ()
    epoch: int = 0

    def write(self) -> None:
        """Write the request, in place of a former one of the table. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        known = {
            "namespace": self.name.namespace,
            "name": self.name.name,
            "signal": self.signal,
            "stage": self.stage,
            "files": self.files,
            "lost": self.lost,
            "has_changes": self.has_changes,
            "tables": self.tables,
            "epoch": self.epoch,
        }
        replace_text(self._path, json.dumps(known))

    def at(self, stage: Stage, files: Iterable[str] | None = None) -> Resync:
        """Return and write the request at another stage. Raises OSError."""
        return self._kept(replace(self, stage=stage, files=tuple(files or self.files)))

    def after_changes(self, left_out: int) -> Resync:
        """Return and write the request after changes, with `left_out` more lost rows. Raises
        OSError."""
        return self._kept(replace(self, lost=self.lost + left_out, has_changes=True))

    def _kept(self, later: Resync) -> Resync:
        if later != self:
            later.write()
        return later

    def finish(self) -> None:
        """Delete the request. Raises OSError."""
        self._path.unlink(missing_ok=True)

    def is_in(self, offset: Mapping[str, Any]) -> bool:
        """Return whether the snapshot of the signal is in progress at an offset, or has rows in the
        range that ends there."""
        if self.epoch:
            return _reads_all(offset)
        signals = offset.get("signals") or {}
        tables = [*signals.get("tables", ()), *signals.get("blocking", ())]
        tables += [each["table"] for each in signals.get("inserts", ()) if each.get("table")]
        return any(self._reads(*table[:2]) for table in tables)

    def ended(self, offset: Mapping[str, Any]) -> list[str]:
        """Return the results of the signal's snapshot in the range that ends at an offset; empty:
        it continues, or did not end in this range."""
        if self.epoch:
            return [] if _reads_all(offset) else ["SUCCEEDED"]
        signals = offset.get("signals") or {}
        ended = [text for *table, text in signals.get("ended", ()) if self._reads(*table)]
        goes_on = any(self._reads(*table[:2]) for table in signals.get("tables", ()))
        return [] if goes_on and WHOLE.issuperset(ended) else ended

    def _reads(self, table: str, signal: str) -> bool:
        is_own = not self.tables or not table or table in self.tables
        return signal == self.signal and is_own

    @property
    def _path(self) -> Path:
        return self.folder / f"{quote(str(self.name), safe='')}.json"


def resyncs(folder: Path) -> Iterator[Resync]:
    """Yield the requests in a folder."""
    for path in sorted(folder.glob("*.json")):
        known = json.loads(path.read_text())
        name = TableName(tuple(known["namespace"]), known["name"])
        stage, files = Stage(known["stage"]), tuple(known["files"])
        lost, has_changes = known["lost"], known["has_changes"]
        tables, epoch = tuple(known.get("tables", ())), known.get("epoch", 0)
        yield Resync(folder, name, known["signal"], stage, files, lost, has_changes, tables, epoch)


def new_epoch(before: Mapping[str, Any], offset: Mapping[str, Any]) -> int:
    """Return the epoch that begins with a range in which a snapshot reads all tables, because the
    log from `before` on was lost or is not read; 0: no epoch begins. A first copy that restarts
    does not count: the log has the changes since its first start."""
    epoch, former = offset.get("epoch", 0), before.get("epoch", 0)
    begins = 0 < former < epoch and _reads_all(offset) and not _reads_all(before)
    return epoch if begins else 0


def _reads_all(offset: Mapping[str, Any]) -> bool:
    snapshot = offset.get("snapshot")
    return snapshot is not None and not snapshot.get("blocking")
