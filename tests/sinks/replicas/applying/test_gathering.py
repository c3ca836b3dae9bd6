"""Rows of columns that are larger than an Arrow array may be."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sinks.replicas.applying import gathering
from headrace.sinks.replicas.applying.gathering import gathered

_KINDS = (
    (pa.string(), lambda number: "x" * number),
    (pa.list_(pa.string()), lambda number: ["y"] * number),
    (pa.struct([("a", pa.binary())]), lambda number: {"a": b"z" * number}),
    (pa.int64(), lambda number: number),
)


@given(
    chunks=st.lists(st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=6), max_size=5),
    picks=st.lists(st.tuples(st.integers(0, 99), st.booleans()), max_size=20),
    kind=st.sampled_from(_KINDS),
    is_masked=st.booleans(),
)
@pytest.mark.parametrize("array_bytes", [0, 40])
def test_rows_are_gathered_as_take_does_it(
    array_bytes: int, chunks, picks, kind, is_masked
) -> None:
    type_, value = kind
    arrays = [
        pa.array([None if number is None else value(number) for number in chunk], type_)
        for chunk in chunks
    ]
    column = pa.chunked_array(arrays, type_)
    if not len(column):
        picks = []
    rows = np.array([pick % len(column) for pick, _ in picks], np.int64)
    present = np.array([is_there for _, is_there in picks], np.bool_) if is_masked else None
    if present is not None:
        rows[~present] = -1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "ARRAY_BYTES", array_bytes)
        gathered_column = gathered(column, rows, present)
    expected = column.take(pa.array(rows, mask=None if present is None else ~present))
    assert gathered_column.type == type_
    assert gathered_column.to_pylist() == expected.to_pylist()


def test_rows_of_more_text_than_an_array_holds_are_gathered() -> None:
    chunk = pa.array(["x" * (1 << 20), "short"] * 128)
    column = pa.chunked_array([chunk] * 17)
    rows = np.arange(0, len(column), 101)[::-1]
    with pytest.raises(pa.ArrowInvalid):
        column.take(pa.array(rows))
    lengths = pc.utf8_length(gathered(column, rows)).to_pylist()
    assert lengths == [5 if row % 2 else 1 << 20 for row in rows]
