"""The progress of a query: the JSON object that is also Spark's offset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from headrace.connect.rows import SEQUENCE_LENGTH, SHORT_SEQUENCE_LENGTH, Sequences
from headrace.errors import HeadraceError
from headrace.offsets.position import Position
from headrace.offsets.snapshot_progress import SnapshotProgress
from headrace.signals.progress import SignalProgress
from headrace.signals.stored import LARGEST_PLACE, number, optional_number, reading, text

VERSION = 2
"""Version of the offsets that are written. In version 1 sequences had 41 characters."""

LARGEST_EPOCH = 0xFFFF
"""The largest epoch: `sequence` has four hexadecimal digits for it."""

OffsetObject = Mapping[str, Any]
"""An offset as JSON: canonical key order, no clocks."""
P = TypeVar("P", bound=Position)


def shown_until(offset: OffsetObject, place: int = 0) -> str:
    """Return the beginning of the sequences of the first changes that rows of an offset's snapshot
    do not show: of those at `place`, or at the place where the snapshot was taken if that is later.
    Empty: the rows are as old as their own sequences say."""
    place = max(place, offset.get("consistent", 0))
    if not place:
        return ""
    length = SHORT_SEQUENCE_LENGTH if offset["v"] == 1 else SEQUENCE_LENGTH
    return Sequences(offset["epoch"], length).beginning(place)


@dataclass(frozen=True)
class OffsetSummary:
    """The end of a range, whatever the database. `place` is the end of the last complete
    transaction, and `text` the position for people. `is_settled`: see `Offset.is_settled`.
    `is_inside`: the range ends inside of a transaction. `is_boundary`: the records up to here are
    whole transactions, and no row of a snapshot is newer than they are."""

    place: int
    text: str
    is_settled: bool
    is_inside: bool
    is_boundary: bool


NO_END = OffsetSummary(0, "", is_settled=True, is_inside=False, is_boundary=False)
"""A settled end that is no boundary: nothing is known of it."""


@dataclass(frozen=True)
class Offset(Generic[P]):
    """A position of the log, and the connector's other state (docs/architecture.md, Positions).

    `epoch` counts the beginnings; 0 marks the constant that Spark gets before anything was opened.
    `system` identifies the database's cluster. `slices` and `order` say how the range that ends
    here is divided. `consistent` is the place of the log at which the snapshot was taken.
    `heartbeat` counts heartbeats: if the end of a range has one more than its start, the range's
    last record is a heartbeat. `snapshot` exists while a snapshot is read, `signals` once a signal
    was applied. `version` says which sequences the records of the range have. `gap`: the log before
    this epoch was lost.
    """

    server: str
    position: P
    epoch: int = 0
    system: str = ""
    slices: int = 1
    order: str = "key"
    consistent: int | None = None
    heartbeat: int = 0
    snapshot: SnapshotProgress | None = None
    signals: SignalProgress | None = None
    version: int = VERSION
    gap: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.epoch <= LARGEST_EPOCH:
            raise HeadraceError(
                "offset.epochs_used_up",
                f"The query has started from the beginning {LARGEST_EPOCH} times, the most that "
                f"`sequence` can hold: further records would sort before the first ones",
                "Start with a new checkpoint, and start the consumers that compare `sequence` "
                "from the beginning, too.",
            )

    @property
    def is_initial(self) -> bool:
        """Whether this is the constant that Spark gets before anything was opened."""
        return self.epoch == 0

    @property
    def is_settled(self) -> bool:
        """Whether the log up to here contains every change that the snapshot's rows show."""
        if self.snapshot is not None:
            return False
        return self.consistent is None or self.position.committed >= self.consistent

    @property
    def summary(self) -> OffsetSummary:
        """The offset as a sink knows it."""
        position, is_settled = self.position, self.is_settled
        return OffsetSummary(
            place=position.committed,
            text=str(position),
            is_settled=is_settled,
            is_inside=position.transaction is not None,
            is_boundary=is_settled and position.is_boundary and not self.is_initial,
        )

    @property
    def sequences(self) -> Sequences:
        """The numbering of the records in the range that ends here."""
        short = self.version == 1
        return Sequences(self.epoch, SHORT_SEQUENCE_LENGTH if short else SEQUENCE_LENGTH)

    @property
    def is_old(self) -> bool:
        """Whether an older version of headrace wrote this offset."""
        return self.version < VERSION

    def upgraded(self) -> Offset[P]:
        """Return the end of an empty range after an offset of an older version: the same position
        in the next epoch, so that longer sequences sort after shorter ones."""
        return replace(self, version=VERSION, epoch=self.epoch + 1, slices=1, gap=False)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object, always with the same keys in the same order."""
        out: dict[str, Any] = {"v": self.version, "server": self.server}
        if self.is_initial:
            return out
        out |= {"epoch": self.epoch, "system": self.system}
        out |= self.position.to_json()
        out |= {"slices": self.slices, "order": self.order}
        if self.consistent is not None:
            out["consistent"] = self.consistent
        if self.gap:
            out["gap"] = True
        if self.heartbeat:
            out["heartbeat"] = self.heartbeat
        if self.snapshot is not None:
            out["snapshot"] = self.snapshot.to_json()
        if self.signals is not None and (signals := self.signals.to_json()):
            out["signals"] = signals
        return out

    @staticmethod
    def from_json(
        data: Mapping[str, Any], server: str, read_position: Callable[[Mapping[str, Any]], P]
    ) -> Offset[P]:
        """Read an offset of this or an older version. `read_position` reads the position's members
        from it; the initial offset has none of them.

        Raises HeadraceError: "offset.newer" for one written by a newer headrace,
        "offset.other_server" for another topic.prefix, "offset.broken".
        """
        with reading(data):
            version = number(data, "v", least=1)
        if version > VERSION:
            raise HeadraceError(
                "offset.newer",
                f"The checkpoint was written by a newer headrace (offset version {version}, this "
                f"one reads up to {VERSION})",
                "Install that version of headrace, or start with a new checkpoint.",
            )
        if data.get("server") != server:
            raise HeadraceError(
                "offset.other_server",
                f"The checkpoint belongs to topic.prefix {data.get('server')!r}, the "
                f"configuration says {server!r}",
                "Use one checkpoint per topic.prefix; changing the prefix starts over.",
            )
        snapshot, signals = data.get("snapshot"), data.get("signals")
        with reading(data):
            return Offset(
                server=server,
                position=read_position(data),
                epoch=number(data, "epoch", 0, most=LARGEST_EPOCH),
                system=text(data, "system", ""),
                slices=number(data, "slices", 1, least=1),
                order=text(data, "order", "key"),
                consistent=optional_number(data, "consistent", most=LARGEST_PLACE),
                heartbeat=number(data, "heartbeat", 0),
                snapshot=None if snapshot is None else SnapshotProgress.from_json(snapshot),
                signals=None if signals is None else SignalProgress.from_json(signals),
                version=version,
                gap=data.get("gap") is True,
            )

    def at(self, position: P) -> Offset[P]:
        """Return the offset at another position of the log, without a snapshot, with one slice."""
        return replace(self, position=position, snapshot=None, slices=1)

    def after_snapshot(self) -> Offset[P]:
        """Return the same position without the snapshot, whose last chunk was handed out. The
        ordinals of a blocking snapshot's chunks count as used (see headrace.offsets.ordinals)."""
        snapshot, signals = self.snapshot, self.signals
        if snapshot is not None and snapshot.blocking and snapshot.after is not None:
            signals = signals or SignalProgress()
            ordinal = max(signals.ordinal, snapshot.after["ordinal"])
            signals = replace(signals, ordinal=ordinal)
        return replace(self, snapshot=None, signals=signals, slices=1)

    def same_position(self, other: Offset[P]) -> bool:
        """Whether both offsets name the same place, however their ranges are divided."""

        def place(offset: Offset[P]) -> Offset[P]:
            return replace(offset, position=self.position, slices=1, order="", heartbeat=0)

        return self.position.is_at(other.position) and place(self) == place(other)
