"""Encodes events in Avro's binary encoding, whole columns at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.rows import NULL
from headrace.sinks.event_log.formats.avro_schemas import RoleSchema

HEAD_BYTES = 5
"""The length of the head that Confluent's serializer writes before a value: a zero, and the
schema's id."""
_BYTES = pa.large_binary()
_NOTHING = pa.scalar(b"", _BYTES)
_LONG_BYTES = 10
"""The most bytes of an encoded long."""


def encode_events(
    batch: pa.RecordBatch, commit_us: np.ndarray, key: RoleSchema, value: RoleSchema
) -> pa.Array:
    """Encode the records of a batch, each as bytes (large_binary), by the schema that
    `event_schema` makes of the same roles. `commit_us` are microseconds since 1970-01-01 UTC, or
    NULL."""
    known = commit_us != NULL
    return _joined(
        *_texts(batch.column("topic")),
        *_optional(batch.column("key"), key),
        *_optional(batch.column("value"), value),
        *_headers(batch.column("headers")),
        *_texts(batch.column("sequence")),
        _flags(known, b"\x02", b"\x00"),
        longs(np.where(known, commit_us, 0), known),
    )


def longs(numbers: np.ndarray, present: np.ndarray | None = None) -> pa.Array:
    """Encode numbers (int64) as Avro's longs, each as bytes (large_binary); empty if not
    `present`."""
    zigzag = ((numbers << 1) ^ (numbers >> 63)).astype(np.int64).view(np.uint64)
    shifts = np.arange(_LONG_BYTES, dtype=np.uint64) * np.uint64(7)
    groups = zigzag[:, np.newaxis] >> shifts
    lengths = np.maximum((groups != 0).sum(axis=1), 1)
    places = np.arange(_LONG_BYTES)
    more = places < (lengths - 1)[:, np.newaxis]
    written = (groups & np.uint64(0x7F)).astype(np.uint8) | np.where(more, 0x80, 0).astype(np.uint8)
    used = places < lengths[:, np.newaxis]
    if present is not None:
        used &= present[:, np.newaxis]
        lengths = np.where(present, lengths, 0)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    data = np.ascontiguousarray(written[used])
    return pa.Array.from_buffers(
        _BYTES, len(numbers), [None, pa.py_buffer(ends), pa.py_buffer(data)]
    )


def _joined(*columns: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*columns, _NOTHING)


def _bytes(column: pa.Array) -> pa.Array:
    """Texts or bytes as large_binary; empty for null."""
    if pa.types.is_string(column.type):
        column = column.cast(pa.binary())
    return pc.fill_null(column.cast(_BYTES), b"")


def _lengths(column: pa.Array) -> np.ndarray:
    return np.asarray(pc.binary_length(column).to_numpy(zero_copy_only=False), np.int64)


def _flags(chosen: np.ndarray, if_true: bytes, if_false: bytes) -> pa.Array:
    """Return an array with `if_true` for true and `if_false` for false."""
    texts = pa.array([if_false, if_true], _BYTES)
    return texts.take(pa.array(chosen.astype(np.int8)))


def _present(column: pa.Array) -> np.ndarray:
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False))


def _texts(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The lengths and contents of required strings or bytes."""
    content = _bytes(column)
    return longs(_lengths(content)), content


def _optional(column: pa.Array, role: RoleSchema) -> list[pa.Array]:
    """The encoded parts of keys or values of one schema."""
    if role.described == "null":
        return []
    present, content = _present(column), _bytes(column)
    if role.text:  # a value with a schema has the head of Confluent's serializer
        content = pc.binary_replace_slice(content, 0, HEAD_BYTES, b"")
    branch = b"" if role.is_union else b"\x02"
    parts = [_flags(present, branch, role.absent)]
    if role.has_length:
        parts.append(longs(_lengths(content), present))
    return [*parts, content]


def _headers(lists: pa.Array) -> list[pa.Array]:
    """The encoded parts of arrays of names and values: each array in one block, and its end."""
    counts = np.zeros(len(lists), np.int64)
    if not pa.types.is_null(lists.type):
        lengths = pc.fill_null(pc.list_value_length(lists), 0)
        counts = np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64)
    end = pa.repeat(pa.scalar(b"\x00", _BYTES), len(lists))
    if not counts.any():
        return [end]
    entries = lists.flatten()
    names, contents = pc.struct_field(entries, 0), pc.struct_field(entries, 1)
    present, content = _present(contents), _bytes(contents)
    records = _joined(
        *_texts(names),
        _flags(present, b"\x02", b"\x00"),
        longs(_lengths(content), present),
        content,
    )
    ends = np.concatenate([np.zeros(1, np.int32), np.cumsum(counts, dtype=np.int32)])
    of_records = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), records.cast(pa.binary()))
    blocks = pc.binary_join(of_records, b"").cast(_BYTES)
    return [longs(counts, counts > 0), blocks, end]
