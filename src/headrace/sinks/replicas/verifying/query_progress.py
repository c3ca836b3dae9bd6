"""The position up to which a query has replicated the log, from its checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset
from headrace.snapshots.incremental.current_rows import CurrentRows
from headrace.spark.checkpoint import stored_offset
from headrace.spark.sinks.comparison import ComparisonRequest

_LOOK_SECONDS = 0.2


class QueryProgress:
    """The finished micro-batches of a query. Where the offset is settled, the tables have all
    changes before it, except those that have stopped."""

    def __init__(self, checkpoint: Path, current: CurrentRows, request: ComparisonRequest) -> None:
        self._checkpoint, self._current, self._request = checkpoint, current, request

    def offset(self) -> Offset[Any] | None:
        """Return the end of the last one; None: it cannot be read, or nothing was replicated yet.
        Raises HeadraceError as `Offset.from_json`."""
        stored = stored_offset(self._checkpoint)
        return None if stored is None else self._current.read_offset(stored)

    def require_tables(self) -> None:
        """Refuse a query whose tables are not completely copied yet. Raises
        HeadraceError("replicas.not_copied_yet")."""
        offset = self.offset()
        if offset is None or offset.is_initial or offset.snapshot is not None:
            raise HeadraceError(
                "replicas.not_copied_yet",
                f"The query of {self._checkpoint} has not copied its tables yet: their first copy "
                "is missing or under way",
                "Let headrace run copy them, and compare them when headrace status says that it "
                "streams.",
            )

    def await_place(self, place: int, check: Callable[[], None]) -> str:
        """Wait until the tables have all changes before a place; returns their position. Calls
        `check` repeatedly. Raises what it raises, and HeadraceError("replicas.query_behind") if the
        query makes no progress for the time of the request."""
        patience = Deadline(self._request.wait_seconds)
        reached = -1
        while True:
            check()
            self._request.check()
            offset = self.offset()
            committed = -1 if offset is None else offset.position.committed
            if offset is not None and committed >= place and offset.is_settled:
                return str(offset.position)
            if committed > reached:
                reached = committed
                patience.restart()
            if patience.is_over:
                at = "no position" if offset is None else str(offset.position)
                raise HeadraceError(
                    "replicas.query_behind",
                    f"Rows that differ cannot be confirmed: the query of {self._checkpoint} is at "
                    f"{at} and has not come further for {self._request.wait_seconds:g} seconds, "
                    f"and the rows were read at {self._current.place_text(place)}",
                    "Start the query (headrace run), and compare again; the comparison continues.",
                )
            time.sleep(_LOOK_SECONDS)
