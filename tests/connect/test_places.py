"""Places of rows in a log: numbers of 128 bits in two halves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.rows import ROW, are_before, place_of, put_place

PLACES = st.one_of(
    st.integers(0, 2**128 - 2), st.integers(0, 2**64), st.integers(2**64 - 2, 2**64 + 2)
)


@given(st.lists(PLACES, min_size=1, max_size=8), PLACES)
def test_places_are_compared_as_numbers(places: list[int], limit: int) -> None:
    places.sort()
    rows = np.zeros(len(places), ROW)
    for number, place in enumerate(places):
        put_place(rows[number : number + 1], place)
    assert [place_of(row) for row in rows] == places
    assert are_before(rows, limit).tolist() == [place < limit for place in places]
