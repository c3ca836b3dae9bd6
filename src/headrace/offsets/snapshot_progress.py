"""What an offset says of a snapshot: its tables, and how far they are handed out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
