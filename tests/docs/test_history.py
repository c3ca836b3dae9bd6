"""The configuration and the queries of docs/guides/history.md."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pytest

from headrace.config.java_properties import parse_properties
from headrace.sinks.replicas.modes.mode import Mode, TableModes
from tests.docs.pages import blocks

PAGE = "docs/guides/history.md"
_SINK = "headrace.sink."
_AT = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 5)]


def test_the_configuration_selects_the_modes_of_the_page() -> None:
    (block,) = blocks(PAGE, "properties")
    properties = {entry.key: entry.value for entry in parse_properties(block.text)}
    modes = TableModes.of(
        {
            name.removeprefix(_SINK): properties[name]
            for name in properties
            if name.startswith(_SINK)
        }
    )
    assert {
        name: modes.mode(f"inventory.{name}") for name in ("orders", "prices", "audit", "x")
    } == {
        "orders": Mode.HISTORY,
        "prices": Mode.HISTORY,
        "audit": Mode.APPEND,
        "x": Mode.REPLICA,
    }


def test_a_change_log_gives_the_rows_at_a_position() -> None:
    (block,) = [each for each in blocks(PAGE, "sql") if ":position" in each.text]
    audit = pa.table(
        {
            "id": [1, 2, 1, 2, 1],
            "text": ["a", "b", "c", None, "d"],
            "__op": ["c", "c", "u", "d", "u"],
            "__position": ["1", "2", "3", "4", "5"],
        }
    )
    query = block.text.replace(":position", "$position")
    for position, rows in (("2", [(1, "a"), (2, "b")]), ("4", [(1, "c")]), ("5", [(1, "d")])):
        result = duckdb.connect().register("audit", audit).execute(query, {"position": position})
        assert sorted(row[:2] for row in result.fetchall()) == rows


@pytest.mark.parametrize(
    ("at", "rows"),
    [(0, [(1, "a")]), (1, [(1, "c")]), (2, [(1, "c"), (2, "b")]), (None, [(2, "b")])],
)
def test_a_history_gives_the_rows_at_a_time_and_the_current_ones(
    at: int | None, rows: list[tuple[int, str]]
) -> None:
    (block,) = [each for each in blocks(PAGE, "sql") if ":t" in each.text]
    # The second version began and ended in one transaction.
    orders = pa.table(
        {
            "id": [1, 1, 1, 2],
            "text": ["a", "b", "c", "b"],
            "valid_from": [_AT[0], _AT[1], _AT[1], _AT[2]],
            "valid_to": pa.array([_AT[1], _AT[1], _AT[3], None], pa.timestamp("us", "UTC")),
            "is_current": [False, False, False, True],
        }
    )
    of_a_time, of_now = block.text.split(";")[:2]
    connection = duckdb.connect().register("orders", orders)
    if at is None:
        result = connection.execute(of_now)
    else:
        result = connection.execute(of_a_time.replace(":t", "$t"), {"t": _AT[at]})
    table = result.to_arrow_table()
    values = zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True)
    assert sorted(values) == rows
