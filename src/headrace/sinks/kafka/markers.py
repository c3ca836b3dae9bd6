"""Markers: the progress of slices, stored in Kafka, and the decisions that follow from it. This
module does not access Kafka.

A slice's marker is produced in the transaction of its records, so it exists if and only if they do.
After a finished micro-batch N the markers of all slices that ever existed say N: slice 0 writes the
markers of slices that N does not have.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from headrace.errors import HeadraceError

_VERSION = 1
_GO_ON_WITHOUT = (
    "Name the previous cluster and bookkeeping topic. To continue without it: "
    "headrace.sink.kafka.bookkeeping.lost=begin writes this micro-batch, again if a part of it "
    "was written; remove the property when the stream runs."
)


class TurnKind(StrEnum):
    """The transactions of a micro-batch: one per slice, or one of all slices."""

    SLICES = "slices"
    WHOLE = "whole"


class NextStep(StrEnum):
    """The decision of a slice: to write its records, or to skip them."""

    WRITE = "write"
    SKIP = "skip"


@dataclass(frozen=True)
class Turn:
    """A micro-batch of the checkpoint with the id `checkpoint`: how it is divided and written, and
    a digest of its records (empty if unknown). `width` is the number of slices that ever existed,
    including this micro-batch's; `before` the number before it."""

    checkpoint: str
    batch: int
    slices: int
    kind: TurnKind
    digest: str
    width: int
    before: int

    def marker(self, records: int) -> Marker:
        """The marker of a slice that wrote this number of records."""
        return Marker(
            self.batch, self.slices, self.kind, self.digest, records, self.width, self.before
        )

    def marked(self, number: int) -> tuple[int, ...]:
        """The slices whose markers the slice `number` writes, its own first."""
        rest = range(self.slices, self.width)
        if self.kind is TurnKind.WHOLE:
            return tuple(range(self.width))
        return (number, *rest) if number == 0 else (number,)


@dataclass(frozen=True)
class Marker:
    """The last micro-batch that a slice has written; see Turn."""

    batch: int
    slices: int
    kind: TurnKind
    digest: str
    records: int
    width: int
    before: int

    def to_json(self) -> str:
        """The value of the marker's record."""
        return json.dumps({"v": _VERSION, **self.__dict__})

    @classmethod
    def from_json(cls, text: str | bytes) -> Marker:
        """Parse the value of a marker's record. Raises HeadraceError("kafka.bad_marker") and
        ("kafka.newer_marker")."""
        try:
            members = json.loads(text)
            version = int(members.pop("v"))
            if version > _VERSION:
                raise HeadraceError(
                    "kafka.newer_marker",
                    f"A marker in the bookkeeping topic has version {version}; this release knows "
                    f"{_VERSION}",
                    "Use the newer release of headrace.",
                )
            numbers = {
                name: int(members[name])
                for name in ("batch", "slices", "records", "width", "before")
            }
            return cls(kind=TurnKind(members["kind"]), digest=str(members["digest"]), **numbers)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise HeadraceError(
                "kafka.bad_marker",
                "A record in the bookkeeping topic is not a marker of the kafka sink",
                "Give the sink a bookkeeping topic of its own.",
            ) from error


def key_of(checkpoint: str, number: int) -> str:
    """The key of a slice's marker."""
    return f"{checkpoint}/{number}"


def next_step(marker: Marker | None, turn: Turn, *, begins: bool) -> NextStep:
    """Decide whether a slice whose last marker is `marker` writes in `turn`; `begins`: it may have
    no marker.

    Raises HeadraceError: "kafka.bookkeeping_lost" if a required marker is missing,
    "kafka.older_checkpoint", "kafka.bookkeeping_gap", and "kafka.batch_changed" if the micro-batch
    was written with other records or slices.
    """
    if marker is None:
        if begins:
            return NextStep.WRITE
        raise HeadraceError(
            "kafka.bookkeeping_lost",
            f"Micro-batch {turn.batch} follows others, but the bookkeeping topic has no marker of "
            f"them for the checkpoint {turn.checkpoint}: it was deleted, or is of another cluster",
            _GO_ON_WITHOUT,
        )
    if marker.batch == turn.batch:
        same = (marker.slices, marker.kind) == (turn.slices, turn.kind)
        if same and (not turn.digest or not marker.digest or turn.digest == marker.digest):
            return NextStep.SKIP
        raise HeadraceError(
            "kafka.batch_changed",
            f"Micro-batch {turn.batch} is in Kafka with other records or another cut "
            f"({marker.slices} slices, {marker.kind}; now {turn.slices} slices, {turn.kind})",
            "Use the checkpoint as it was when the stream ended, or start with a new one.",
        )
    if marker.batch > turn.batch:
        raise HeadraceError(
            "kafka.older_checkpoint",
            f"Kafka has micro-batches up to {marker.batch} of the checkpoint {turn.checkpoint}, "
            f"which continues with {turn.batch}: it is an older copy",
            "Use the newest state of the checkpoint, or start with a new one, which reads again "
            "from its beginning.",
        )
    if marker.batch < turn.batch - 1:
        raise HeadraceError(
            "kafka.bookkeeping_gap",
            f"Micro-batch {turn.batch} follows {turn.batch - 1}, but the last marker in the "
            f"bookkeeping topic is of {marker.batch}: markers were lost, or micro-batches went to "
            "another sink",
            "Restore the topic. To continue without it: a new bookkeeping topic "
            "(headrace.sink.kafka.bookkeeping.topic) with "
            "headrace.sink.kafka.bookkeeping.lost=begin.",
        )
    return NextStep.WRITE


def topic_lost(topic: str, partition: int) -> HeadraceError:
    """The error of a bookkeeping topic, or of its partition, that no longer exists."""
    return HeadraceError(
        "kafka.bookkeeping_lost",
        f"The bookkeeping topic {topic} no longer has the partition {partition}: it was deleted",
        _GO_ON_WITHOUT,
    )


def begins(
    markers: Sequence[Marker | None], turn: Turn, number: int, *, without_markers: bool
) -> bool:
    """Whether the slice `number` may lack a marker: in the first micro-batch, if the slice did not
    exist before, or if the user lets it begin `without_markers`. `markers` are those of all
    slices."""
    if turn.batch == 0 or without_markers:
        return True
    first = markers[0] if markers else None
    if first is None:
        return False
    return number >= (first.before if first.batch == turn.batch else first.width)


def next_step_of_all(
    markers: Sequence[Marker | None], turn: Turn, *, without_markers: bool
) -> NextStep:
    """Decide for one transaction of all slices. `markers` are those of the slices [0, width).
    Raises as `next_step`."""
    steps = {
        next_step(
            marker, turn, begins=begins(markers, turn, number, without_markers=without_markers)
        )
        for number, marker in enumerate(markers)
    }
    if len(steps) != 1:
        raise HeadraceError(
            "kafka.batch_changed",
            f"Kafka already has a part of micro-batch {turn.batch}, which is to be written in full",
            "Use the checkpoint and its state as they were when the stream ended, or start with "
            "new ones.",
        )
    return steps.pop()
