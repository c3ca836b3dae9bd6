"""Rows of V$LOGMNR_CONTENTS whose statements come in parts."""

from __future__ import annotations

from collections.abc import Sequence

import oracledb
import pyarrow as pa
import pytest

from headrace.connectors.oracle.streaming import redo_rows
from headrace.connectors.oracle.streaming.redo_rows import REDO, StatementParts

TEXT = 'insert into "S"."T"("A") values (\'Zürich 𝄞 \');'


def rows(*parts: tuple[bytes | None, int]) -> pa.RecordBatch:
    """SQL_REDO and CSF of rows, as the driver's frames have them: the driver does not validate the
    bytes of texts."""
    statements = pa.array([part for part, _ in parts], pa.large_binary()).view(pa.large_string())
    columns = {
        redo_rows.SQL_REDO: statements,
        redo_rows.CSF: pa.array([goes_on for _, goes_on in parts], pa.int64()),
        redo_rows.SCN: pa.array(range(len(parts)), pa.int64()),
    }
    arrays = [columns.get(field.name, pa.nulls(len(parts), field.type)) for field in REDO]
    batch = pa.RecordBatch.from_arrays(arrays, schema=REDO)
    (read,) = pa.table(oracledb.from_arrow(pa.Table.from_batches([batch]))).to_batches()
    return read


def whole(*batches: pa.RecordBatch) -> list[tuple[int, str | None]]:
    """SCNs and statements."""
    parts = StatementParts()
    whole_batches = [parts.whole(batch) for batch in batches]
    rest = parts.rest()
    whole_batches += [] if rest is None else [rest]
    return [
        (row[redo_rows.SCN], row[redo_rows.SQL_REDO])
        for batch in whole_batches
        for row in batch.to_pylist()
    ]


def cut(text: str, *places: int) -> list[tuple[bytes | None, int]]:
    """A statement in parts that end at these bytes."""
    raw = text.encode()
    bounds = [0, *places, len(raw)]
    ends = range(1, len(bounds))
    return [(raw[bounds[at - 1] : bounds[at]], int(at < len(bounds) - 1)) for at in ends]


EVERY = range(1, len(TEXT.encode()))


@pytest.mark.parametrize("place", EVERY)
def test_a_statement_is_whole_wherever_its_parts_end(place: int) -> None:
    """Between characters, and inside of one."""
    parts = cut(TEXT, place)
    assert whole(rows(*parts)) == [(0, TEXT)]
    assert whole(rows(parts[0]), rows(parts[1])) == [(0, TEXT)]


def test_a_character_may_be_cut_into_parts_of_its_own() -> None:
    at = TEXT.encode().index("𝄞".encode())
    parts = cut(TEXT, at + 1, at + 2, at + 3)
    assert whole(rows((b"x", 0), *parts, (b"y", 0))) == [(0, "x"), (1, TEXT), (5, "y")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([(None, 0), (b"a", 1), (b"b", 0), (None, 0)], [(0, None), (1, "ab"), (3, None)]),
        ([(b"", 0), (b"a", 1), (None, 0)], [(0, ""), (1, "a")]),
        ([(b"a", 0), (b"b", 1), (None, 1), (b"c", 0)], [(0, "a"), (1, "bc")]),
        ([(None, 0), (None, 0)], [(0, None), (1, None)]),
        ([(b"a", 1), (b"b", 1)], [(0, "ab")]),
    ],
)
def test_rows_without_a_statement_stay_without_one(
    given: Sequence[tuple[bytes | None, int]], expected: list[tuple[int, str | None]]
) -> None:
    assert whole(rows(*given)) == expected
