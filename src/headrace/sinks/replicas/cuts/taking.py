"""Takes the consistent cuts of a running query: after every table has a micro-batch that ends
between transactions."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.deadline import Deadline
from headrace.connect.disk import replace_text
from headrace.connectors.registry import current_rows
from headrace.errors import HeadraceError
from headrace.offsets.offset import OffsetObject, OffsetSummary, shown_until
from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.cuts.cut import Cut
from headrace.sinks.replicas.cuts.cut_log import CutLog
from headrace.sinks.replicas.lake import TableName
from headrace.spark.checkpoint import finished_batch, last_planned_batch, planned_offset

if TYPE_CHECKING:
    from headrace.sinks.replicas.replica import Replica

log = logging.getLogger(__name__)
_REFRESH_SECONDS = 300.0
"""The time after which the versions of tables without changes are read again. It is shorter than
the margin of the log of cuts, because `headrace maintain` replaces versions, too."""


class NewerRows:
    """Rows in the tables that are newer than the log up to their micro-batch: those that a snapshot
    or a signal read again after a kill. Until the log reaches them, there is no cut."""

    def __init__(self, state: Path, config: ConnectorConfig) -> None:
        """Set the folder of the sink's state, which has a file while there are such rows."""
        self._path, self._config = state / "newer-rows.json", config

    def begin(self, checkpoint: Path) -> None:
        """Note whether the micro-batch that a former run has planned and not finished has rows that
        are read again. Raises OSError."""
        planned = last_planned_batch(checkpoint)
        if planned > finished_batch(checkpoint):
            offset = planned_offset(checkpoint, planned) or {}
            if _has_queried_rows(offset):
                replace_text(self._path, json.dumps({"batch": planned}))

    def bound(self, batch: int) -> int | None:
        """Return the place that the log has to reach after a committed micro-batch, as soon as that
        has the rows and the database says it; None: it is not known yet. 0: there are no such
        rows. Raises OSError."""
        try:
            known = json.loads(self._path.read_text())
        except FileNotFoundError:
            return 0
        if "place" in known:
            return int(known["place"])
        if batch < known["batch"]:
            return None
        try:
            place = self._end_of_log()
        except HeadraceError as error:
            log.warning("There is no consistent cut after micro-batch %d: %s", batch, error)
            return None
        replace_text(self._path, json.dumps({"batch": known["batch"], "place": place}))
        return place

    def reread(self, batch: int) -> int:
        """Return the end of the log after the rows of a micro-batch were read again; 0: its rows
        were read once. Raises OSError."""
        try:
            is_reread = json.loads(self._path.read_text()).get("batch") == batch
        except FileNotFoundError:
            return 0
        return (self.bound(batch) or 0) if is_reread else 0

    def are_reached(self, batch: int, end: OffsetSummary) -> bool:
        """Return whether the log up to the end of a committed micro-batch has all changes that
        rows in the tables show. Raises OSError."""
        bound = self.bound(batch)
        if bound is None or end.place < bound:
            return False
        self._path.unlink(missing_ok=True)
        return True

    def _end_of_log(self) -> int:
        rows = current_rows(self._config)
        try:
            return rows.place()
        finally:
            rows.close()


class CutTaker:
    """Records the cuts of a run in the log of cuts."""

    def __init__(self, cuts: CutLog, newer: NewerRows) -> None:
        self._cuts, self._newer = cuts, newer
        self._time_ms = 0
        self._refresh = Deadline(0)

    def open(self, lake: Mapping[str, str], checkpoint: Path) -> None:
        """Begin a run; `lake` are the options by which readers find the tables. Raises
        HeadraceError, OSError."""
        self._cuts.open(lake)
        self._newer.begin(checkpoint)
        last = self._cuts.last
        self._time_ms = 0 if last is None else last.time_ms
        self._refresh = Deadline(0)

    def shown_until(self, batch: int, offset: OffsetObject) -> str:
        """Return the beginning of the sequences of the first changes that the rows of a
        micro-batch do not show; see `headrace.offsets.offset`. Raises OSError."""
        return shown_until(offset, self._newer.reread(batch)) if offset else ""

    def follow(self, batch: int, parts: Iterable[Part]) -> None:
        """Note the times of the changes of a committed micro-batch, and what its rows need. Raises
        OSError."""
        self._newer.bound(batch)
        self._time_ms = max([self._time_ms, *(part.source_ms for part in parts)])

    def take(
        self,
        batch: int,
        end: OffsetSummary,
        system: str,
        replicas: Mapping[TableName, Replica],
        missing: Mapping[TableName, str],
    ) -> None:
        """Record the versions of replicas after a micro-batch that all of them have, if it ends
        between transactions. `missing` are the tables without its changes, with the reasons. Raises
        HeadraceError, OSError."""
        if not end.is_boundary or not self._newer.are_reached(batch, end):
            return
        refreshes = self._refresh.is_over
        versions: dict[TableName, str] = {}
        excluded = dict(missing)
        for name in sorted(replicas.keys() - excluded.keys(), key=str):
            try:
                version = replicas[name].version(refreshes=refreshes)
            except HeadraceError as error:
                excluded[name] = error.message
            else:
                if version is not None:
                    versions[name] = version
        if refreshes and excluded.keys() == missing.keys():
            self._refresh.restart(_REFRESH_SECONDS)
        now_ms = time.time_ns() // 1_000_000
        self._cuts.add(
            Cut(batch, end.place, end.text, system, self._time_ms, now_ms, versions, excluded)
        )


def _has_queried_rows(offset: Mapping[str, Any]) -> bool:
    """Return whether a range that ends at an offset has rows that were read by queries."""
    inserts = (offset.get("signals") or {}).get("inserts", ())
    return offset.get("snapshot") is not None or any(insert.get("table") for insert in inserts)
