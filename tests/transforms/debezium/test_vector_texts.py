"""Texts of vectors, written all at once, are those of each vector by itself."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import pytest

from headrace.connect.java_numbers import java_double, java_float
from headrace.transforms.debezium.columns.vector_to_json_converter import _WRITERS

_NUMBERS = (0.0, -0.0, 1.0, -2.5, 0.1, 1e7, 9999999.0, 1e-3, 9e-4, 5e-324, 1e-45, 3.4e38, 1e300)
_SPECIAL = (float("nan"), float("inf"), float("-inf"), None, 3)


def number(random: Random) -> Any:
    if random.randrange(4):
        return struct.unpack("<d", random.randbytes(8))[0]
    return random.choice(_NUMBERS + _SPECIAL)


def shown(write: Any, value: Any) -> str:
    return "null" if value is None else write(float(value))


@pytest.mark.parametrize("seed", range(30))
def test_texts_of_many_vectors_are_those_of_each(seed: int) -> None:
    random = Random(seed)
    vectors: list[Any] = [
        random.choice((None, [number(random) for _ in range(random.randrange(6))]))
        for _ in range(random.choice((0, 1, 40)))
    ]
    for name, write in (("DoubleVector", java_double), ("FloatVector", java_float)):
        expected = [
            None
            if vector is None
            else f'{{ "values": [{", ".join(shown(write, each) for each in vector)}] }}'
            for vector in vectors
        ]
        assert _WRITERS[f"io.debezium.data.{name}"](vectors) == expected


@pytest.mark.parametrize("seed", range(30))
def test_texts_of_many_sparse_vectors_are_those_of_each(seed: int) -> None:
    random = Random(seed)
    vectors: list[Any] = []
    expected: list[str | None] = []
    for _ in range(random.choice((0, 1, 40))):
        entries = {random.randrange(99): number(random) for _ in range(random.randrange(5))}
        if random.randrange(4) == 0:
            vectors.append(None)
            expected.append(None)
            continue
        vectors.append({"dimensions": 99, "vector": entries})
        pairs = ", ".join(f'"{n}": {shown(java_double, entries[n])}' for n in sorted(entries))
        expected.append(f'{{ "dimensions": 99, "vector": {{ {pairs} }} }}')
    assert _WRITERS["io.debezium.data.SparseDoubleVector"](vectors) == expected
