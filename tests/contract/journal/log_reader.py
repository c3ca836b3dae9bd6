"""Reads the journal's file into segments."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headrace.connect.kernels.memory import address_of
from headrace.connect.rows import place_of as place_of_row
from headrace.errors import HeadraceError
from headrace.spool.spool import Piece
from headrace.streaming import key_kernel, row_kernel
from headrace.streaming.reader import Publish, Received
from tests.contract.journal import kernel
from tests.contract.journal.journal import GENERATION, HEAD, Frame, Journal, frames

END = np.dtype([("rows", "<i8"), ("offset", "<i8")])
_TICK_SECONDS = 0.01


@dataclass(frozen=True)
class JournalPosition:
    """See headrace.offsets.position.Position: places are generation and offset of the file."""

    offset: int = 0
    within: int | None = None
    count: int = 0

    @property
    def committed(self) -> int:
        return place_of(self.offset)

    @property
    def transaction(self) -> int | None:
        return None if self.within is None else place_of(self.within)

    @property
    def messages(self) -> int:
        return self.count

    def behind(self, end: np.void) -> JournalPosition:
        return JournalPosition(int(end["offset"]))

    def inside(self, row: np.void) -> JournalPosition:
        return replace(self, within=place_of_row(row) & (1 << 64) - 1, count=int(row["ordinal"]))

    def is_at(self, other: JournalPosition) -> bool:
        return self == other

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"journal": f"{self.committed:032x}"}
        return out if self.within is None else out | {"within": self.within, "count": self.count}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> JournalPosition:
        offset = int(data.get("journal", "0"), 16) & (1 << 64) - 1
        return JournalPosition(offset, data.get("within"), data.get("count", 0))

    def __str__(self) -> str:
        return f"journal {GENERATION}:{self.offset}"


def place_of(offset: int) -> int:
    """A place in the log: 16 bytes."""
    return GENERATION << 64 | offset


def gone(journal: Journal, error: OSError) -> HeadraceError:
    """The driver's errors in our words."""
    return HeadraceError(
        "journal.stopped", f"{journal.folder} gives nothing: {error}", "Start it.", retriable=True
    )


def lost(journal: Journal) -> HeadraceError:
    """The log that would be read next was given up."""
    return HeadraceError(
        "journal.lost", f"The journal begins at {journal.first} only", "Use a new checkpoint."
    )


