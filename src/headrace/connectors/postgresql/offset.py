"""Where the connector is in the log: the JSON object that is also Spark's offset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.connect.rows import SEQUENCE_LENGTH, SHORT_SEQUENCE_LENGTH, Sequences
from headrace.errors import HeadraceError
from headrace.signals.progress import SignalProgress

VERSION = 2
"""Of the offsets that are written. Version 1 had sequences of 41 characters."""

LARGEST_EPOCH = 0xFFFF
"""`sequence` has four hexadecimal digits for it."""


@dataclass(frozen=True)
class SnapshotProgress:
    """The part of an offset that a running snapshot adds. Progress is a prefix.

    `table` and `after` name the last chunk handed out: the table's number and its upper bound
    (None: to the end). `chunks` are the chunks of the range that ends here, as JSON objects, so
    that planning it again asks nobody. `xids` is the snapshot's `txid_current_snapshot()`.
    `blocking`: a signal asked for it, and its chunks stand between transactions as other inserts
    do. `told` are the notifications of this range.
    """

    taken_us: int
    txid: int | None
    xids: str
    table: int
    after: Any
    chunks: tuple[dict[str, Any], ...]
    state: str | None
    tables: tuple[Any, ...] | None
    done: bool = False
    reread: bool = False
    blocking: bool = False
    told: tuple[dict[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A canonical JSON object (fixed key order)."""
        out: dict[str, Any] = {
            "taken_us": self.taken_us,
            "txid": self.txid,
            "xids": self.xids,
            "table": self.table,
            "after": self.after,
            "chunks": list(self.chunks),
        }
        if self.state is not None:
            out["state"] = self.state
        if self.tables is not None:
            out["tables"] = list(self.tables)
        if self.done:
            out["done"] = True
        if self.reread:
            out["reread"] = True
        if self.blocking:
            out["blocking"] = True
        if self.told:
            out["told"] = list(self.told)
        return out

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SnapshotProgress:
        """The reverse of `to_json`."""
        return SnapshotProgress(
            taken_us=data["taken_us"],
            txid=data["txid"],
            xids=data["xids"],
            table=data["table"],
            after=data["after"],
            chunks=tuple(data["chunks"]),
            state=data.get("state"),
            tables=None if data.get("tables") is None else tuple(data["tables"]),
            done=bool(data.get("done")),
            reread=bool(data.get("reread")),
            blocking=bool(data.get("blocking")),
            told=tuple(data.get("told", ())),
        )


