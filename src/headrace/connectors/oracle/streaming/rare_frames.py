"""Frames that Python reads: truncates and schema changes, and the records before and after them in
the index."""

from __future__ import annotations

import struct

import numpy as np

from headrace.connect.kernels.memory import address_of
from headrace.connect.rows import NULL, RowKind, low_half
from headrace.connectors.oracle.streaming import frames
from headrace.connectors.oracle.streaming.tables import SchemaChange
from headrace.spool.spool import Piece
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.frame_kernel import (
    FRAME_HEAD,
    FRAME_HEAD_BYTES,
    PLACE_BYTES,
)
from headrace.streaming.changes.kernels.late_kernel import add_late_begin, take_back_beginning
from headrace.streaming.changes.kernels.transaction_kernel import add_end
from headrace.streaming.changes.row_writer import RareRecord, add_barrier, add_record
from headrace.streaming.relations import RelationVersions

_TRUNCATE = struct.Struct("!IQq")
_CHANGE = struct.Struct("!QQIq")
_VALUE_PART = 2
_OF_TRANSACTION = (
    row_kernel.TRANSACTION_ID,
    row_kernel.POSITION_HIGH,
    row_kernel.POSITION_LOW,
    row_kernel.ORDINAL,
    row_kernel.TRANSACTION_ROW,
    row_kernel.TRANSACTION_IMAGE,
    row_kernel.TRANSACTION_IMAGE_SIZE,
    row_kernel.COMMIT_US,
)
_HALF = (1 << 64) - 1

assert _CHANGE.size == PLACE_BYTES + 4 + 8


def schema_change_frame(change: SchemaChange, us: int) -> bytes:
    """Return the frame of a schema change at a time (microseconds since 1970)."""
    body = _CHANGE.pack(change.place >> 64, change.place & _HALF, change.relation, us)
    size = FRAME_HEAD_BYTES + len(body) + len(change.image)
    return FRAME_HEAD.pack(size, frames.SCHEMA_CHANGE) + body + change.image


def reached_frame(place: int) -> bytes:
    """Return the frame which says that everything up to a place was read."""
    size = FRAME_HEAD_BYTES + PLACE_BYTES
    return FRAME_HEAD.pack(size, frames.REACHED) + place.to_bytes(PLACE_BYTES, "big")


def add_rare(piece: Piece, state: np.ndarray, at: int, versions: RelationVersions) -> None:
    """Add the record of the truncate or the schema change whose frame is at byte `at` of a
    piece."""
    size, kind = FRAME_HEAD.unpack_from(piece.segment.map, at)
    body = at + FRAME_HEAD_BYTES
    add_barrier(piece.index, state)
    if kind == frames.TRUNCATE:
        _add_truncate(piece, state, body, size, versions)
    else:
        _add_schema_change(piece, state, body, size, versions)
    add_barrier(piece.index, state)


def _add_truncate(
    piece: Piece, state: np.ndarray, body: int, size: int, versions: RelationVersions
) -> None:
    """Add a row of the open transaction."""
    relation, scn, us = _TRUNCATE.unpack_from(piece.segment.map, body)
    index, words = piece.index, address_of(state)
    frames.is_at_time(words, us)
    first = int(state[row_kernel.ROWS])
    _make_room(piece, state)
    add_late_begin(address_of(index.rows), address_of(index.transactions), words)
    record = RareRecord(frames.TRUNCATE, relation, scn, size, part=_VALUE_PART)
    add_record(index, state, record, RowKind.TRANSACTION, _topic_hash(versions, relation))
    row = index.rows[int(state[row_kernel.ROWS]) - 1]
    row["extra"] = piece.segment.start + body + _TRUNCATE.size
    take_back_beginning(words, first)
    state[row_kernel.ORDINAL] += 1


def _add_schema_change(
    piece: Piece, state: np.ndarray, body: int, size: int, versions: RelationVersions
) -> None:
    """Add a row outside of transactions, with an entry of its own in their table."""
    high, low, relation, us = _CHANGE.unpack_from(piece.segment.map, body)
    index = piece.index
    transaction_words = [int(state[word]) for word in _OF_TRANSACTION]
    state[row_kernel.TRANSACTION_ID] = NULL
    state[row_kernel.POSITION_HIGH], state[row_kernel.POSITION_LOW] = low_half(high), low_half(low)
    for word in (
        row_kernel.ORDINAL,
        row_kernel.TRANSACTION_IMAGE,
        row_kernel.TRANSACTION_IMAGE_SIZE,
    ):
        state[word] = 0
    state[row_kernel.TRANSACTION_ROW], state[row_kernel.COMMIT_US] = -1, us
    _make_room(piece, state)
    image = piece.segment.start + body + _CHANGE.size
    record = RareRecord(frames.SCHEMA_CHANGE, relation, high, size, image, _VALUE_PART)
    add_record(index, state, record, RowKind.OUTSIDE, _topic_hash(versions, relation))
    add_end(address_of(index.ends), address_of(state), int(low_half(high)), int(low_half(low)))
    for word, value in zip(_OF_TRANSACTION, transaction_words, strict=True):
        state[word] = value


def _make_room(piece: Piece, state: np.ndarray) -> None:
    piece.index.make_room(
        int(state[row_kernel.ROWS]),
        int(state[row_kernel.TRANSACTIONS]),
        int(state[row_kernel.ENDS]),
    )


def _topic_hash(versions: RelationVersions, relation: int) -> int:
    return int(versions.table[relation][row_kernel.TOPIC_HASH])
