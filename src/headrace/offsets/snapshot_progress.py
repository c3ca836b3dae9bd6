"""The progress of a snapshot in an offset: its tables, and the last chunk handed out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.signals.stored import items, listed, mapping, number, optional_number, text


@dataclass(frozen=True)
class SnapshotProgress:
    """The part of an offset that a running snapshot adds: how far its chunks, in their fixed order,
    were handed out.

    `taken_us` is the time of the snapshot (microseconds since 1970), `transaction` the id of that
    moment for `source` blocks (None: no id), `visible` what the snapshot sees, in the notation of
    its database. `table` and `after` name the last chunk handed out: the table's number in
    `tables`, and the chunk's partition (`leaf`), upper bound (`lower` of the next one; None: to the
    end) and the next chunk's `ordinal`. `chunks` are the chunks of the range that ends here, as
    JSON objects, so that the range can be planned again without a query; `notifications` are those
    of this range. `done`: every chunk was handed out. `reread`: chunks are handed out again.
    `blocking`: a signal asked for the snapshot, and its chunks are read between transactions as
    other inserts are.
    """

    taken_us: int
    transaction: int | None
    visible: str
    table: int
    after: Mapping[str, Any] | None
    chunks: tuple[dict[str, Any], ...]
    tables: tuple[Any, ...]
    done: bool = False
    reread: bool = False
    blocking: bool = False
    notifications: tuple[dict[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a canonical JSON object (fixed key order)."""
        out: dict[str, Any] = {
            "taken_us": self.taken_us,
            "txid": self.transaction,
            "xids": self.visible,
            "table": self.table,
            "after": self.after,
            "chunks": list(self.chunks),
            "tables": list(self.tables),
        }
        if self.done:
            out["done"] = True
        if self.reread:
            out["reread"] = True
        if self.blocking:
            out["blocking"] = True
        if self.notifications:
            out["told"] = list(self.notifications)
        return out

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SnapshotProgress:
        """Read the JSON object of `to_json`. Raises KeyError and ValueError; the members of
        `chunks` and `tables` are checked where they are used."""
        after = data["after"]
        return SnapshotProgress(
            taken_us=number(data, "taken_us"),
            transaction=optional_number(data, "txid"),
            visible=text(data, "xids"),
            table=number(data, "table"),
            after=None if after is None else _place(after),
            chunks=items(data, "chunks", _chunk, required=True),
            tables=listed(data.get("tables") or [], "tables", lambda table: table),
            done=bool(data.get("done")),
            reread=bool(data.get("reread")),
            blocking=bool(data.get("blocking")),
            notifications=items(data, "told", lambda told: mapping(told, "told")),
        )


def _place(data: object) -> dict[str, Any]:
    place = mapping(data, "after")
    number(place, "leaf")
    number(place, "ordinal")
    return place


def _chunk(data: object) -> dict[str, Any]:
    chunk = mapping(data, "chunks")
    number(chunk, "table")
    return chunk
