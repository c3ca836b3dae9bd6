"""Kernel that splits `{"schema":…,"payload":…}` of Kafka Connect's JSON.

The rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.json_scan import CLOSE_OBJECT, are_equal, skip_value
from headrace.connect.kernels.memory import load8, load16, load64, store64
from headrace.connect.kernels.text import as_word, hash_bytes

SPAN_BYTES = 16
OPENED_BYTES = 24
NO_VALUE, LEFT_TO_PYTHON = -1, -2
_SCHEMA_BYTES = 24
_LEAD, _MIDDLE = b'{"schema":', b',"payload":'
_LEAD_WORD, _LEAD_REST = as_word(_LEAD[:8]), as_word(_LEAD[8:])
_MIDDLE_WORD, _MIDDLE_REST = as_word(_MIDDLE[:8]), as_word(_MIDDLE[8:])
_SEED = 1


@entry
def schema_hash(address, length):
    """The hash of the text of a schema."""
    return hash_bytes(np.int64(_SEED), address, length)


@part
def _is_middle(place, end):
    return (
        place + 11 < end
        and load64(place) == _MIDDLE_WORD
        and load64(place + 8) & 0xFFFFFF == _MIDDLE_REST
    )


@part
def _number_of(schema, length, schemas, schema_count):
    """The number of a known schema; -1 if it is not known."""
    hashed = schema_hash(schema, length)
    for number in range(schema_count):
        entry = schemas + _SCHEMA_BYTES * number
        is_alike = load64(entry + 8) == length and load64(entry + 16) == hashed
        if is_alike and are_equal(load64(entry), schema, length):
            return np.int64(number)
    return np.int64(-1)


@part
def _opened(address, length, hint, schemas, schema_count, out):
    """Split one record; returns False if its schema is not known."""
    if length < 0:
        store64(out + 8, -1)
        store64(out + 16, NO_VALUE)
        return True
    end = address + length - 1
    store64(out + 8, length)
    store64(out, address)
    store64(out + 16, LEFT_TO_PYTHON)
    if length < 25 or load64(address) != _LEAD_WORD or load8(end) != CLOSE_OBJECT:
        return True
    if load16(address + 8) != _LEAD_REST:
        return True
    schema = address + 10
    number = load64(hint)
    if number >= 0:
        entry = schemas + _SCHEMA_BYTES * number
        size = load64(entry + 8)
        place = schema + size
        if not (_is_middle(place, end) and are_equal(load64(entry), schema, size)):
            number = np.int64(-1)
    if number < 0:
        place = skip_value(schema, end)
        if place < 0 or not _is_middle(place, end):
            return True
        number = _number_of(schema, place - schema, schemas, schema_count)
        if number < 0:
            store64(out, schema)
            store64(out + 8, place - schema)
            return False
        store64(hint, number)
    store64(out, place + 11)
    store64(out + 8, end - place - 11)
    store64(out + 16, number)
    return True


@entry
def open_envelopes(spans, count, topics, hints, schemas, schema_count, out):
    """Split `{"schema":…,"payload":…}` of each record.

    `spans` are (address, length) each, with the length -1 for a null; `topics` an int64 each, and
    `hints` for each topic the number of its last schema, or -1. `schemas` are (address, length,
    hash) of the known schemas. `out` gets (address, length) of the payload, and the schema's
    number: -1 for a null, -2 for a value that is left to Python. Returns the number of records
    processed, which is smaller if a schema is not known. Then `out` of that record has (address,
    length) of the schema.
    """
    for index in range(count):
        if not _opened(
            load64(spans + SPAN_BYTES * index),
            load64(spans + SPAN_BYTES * index + 8),
            hints + 8 * topics[index],
            schemas,
            schema_count,
            out + OPENED_BYTES * index,
        ):
            return np.int64(index)
    return count
