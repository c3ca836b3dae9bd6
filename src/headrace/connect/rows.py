"""The row table: one entry per record of a slice, with the addresses of its images in memory (see
`headrace.connect.images`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np

NULL = np.iinfo(np.int64).min
"""The int64 that means "no value" in the transaction table."""

ROW = np.dtype(
    [
        # Addresses of images, in the order of `records.Image`; 0: the row has none.
        ("old", "<i8"),  # before the change
        ("new", "<i8"),  # after the change
        ("counterpart", "<i8"),  # a key change: the image that belongs to the other half
        ("extra", "<i8"),  # source fields of the row that are texts
        # The row's place in total order: the place of its transaction, or the message's own, a
        # number of 128 bits (see `place_of`). The upper half is 0 in logs with 64 bits.
        ("position_high", "<i8"),
        ("position", "<i8"),
        ("place", "<i8"),  # of the change itself, in the log
        ("ordinal", "<i8"),  # of the message in its transaction (BEGIN 0); of a snapshot's chunk
        ("part", "<i8"),  # of the record in its change (delete 0, tombstone 1, create 2)
        ("hash", "<u8"),  # of topic and key: which slice the record belongs to
        ("size", "<i8"),  # bytes of log after the record, its images among them
        ("transaction", "<i4"),  # index in the transaction table
        ("relation", "<i4"),  # index of the relation version
        ("operation", "u1"),  # Debezium's op as a character; 0: tombstone
        ("kind", "u1"),  # see RowKind
        ("marker", "u1"),  # index in MARKERS
        ("flags", "u1"),  # see Flag
        ("serial", "<u4"),  # of the change among those at one place, where a log has several
    ]
)

ADDRESSES = ("old", "new", "counterpart", "extra")
"""The fields of a row that are addresses of images."""

TRANSACTION = np.dtype(
    [
        ("xid", "<i8"),
        ("commit_ms", "<i8"),  # since 1970-01-01 UTC
        ("commit_us", "<i8"),
        ("commit_ns", "<i8"),
        ("last_commit", "<i8"),  # end of the commit before, in the log; NULL: none known
        ("origin_place", "<i8"),  # of the commit on the server that it was replicated from
        ("position", "<i8"),  # of the transaction in the log
        ("xmin", "<i8"),  # of the source process when the range was planned; NULL: not read
        ("image", "<i8"),  # address of the image with its source fields that are texts; 0: none
        ("size", "<i8"),  # bytes of that image
    ]
)

TRANSACTION_NUMBERS = 8
"""The number of fields, at the beginning of a transaction, whose numbers may be shown."""

SEQUENCE_LENGTH, SHORT_SEQUENCE_LENGTH = 57, 41
"""The length of `sequence` in characters: epoch(4) position(32) kind(1) ordinal(12) part(8),
hexadecimal; in the short form, of ranges planned with offsets of version 1, the position has 16."""
EPOCH_DIGITS, DIGITS_AFTER_POSITION = 4, 21

BEGIN, ENDING = ord("B"), ord("E")
"""Operations of a transaction's border records; no envelope shows them."""

MARKERS = (
    "false",
    "true",
    "first",
    "first_in_data_collection",
    "last_in_data_collection",
    "last",
    "incremental",
)
"""Values of `source.snapshot`; a row's `marker` is the index."""


ORDER = np.dtype([("total", "<i8"), ("collection", "<i8")])
"""A row's number among the events of its transaction, and among those of its table in it. At an
END: the number of events, and the place where their counts by table begin."""


class RowKind(IntEnum):
    """A row's `kind`: the kind of record at its position, in the order of `sequence`."""

    SNAPSHOT = 0
    OUTSIDE = 1  # between transactions: messages, heartbeats, notifications, chunks
    TRANSACTION = 2


class Flag(IntEnum):
    """Bits of a row's `flags`."""

    FULL_OLD = 1  # the old image is a whole row, so its cells stand in for unavailable ones
    KEY_CHANGE = 2  # one half of an update that changed the key: `counterpart` holds the other key


@dataclass(frozen=True)
class Sequences:
    """The numbering of a slice's records: the epoch at the beginning of their `sequence`, and its
    length in characters."""

    epoch: int
    length: int = SEQUENCE_LENGTH

    def beginning(self, place: int) -> str:
        """Return the epoch and the position at the beginning of the sequences of records at a
        place in the log."""
        digits = self.length - EPOCH_DIGITS - DIGITS_AFTER_POSITION
        return f"{self.epoch:04x}{place:0{digits}x}"


def offset_in_row(name: str) -> int:
    """Return the bytes from the start of a row to its field `name`."""
    fields = ROW.fields
    assert fields is not None
    return int(fields[name][1])


def offset_in_transaction(name: str) -> int:
    """Return the bytes from the start of a transaction to its field `name`."""
    fields = TRANSACTION.fields
    assert fields is not None
    return int(fields[name][1])


_HALF = (1 << 64) - 1


def place_of(row: np.void) -> int:
    """Return the place of a row in the log, unsigned, at most 128 bits."""
    return (int(row["position_high"]) & _HALF) << 64 | int(row["position"]) & _HALF


def put_place(rows: np.ndarray, place: int) -> None:
    """Give `rows` a place in the log, unsigned, at most 128 bits."""
    rows["position_high"] = np.uint64(place >> 64).view(np.int64)
    rows["position"] = low_half(place)


def low_half(place: int) -> np.int64:
    """Return the lower 64 bits of a place in the log, which is the whole place in most
    databases."""
    return np.uint64(place & _HALF).view(np.int64)


def are_before(rows: np.ndarray, place: int) -> np.ndarray:
    """Return a mask of the rows, at least one and in log order, whose place is below `place`."""
    high, low = np.uint64(place >> 64), np.uint64(place & _HALF)
    lows = rows["position"].view(np.uint64)
    highs = rows["position_high"].view(np.uint64)
    if highs[0] == highs[-1] == high:
        return np.asarray(lows < low)
    return np.asarray((highs < high) | ((highs == high) & (lows < low)))


def no_transactions() -> np.ndarray:
    """Return one transaction whose fields are all unknown."""
    transactions = np.zeros(1, TRANSACTION)
    for name in TRANSACTION.names or ():
        transactions[name] = 0 if name in ("image", "size") else NULL
    return transactions


@dataclass(frozen=True, eq=False)
class RowTable:
    """The rows of one slice in total order, and the memory that their addresses point into.

    `rows` has dtype ROW, `transactions` dtype TRANSACTION, `orders`, if transactions are counted,
    dtype ORDER, one per row; all are contiguous.
    """

    rows: np.ndarray
    transactions: np.ndarray
    memory: tuple[object, ...] = field(default=(), repr=False)
    orders: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def has_key_changes(self) -> bool:
        """Whether a row is one half of an update that changed the key."""
        return bool(np.any(self.rows["flags"] & int(Flag.KEY_CHANGE)))
