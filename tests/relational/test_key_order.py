"""Rows after a bound, by a database that has no connector."""

from __future__ import annotations

import sqlite3
from itertools import product
from operator import ge, gt, le, lt

from hypothesis import given
from hypothesis import strategies as st

from headrace.relational.reading.key_order import KeyColumn, by_columns, is_beyond

values = st.none() | st.sampled_from(["", "a", "a'b", "b\\", "c"])
rows = st.tuples(values, st.sampled_from(["1", "2", "3"]), values)
COLUMNS = [KeyColumn('"a"', True), KeyColumn('"b"', False), KeyColumn('"c"', True)]


def order(row: tuple[str | None, ...]) -> list[tuple[bool, str]]:
    return [(value is None, value or "") for value in row]


def literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@given(st.lists(rows), rows)
def test_the_condition_takes_the_rows_after_the_bound_and_its_not_the_others(
    present: list[tuple[str | None, ...]], bound: tuple[str | None, ...]
) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a text, b text NOT NULL, c text)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", present)
    condition = is_beyond(COLUMNS, [None if value is None else literal(value) for value in bound])
    for text, expected in ((condition, True), (f"NOT {condition}", False)):
        selected_rows = connection.execute(f"SELECT a, b, c FROM t WHERE {text}").fetchall()
        expected_rows = [row for row in present if (order(row) > order(bound)) is expected]
        assert sorted(map(order, selected_rows)) == sorted(map(order, expected_rows))
    connection.close()


KEYS = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
COMPARISONS = {"<": lt, "<=": le, ">": gt, ">=": ge}


@given(st.sampled_from(sorted(COMPARISONS)), st.integers(1, 3), KEYS)
def test_rows_are_compared_column_by_column_as_whole_ones(
    operator: str, width: int, bound: tuple[int, ...]
) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a int, b int, c int)")
    every = list(product(range(4), repeat=3))
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", every)
    condition = by_columns(["a", "b", "c"][:width], operator, [str(v) for v in bound[:width]])
    selected_rows = connection.execute(f"SELECT a, b, c FROM t WHERE {condition}").fetchall()
    compare = COMPARISONS[operator]
    assert sorted(selected_rows) == [row for row in every if compare(row[:width], bound[:width])]
    connection.close()