@dataclass(frozen=True)
class Offset:
    """A position (architecture, Positions).

    `lsn_commit` is the end LSN of the last complete transaction (or a keep-alive's position):
    the only value ever acknowledged. `last_commit` is the end LSN of the last COMMIT seen, which
    `source.sequence` shows, `ts_usec` its time, which a non-transactional message shows. Inside
    a transaction, `txn` is its final LSN, `txn_index` the number of its messages delivered and
    `lsn` the LSN of the last of them. `slices` and `order` say how the range that ends here is
    cut. `consistent` is snapshot.consistent.lsn. `heartbeat` counts heartbeats: a range whose end
    has one more than its start has one as its last record. `signals` is there once a signal was
    heeded. `xmin` is the slot's, which the range that ends here shows. `version` says which
    sequences the records of that range have.
    """

    server: str
    epoch: int = 0
    system: str = ""
    lsn_commit: int = 0
    last_commit: int | None = None
    ts_usec: int | None = None
    txn: int | None = None
    txn_index: int = 0
    lsn: int = 0
    slices: int = 1
    order: str = "key"
    consistent: int | None = None
    heartbeat: int = 0
    snapshot: SnapshotProgress | None = None
    signals: SignalProgress | None = None
    xmin: int | None = None
    version: int = VERSION

    def __post_init__(self) -> None:
        if not 0 <= self.epoch <= LARGEST_EPOCH:
            raise HeadraceError(
                "offset.epochs_used_up",
                f"The query has begun anew {LARGEST_EPOCH} times, and `sequence` has room for no "
                "more: further records would sort before the first ones",
                "Start with a new checkpoint, and let what compares `sequence` start over too.",
            )

    @property
    def is_initial(self) -> bool:
        """The constant that Spark is given before anything was opened."""
        return self.epoch == 0

    @property
    def sequences(self) -> Sequences:
        """How the records of the range that ends here are numbered."""
        short = self.version == 1
        return Sequences(self.epoch, SHORT_SEQUENCE_LENGTH if short else SEQUENCE_LENGTH)

    @property
    def is_old(self) -> bool:
        """Whether an older headrace wrote it."""
        return self.version < VERSION

    def upgraded(self) -> Offset:
        """The end of an empty range behind an offset of an older version: the same position in
        the next epoch, so that longer sequences sort behind shorter ones."""
        return replace(self, version=VERSION, epoch=self.epoch + 1, slices=1)

    def to_json(self) -> dict[str, Any]:
        """The JSON object, always with the same keys in the same order."""
        out: dict[str, Any] = {"v": self.version, "server": self.server}
        if self.is_initial:
            return out
        out |= {
            "epoch": self.epoch,
            "system": self.system,
            "lsn_commit": self.lsn_commit,
            "last_commit": self.last_commit,
            "ts_usec": self.ts_usec,
        }
        if self.txn is not None:
            out |= {"txn": self.txn, "txn_index": self.txn_index, "lsn": self.lsn}
        out |= {"slices": self.slices, "order": self.order}
        if self.consistent is not None:
            out["consistent"] = self.consistent
        if self.heartbeat:
            out["heartbeat"] = self.heartbeat
        if self.xmin is not None:
            out["xmin"] = self.xmin
        if self.snapshot is not None:
            out["snapshot"] = self.snapshot.to_json()
        if self.signals is not None and (signals := self.signals.to_json()):
            out["signals"] = signals
        return out

    @staticmethod
    def from_json(data: Mapping[str, Any], server: str) -> Offset:
        """Reads an offset of this or an older version.

        Raises HeadraceError: "offset.newer" for one written by a newer headrace,
        "offset.other_server" for another topic.prefix, "offset.broken".
        """
        version = data.get("v")
        if not isinstance(version, int) or version < 1:
            raise HeadraceError(
                "offset.broken",
                f"The checkpoint holds no headrace offset: {str(data)[:200]}",
                "Use a checkpoint folder that this source wrote, or an empty one.",
            )
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
        return Offset(
            server=server,
            epoch=data.get("epoch", 0),
            system=data.get("system", ""),
            lsn_commit=data.get("lsn_commit", 0),
            last_commit=data.get("last_commit"),
            ts_usec=data.get("ts_usec"),
            txn=data.get("txn"),
            txn_index=data.get("txn_index", 0),
            lsn=data.get("lsn", 0),
            slices=data.get("slices", 1),
            order=data.get("order", "key"),
            consistent=data.get("consistent"),
            heartbeat=data.get("heartbeat", 0),
            snapshot=None if snapshot is None else SnapshotProgress.from_json(snapshot),
            signals=None if signals is None else SignalProgress.from_json(signals),
            xmin=data.get("xmin"),
            version=version,
        )

    def at_boundary(self, lsn_commit: int, last_commit: int | None, ts_usec: int | None) -> Offset:
        """The position between transactions, after everything up to `lsn_commit`."""
        return replace(
            self,
            lsn_commit=lsn_commit,
            last_commit=last_commit,
            ts_usec=ts_usec,
            txn=None,
            txn_index=0,
            lsn=0,
            snapshot=None,
            slices=1,
        )

    def after_snapshot(self) -> Offset:
        """The same position without its snapshot, whose last chunk was handed out. The ordinals
        that a blocking one gave to its chunks count as used (see `places`)."""
        snapshot, signals = self.snapshot, self.signals
        if snapshot is not None and snapshot.blocking:
            signals = signals or SignalProgress()
            ordinal = max(signals.ordinal, snapshot.after["ordinal"])
            signals = replace(signals, ordinal=ordinal)
        return replace(self, snapshot=None, signals=signals, slices=1)

    def inside(self, txn: int, txn_index: int, lsn: int) -> Offset:
        """The position after message `txn_index` of the transaction that ends at `txn`."""
        return replace(self, txn=txn, txn_index=txn_index, lsn=lsn, snapshot=None, slices=1)

    def same_position(self, other: Offset) -> bool:
        """Whether both name the same place, however their ranges are cut."""

        def place(offset: Offset) -> Offset:
            return replace(offset, slices=1, order="", heartbeat=0, xmin=None)

        return place(self) == place(other)


def format_lsn(lsn: int) -> str:
    """PostgreSQL's notation, as in 16/B374D848."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def parse_lsn(text: str) -> int:
    """The reverse of `format_lsn`."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)
