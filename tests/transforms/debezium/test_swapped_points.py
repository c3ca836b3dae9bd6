"""Points, swapped all at once, are what each of them is by itself."""

from __future__ import annotations

from random import Random
from struct import pack

import numpy as np
import pyarrow as pa
import pytest

from headrace.transforms.debezium.columns.well_known_binary import (
    with_swapped_coordinates,
    with_swapped_points,
)


def geometry(random: Random) -> bytes | None:
    """A point, a line, or something broken."""
    kind = random.choice((1, 1, 1, 1, 2, 4, 7, 9))
    code = kind | random.choice((0, 0, 0x8000_0000, 0x4000_0000, 0x2000_0000, 0xE000_0000, 0x100))
    little = random.choice((True, False))
    head = bytes([little]) + pack("<I" if little else ">I", code)
    numbers = random.choice((16, 24, 32, 20, 28, 36, 44, 0))
    wkb = head + random.randbytes(numbers)
    return random.choice((wkb, wkb, wkb, wkb[:3], None, b""))


@pytest.mark.parametrize("seed", range(100))
def test_points_swapped_together_are_those_swapped_one_by_one(seed: int) -> None:
    random = Random(seed)
    points = [geometry(random) for _ in range(random.choice((1, 30)))]
    array = pa.array([None, *points, b"x"], pa.large_binary()).slice(1, len(points))
    swaps = np.array([each is not None and random.random() < 0.8 for each in points])
    swapped_array, others = with_swapped_points(array, swaps)
    for before, after, swapped, left in zip(
        points, swapped_array.to_pylist(), swaps.tolist(), others.tolist(), strict=True
    ):
        if not swapped or left:
            assert after == before
            assert swapped or not left
        else:
            assert before is not None
            assert after == with_swapped_coordinates(before)


def test_points_of_each_kind_are_swapped_together() -> None:
    flags = (0, 0x8000_0000, 0x4000_0000, 0xC000_0000)
    points = [
        bytes([little])
        + pack("<I" if little else ">I", 1 | flag | srid)
        + bytes(4 if srid else 0)
        + bytes(range(16 + 8 * bin(flag).count("1")))
        for flag in flags
        for srid in (0, 0x2000_0000)
        for little in (True, False)
    ]
    array = pa.array(points, pa.large_binary())
    swapped_array, others = with_swapped_points(array, np.ones(len(points), np.bool_))
    assert not others.any()
    assert swapped_array.to_pylist() == [with_swapped_coordinates(each) for each in points]
