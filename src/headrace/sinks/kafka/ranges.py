"""The ranges of a query in the source process: the state that earlier ranges left, the plan of the
next range, and the writing of small ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.sinks.kafka.bookkeeping import Bookkeeping
from headrace.sinks.kafka.markers import (
    Marker,
    NextStep,
    Turn,
    TurnKind,
    begins,
    next_step,
    next_step_of_all,
)
from headrace.sinks.kafka.options import KafkaOptions
from headrace.sinks.kafka.plan import Plan, PlanFolder, Way
from headrace.sinks.kafka.writer import Pause, Writer, fence

if TYPE_CHECKING:
    import pyarrow as pa

RANGE, PARTS = "range", "parts"
"""Suffixes of transactional ids: of the source process, and of the driver."""


class Ranges:
    """The ranges of one query, in their order. Methods raise HeadraceError."""

    def __init__(
        self, options: KafkaOptions, folder: PlanFolder, checkpoint: str, pause: Pause, room: int
    ) -> None:
        """`checkpoint` is the id that Spark gave it, `room` the usual maximum number of slices of a
        range."""
        self._options, self._folder, self._checkpoint = options, folder, checkpoint
        self._room = room
        self._pause = pause
        self._bookkeeping = Bookkeeping(options)
        self._writer = Writer(options, RANGE, pause)
        self._plan: Plan | None = None
        self._settled: list[Marker | None] | None = None  # until the next micro-batch

    def plan(self, batch: int, slices: int, digest: str, way: Way) -> Plan:
        """Plan a micro-batch: `way`, or as it was begun before a restart. Without slices, no task
        could write markers, so it is written directly. After the plan, transactions of earlier runs
        are settled.

        Raises as `next_step` does, before anything is written.
        """
        last = self._plan or self._folder.last()
        if last is not None and last.turn.batch == batch and last.turn.slices == slices:
            way = last.way
        if slices == 0:
            way = Way.DIRECT
        turn = Turn(self._checkpoint, batch, slices, way.kind, digest, max(slices, 1), 0)
        if self._options.is_transactional:
            turn = self._following(turn, last)
        plan = Plan(turn, way, last.written if last is not None else 0)
        self._folder.write(plan)
        self._plan = plan
        return plan

    def _following(self, turn: Turn, last: Plan | None) -> Turn:
        """Return `turn` with the former number of slices, checked against the markers."""
        if self._plan is None:
            # A dead process may have left transactions, and a slow one must be fenced.
            markers = self._settle(turn)
            first = markers[0] if markers else None
            before = 0
            if first is not None:
                before = first.before if first.batch == turn.batch else first.width
            turn = replace(turn, before=before, width=max(before, turn.width))
            self._settled = markers + [None] * (turn.width - len(markers))
            self._check(turn)
            return turn
        assert last is not None
        before = last.turn.before if last.turn.batch == turn.batch else last.turn.width
        if turn.width > max(before, self._room):
            self._bookkeeping.make_room(turn.width)
            self._writer.disconnect()  # it has the former partitions
            self._room = turn.width
        if last.turn.batch != turn.batch:
            self._settled = None
        return replace(turn, before=before, width=max(before, turn.width))

    def _settle(self, turn: Turn) -> list[Marker | None]:
        present = self._bookkeeping.partitions()
        if not present and turn.batch > 0 and not self._options.begins_without_markers:
            next_step(None, turn, begins=False)
        room = self._room = max(present, self._room, turn.width)
        self._bookkeeping.make_room(room)
        fence(self._options, suffixes(room), self._pause)
        return self._bookkeeping.read(self._checkpoint, range(room))

    def _check(self, turn: Turn) -> None:
        markers = self._settled or []
        without = self._options.begins_without_markers
        for number in range(turn.width):
            start = begins(markers, turn, number, without_markers=without)
            next_step(markers[number], turn, begins=start)

    def begins(self, number: int) -> bool:
        """Whether a slice of the planned micro-batch may have no marker."""
        assert self._plan is not None
        turn = self._plan.turn
        if self._settled is None:
            return number >= turn.before
        without = self._options.begins_without_markers
        return begins(self._settled, turn, number, without_markers=without)

    def write(self, plan: Plan, read: Callable[[], Iterable[pa.RecordBatch]]) -> None:
        """Write a range directly."""
        records = self._writer.write(
            plan.turn, 0, read, lambda: step_of_range(self._bookkeeping, plan.turn, self._options)
        )
        self._plan = replace(plan, written=plan.written + (records or 0))
        self._folder.write(self._plan)

    def close(self) -> None:
        """Disconnect; never raises."""
        self._writer.close()


def step_of_range(bookkeeping: Bookkeeping, turn: Turn, options: KafkaOptions) -> NextStep:
    """Decide for the one producer of a whole range."""
    markers = bookkeeping.read(turn.checkpoint, range(turn.width))
    return next_step_of_all(markers, turn, without_markers=options.begins_without_markers)


def step_of_slice(bookkeeping: Bookkeeping, turn: Turn, number: int, *, is_first: bool) -> NextStep:
    """Decide for the producer of a slice; `is_first`: it has no marker yet."""
    (marker,) = bookkeeping.read(turn.checkpoint, [number])
    return next_step(marker, turn, begins=is_first)


def suffixes(slices: int) -> Sequence[str]:
    """Suffixes of the transactional ids of a query with this number of slices."""
    return [RANGE, PARTS, *map(str, range(slices))]


def send_range(
    options: KafkaOptions,
    checkpoint: str,
    batch: int,
    digest: str,
    read: Callable[[], Iterable[pa.RecordBatch]],
) -> int | None:
    """Write a micro-batch as a whole; returns the number of records (None: Kafka has them).
    `digest` identifies them, or is empty.

    Raises HeadraceError, as `next_step` does before anything is written.
    """
    turn = Turn(checkpoint, batch, 1, TurnKind.WHOLE, digest, 1, 0)
    bookkeeping = Bookkeeping(options)
    if options.is_transactional:
        if not bookkeeping.partitions():
            next_step(None, turn, begins=batch == 0 or options.begins_without_markers)
        bookkeeping.make_room(1)
    writer = Writer(options, RANGE)
    try:
        return writer.write(turn, 0, read, lambda: step_of_range(bookkeeping, turn, options))
    finally:
        writer.close()
