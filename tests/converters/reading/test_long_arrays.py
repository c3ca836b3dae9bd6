"""An array of as many small values as a record of 1 MB holds: read, kept in a cell, written."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any, TypeVar

import numpy as np
import pytest

from headrace.connect.evaluation.columns import cell_of, form_of
from headrace.connect.values.many_values import collected_after
from headrace.converters.avro.schemas import AvroOptions
from headrace.converters.avro.values import encode, long
from headrace.converters.binary.texts import java_text
from headrace.converters.json.values import render
from headrace.converters.reading.avro_schemas import load_avro, read_value

T = TypeVar("T")
MAX_BYTES = 980_000
_MAX_TIMES = 60
"""At most so many times what Python takes for the texts of a million decimals, about 0.2 s on a
quiet machine. Reading and writing take up to 9 times as much there and 15 beside other processes.
What grows with the square of so many values takes minutes."""
_TRIES = 5
_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
_FIXED = {"type": "fixed", "name": "f", "size": 1, "logicalType": "decimal", "scale": 1}


def _random(size: int, before: bytes = b"") -> bytes:
    values = np.frombuffer(Random(size).randbytes(MAX_BYTES // (size + 1) * size), np.uint8)
    table = values.reshape(-1, size)
    begins = np.broadcast_to(np.frombuffer(before, np.uint8), (len(table), len(before)))
    return np.hstack([begins, table]).tobytes()


_ITEMS: dict[str, tuple[Any, bytes | Callable[[], bytes], int]] = {
    "small decimals": (_DECIMAL, b"\2\5", 2),
    "decimals": (_DECIMAL, lambda: _random(3, b"\6"), 4),
    "decimals that may be null": (["null", _DECIMAL], b"\2\2\5", 3),
    "nulls": (["null", _DECIMAL], b"\0", 1),
    "fixed decimals": (_FIXED, b"\5", 1),
    "integers": ("int", b"\2", 1),
    "dates": ({"type": "int", "logicalType": "date"}, b"\2", 1),
    "times": ({"type": "int", "logicalType": "time-millis"}, b"\2", 1),
    "timestamps": ({"type": "long", "logicalType": "timestamp-millis"}, b"\2", 1),
    "booleans": ("boolean", b"\1", 1),
    "strings": ("string", b"\2a", 2),
    "symbols": ({"type": "enum", "name": "e", "symbols": ["a", "b"]}, b"\0", 1),
    "floats": ("float", lambda: _random(4), 4),
    "doubles": ("double", lambda: _random(8), 8),
    "arrays": ({"type": "array", "items": "int"}, b"\0", 1),
    "records": (
        {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]},
        b"\2",
        1,
    ),
}


def yardstick() -> list[str]:
    """The texts of a million decimals."""
    return [str(Decimal(number)) for number in range(1_000_000)]


def measured(function: Callable[[], T]) -> tuple[T, float]:
    """The result of a call, and the seconds of processor time that it took."""
    begun = time.process_time()
    returned = function()
    return returned, time.process_time() - begun


@pytest.mark.parametrize("name", _ITEMS)
def test_so_many_small_values_as_a_record_holds_take_little_time(name: str) -> None:
    items, text_or_function, size = _ITEMS[name]
    raw = text_or_function() if callable(text_or_function) else text_or_function
    count = (len(raw) if len(raw) > 8 else 490_000 if name == "records" else MAX_BYTES) // size
    body = long(count) + (raw if len(raw) > 8 else raw * count) + long(0)
    kind = load_avro(json.dumps({"type": "array", "items": items}))

    def read() -> object:
        with collected_after(len(body)):
            _, cell = cell_of(kind.schema, read_value(kind, body))
        return form_of(kind.schema)[2](cell)

    _, base = measured(yardstick)
    value, reading = measured(read)
    assert isinstance(value, list)
    assert len(value) == count
    for write in (
        lambda: render(kind.schema, value),
        lambda: encode(kind.schema, value, AvroOptions()),
        lambda: java_text(kind.schema, value),
    ):
        written, writing = measured(write)
        assert len(written) >= count
        tries = 1
        while reading + writing >= _MAX_TIMES * base and tries < _TRIES:
            # Something has disturbed a call; the yardstick of the same moment says how much.
            base = measured(yardstick)[1]
            reading, writing = measured(read)[1], measured(write)[1]
            tries += 1
        assert reading + writing < _MAX_TIMES * base
