"""Reads the journal's file into segments."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headrace.connect.kernels.memory import address_of
from headrace.connect.rows import place_of as place_of_row
from headrace.errors import HeadraceError
from headrace.spool.spool import Piece
from headrace.streaming.changes import row_kernel
from headrace.streaming.reader import Publish, Received
from headrace.streaming.relations import RelationVersions
from tests.contract.journal import kernel
from tests.contract.journal.journal import HEAD, Journal, offset_of, place_of

_TICK_SECONDS = 0.01


@dataclass(frozen=True)
class JournalPosition:
    """See headrace.offsets.position.Position: places are generation and offset of the file."""

    offset: int = 0
    within: int | None = None
    messages: int = 0

    @property
    def committed(self) -> int:
        return place_of(self.offset)

    @property
    def transaction(self) -> int | None:
        return None if self.within is None else place_of(self.within)

    def behind(self, end: np.void) -> JournalPosition:
        return JournalPosition(int(end["offset"]))

    def inside(self, row: np.void) -> JournalPosition:
        return replace(self, within=offset_of(place_of_row(row)), messages=int(row["ordinal"]))

    def is_at(self, other: JournalPosition) -> bool:
        return self == other

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"journal": self.offset}
        return out if self.within is None else out | {"in": self.within, "count": self.messages}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> JournalPosition:
        return JournalPosition(data.get("journal", 0), data.get("in"), data.get("count", 0))

    def __str__(self) -> str:
        return f"journal {self.offset}"


class JournalReader:
    """See headrace.streaming.reader.LogReader. `options`: those of row_kernel.add_change."""

    end_type = np.dtype([("rows", "<i8"), ("offset", "<i8")])

    def __init__(
        self,
        journal: Journal,
        name: str,
        start: JournalPosition,
        relations: RelationVersions,
        options: int,
    ) -> None:
        self._journal, self._relations, self._options = journal, relations, options
        self._acknowledged = journal.acknowledged(name)
        self._start = self._offset = start.offset
        self._state = np.zeros(kernel.STATE_WORDS, np.int64)
        self._state[kernel.FILE] = self._state[kernel.COMPLETE] = start.offset

    @property
    def received(self) -> Received:
        state = self._state
        end: np.void = np.zeros(1, self.end_type)[0]
        end["offset"] = complete = int(state[kernel.COMPLETE])
        is_open = bool(state[kernel.OPEN])
        return Received(
            complete=place_of(complete),
            end=end,
            head=place_of(self._offset),
            transaction=place_of(int(state[row_kernel.POSITION_LOW])) if is_open else None,
            messages=int(state[row_kernel.ORDINAL]) if is_open else 0,
            filtered=int(state[row_kernel.FILTERED]),
        )

    @property
    def indexed(self) -> int:
        return int(self._state[kernel.AT])

    @property
    def transaction_image(self) -> tuple[int, int]:
        if not self._state[kernel.OPEN]:
            return 0, 0
        words = row_kernel.TRANSACTION_IMAGE, row_kernel.TRANSACTION_IMAGE_SIZE
        return int(self._state[words[0]]), int(self._state[words[1]])

    def open(self) -> None:
        self._journal.check(self._start)

    def answer(self) -> float:
        return 1.0

    def unit_bytes(self, piece: Piece | None) -> int:
        if piece is None or piece.written - self.indexed < HEAD.size:
            return HEAD.size
        return int(HEAD.unpack_from(piece.segment.map, self.indexed)[0])

    def begin_segment(self, image: int, size: int) -> None:
        state = self._state
        state[kernel.FILE] += state[kernel.AT] - size
        state[kernel.AT], state[row_kernel.TRANSACTION_IMAGE] = size, image
        for word in (kernel.ENDS, row_kernel.ROWS, row_kernel.TRANSACTIONS):
            state[word] = 0
        state[row_kernel.TRANSACTION_ROW] = -1

    def read_into(self, target: memoryview, seconds: float) -> int:
        try:
            log = self._journal.read(self._offset, len(target))
        except OSError as error:
            raise self._journal.translate(error) or error from None
        if not log:
            time.sleep(min(seconds, _TICK_SECONDS))
        target[: len(log)] = log
        self._offset += len(log)
        return len(log)

    def index(self, piece: Piece, publish: Publish, _seconds: float) -> bool:
        index, state = piece.index, self._state
        status = kernel.FULL
        while status == kernel.FULL:
            status = kernel.index_frames(
                piece.segment.base,
                piece.written,
                piece.segment.start,
                address_of(index.rows),
                min(len(index.rows), len(index.transactions), len(index.ends)),
                address_of(index.transactions),
                address_of(index.ends),
                address_of(self._relations.table),
                self._options,
                address_of(self._relations.key_texts.memory),
                address_of(state),
            )
            if status == kernel.BROKEN:
                raise HeadraceError("journal.broken", "The journal is broken", "Mend it.")
            rows = int(state[row_kernel.ROWS])
            transactions = int(state[row_kernel.TRANSACTIONS])
            publish(rows, transactions, int(state[kernel.ENDS]), self.received)
            if status == kernel.FULL:
                index.make_room(len(index.rows), len(index.transactions), len(index.ends))
        return True

    def acknowledge(self, place: int) -> None:
        self._acknowledged.write_text(f"{place:x}")

    def ask_position(self) -> None:
        """Every look at the file tells it."""

    def close(self) -> None:
        """Nothing is open."""