class JournalReader:
    """See headrace.streaming.reader.LogReader. `topics` are those of the collections; None: it is
    not captured."""

    end_type = END

    def __init__(
        self,
        journal: Journal,
        name: str,
        start: JournalPosition,
        topics: Sequence[str | None],
        options: int,
    ) -> None:
        self._journal, self._name, self._options = journal, name, options
        self._acknowledged = 0
        self._offset = self._complete = self._head = start.offset
        self._transaction = b""
        self._is_new = True
        self._state = np.zeros(kernel.STATE_WORDS, np.int64)
        self._state[row_kernel.TRANSACTION_ROW] = -1
        self._scratch = np.zeros(key_kernel.SCRATCH, np.uint8)
        self._key = np.zeros(key_kernel.COLUMN_WORDS, np.int64)
        self._key[key_kernel.ENCODING] = key_kernel.AS_SENT
        self._key[key_kernel.NULL_LENGTH] = key_kernel.NO_TEXT
        self._key[key_kernel.UNAVAILABLE_LENGTH] = key_kernel.NO_TEXT
        self._relations = np.zeros((len(topics), row_kernel.RELATION_WORDS), np.int64)
        for relation, topic in zip(self._relations, topics, strict=True):
            relation[row_kernel.CAPTURED] = topic is not None
            digest = hashlib.blake2b((topic or "").encode(), digest_size=8).digest()
            relation[row_kernel.TOPIC_HASH] = int.from_bytes(digest, "little", signed=True)
            relation[row_kernel.KEYS] = address_of(self._key)
            relation[row_kernel.KEY_COUNT] = 1

    @property
    def received(self) -> Received:
        state = self._state
        end: np.void = np.zeros(1, END)[0]
        end["offset"] = self._complete
        is_open = bool(state[kernel.OPEN])
        return Received(
            complete=place_of(self._complete),
            end=end,
            head=place_of(self._head),
            transaction=place_of(int(state[row_kernel.POSITION_LOW])) if is_open else None,
            messages=int(state[row_kernel.ORDINAL]) if is_open else 0,
            filtered=int(state[row_kernel.FILTERED]),
        )

    @property
    def indexed(self) -> int:
        return int(self._state[kernel.AT])

    def open(self) -> None:
        if self._offset < self._journal.first:
            raise lost(self._journal)

    def answer(self) -> float:
        return 1.0

    def unit_bytes(self, piece: Piece | None) -> int:
        head = self._read(HEAD.size)
        size = HEAD.unpack(head)[0] if len(head) == HEAD.size else 0
        return size + len(self._transaction)

    def begin_segment(self) -> None:
        for word in (kernel.AT, kernel.ENDS, row_kernel.ROWS, row_kernel.TRANSACTIONS):
            self._state[word] = 0
        self._state[row_kernel.TRANSACTION_ROW] = -1
        self._is_new = True

    def read_into(self, target: memoryview, seconds: float) -> int:
        """Whole frames only, so that nothing moves along into the next segment; there, the image of
        the transaction that goes on comes first."""
        start = len(self._transaction) if self._is_new else 0
        target[:start] = self._transaction[:start]
        self._state[kernel.FILE] = self._offset - self.indexed - start
        log = self._read(len(target) - start)
        size = 0
        for frame in frames(log):
            size = frame.offset + HEAD.size + len(frame.body)
            self._remember(frame)
        target[start : start + size] = log[:size]
        self._offset += size
        self._head = max(self._head, self._offset)
        if size == 0:
            time.sleep(min(seconds, _TICK_SECONDS))
            return 0
        self._is_new = False
        return start + size

    def _remember(self, frame: Frame) -> None:
        if frame.kind == "B":
            image = frame.body[24:]
            self._transaction = HEAD.pack(HEAD.size + len(image), ord("T"), 0) + image
        elif frame.kind == "C":
            self._transaction = b""

    def _read(self, size: int) -> bytes:
        try:
            return self._journal.read(self._offset, size)
        except OSError as error:
            raise gone(self._journal, error) from None

    def index(self, piece: Piece, publish: Publish, _seconds: float) -> bool:
        state = self._state
        while True:
            index = piece.index
            index.make_room(*self._counts())
            status = kernel.index_frames(
                piece.segment.base,
                piece.written,
                piece.segment.start,
                address_of(index.rows),
                min(len(index.rows), len(index.transactions), len(index.ends)),
                address_of(index.transactions),
                address_of(index.ends),
                address_of(self._relations),
                self._options,
                address_of(self._scratch),
                address_of(state),
            )
            if status == kernel.BROKEN:
                raise HeadraceError("journal.broken", "The journal is broken", "Mend it.")
            if count := int(state[kernel.ENDS]):
                self._complete = max(self._complete, int(index.ends[count - 1]["offset"]))
            publish(*self._counts(), self.received)
            if status == kernel.MORE:
                return True
            index.make_room(2 * len(index.rows), 2 * len(index.rows), 2 * len(index.rows))

    def _counts(self) -> tuple[int, int, int]:
        rows, transactions = (row_kernel.ROWS, row_kernel.TRANSACTIONS)
        return (*(int(self._state[word]) for word in (rows, transactions, kernel.ENDS)),)  # type: ignore[return-value]

    def acknowledge(self, place: int) -> None:
        if place > self._acknowledged:
            self._acknowledged = place
            self._journal.acknowledged(self._name).write_text(f"{place:x}")

    def ask_position(self) -> None:
        """Every look at the file tells it."""

    def close(self) -> None:
        """Nothing is open."""
