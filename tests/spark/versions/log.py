"""A log of numbers, of which a range has three, and what a source does with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.offsets.offset import OffsetObject
from headrace.spark.versions.contract import Ranges

RANGE = 3


class Log(Ranges):
    """`acknowledged` is the place that was acknowledged, `over` whether the source said that it has
    given all. It is its own session."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.acknowledged = 0
        self.target: int | None = None
        self.over: list[bool] = []
        self.polls: list[int] = []

    def initialOffset(self) -> dict[str, Any]:
        return {"v": 1, "server": "s"}

    def session(self) -> Any:
        return self

    def latest_offset(self, start: OffsetObject) -> OffsetObject:
        self.commit(start)
        return self.poll(start)

    def poll(self, start: OffsetObject) -> OffsetObject:
        number = int(start.get("n", 0))
        self.polls.append(number)
        end = min(number + RANGE, self.length if self.target is None else self.target)
        return start if end == number else {"v": 2, "server": "s", "epoch": 1, "n": end}

    def commit(self, end: OffsetObject) -> None:
        self.acknowledged = max(self.acknowledged, int(end.get("n", 0)))

    def withhold_start(self) -> None:
        """Does nothing: the log reports no starts."""

    def let_acknowledge(self) -> None:
        """Does nothing: the log has reported at once."""

    def bounded(self) -> None:
        self.target = self.length if self.target is None else self.target

    def write_report(self, *, is_over: bool) -> None:
        self.over.append(is_over)

    def slices(self, start: OffsetObject, end: OffsetObject) -> list[int]:
        return list(range(int(start.get("n", 0)), int(end.get("n", 0))))

    def partitions(self, slices: Any, _end: Any = None) -> Any:
        return slices

    def plan(self, start: OffsetObject, end: OffsetObject) -> Sequence[Any]:
        return self.slices(start, end)

    def read(self, partition: Any) -> Any:
        raise NotImplementedError
