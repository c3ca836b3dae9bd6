"""One cell of each type of PostgreSQL that has another value in the replica is found, and a row of
all types that is equal is equal."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from headrace.spark.sinks.comparison import DifferenceKind
from tests.sinks.lake.readers import IN_TURN
from tests.sinks.replicas.replication import Replication
from tests.sinks.replicas.verifying.comparing import compare, running, writing

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TYPES: dict[str, tuple[str, str, object]] = {
    "i2": ("smallint", "-7", -8),
    "i4": ("integer", "7", 8),
    "i8": ("bigint", "9007199254740993", 9007199254740992),
    "span": ("interval", "'1 day 2 hours'", 1),
    "f4": ("real", "0.1", 0.2),
    "f8": ("double precision", "'NaN'", float("inf")),
    "zero": ("double precision", "0", -0.0),
    "flag": ("boolean", "true", False),
    "bit1": ("bit(1)", "B'1'", False),
    "bits": ("bit(12)", "B'101010101010'", b"\xaa\x0b"),
    "price": ("numeric(12, 3)", "1.100", Decimal("1.101")),
    "cash": ("money", "12.5", Decimal("12.49")),
    "plain": ("numeric", "1.10", "1.11"),
    "wide": ("numeric(50, 10)", "12345678901234567890123456789.5", "1"),
    "day": ("date", "'2026-01-31'", dt.date(2026, 1, 30)),
    "at": (
        "timestamp",
        "'2026-01-31 10:00:00.123456'",
        dt.datetime.fromisoformat("2026-01-31 10:00:00.123457"),
    ),
    "zoned": (
        "timestamptz",
        "'2026-01-31 10:00:00+02'",
        dt.datetime(2026, 1, 31, 10, tzinfo=dt.UTC),
    ),
    "clock": ("time", "'10:00:00'", "10:00:00.000001"),
    "clockz": ("timetz", "'10:00:00+02'", "10:00:00Z"),
    "id_": (
        "uuid",
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12",
    ),
    "doc": ("json", "'{\"a\":  1}'", '{"a": 1}'),
    "docb": ("jsonb", "'{\"a\":  1}'", '{"a": 2}'),
    "mood": ("mood", "'sad'", "happy"),
    "host": ("inet", "'10.0.0.1/8'", "10.0.0.1"),
    "padded": ("char(5)", "'ab'", "ab"),
    "name": ("text", "repeat('x', 3000)", "x" * 2999 + "y"),
    "short": ("varchar(10)", "'é'", "e\u0301"),
    "bytes": ("bytea", "'\\x00ff'", b"\x00\xff\x00"),
    "list": ("int[]", "'{1,2,NULL}'", [1, None, 2]),
    "texts": ("text[]", "'{ab,c}'", ["a", "bc"]),
    "nothing": ("text", "NULL", ""),
    "something": ("text", "''", None),
    "spot": ("point", "'(1,2)'", None),
    "range": ("int4range", "'[1,5)'", "[1,6)"),
}


@pytest.mark.parametrize("replication", IN_TURN, indirect=True)
def test_one_cell_of_each_type_is_found(replication: Replication) -> None:
    columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in TYPES.items())
    values = ", ".join(text for _, text, _ in TYPES.values())
    # A row for each type, and one that stays as it is.
    rows = ", ".join(f"({number}, {values})" for number in range(len(TYPES) + 1))
    replication.database.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'happy');"
        f"CREATE TABLE t (id int PRIMARY KEY, {columns}); INSERT INTO t VALUES {rows}"
    )
    replication.run()
    assert compare(replication)["public.t"].is_equal
    with writing(replication, "t") as t:
        for id_, (name, (_, _, value)) in enumerate(TYPES.items(), 1):
            t.change(id_, **{name: value})
    with running(replication):
        table = compare(replication)["public.t"]
    difference_by_key = {each.key["id"]: (each.kind, [*each.columns]) for each in table.differences}
    assert difference_by_key == {
        str(i): (DifferenceKind.DIFFERENT, [name]) for i, name in enumerate(TYPES, 1)
    }
    assert table.rows == len(TYPES) + 1


def test_a_value_that_is_long_is_shown_by_its_beginning_and_its_length() -> None:
    from headrace.spark.sinks.comparison import LONGEST_VALUE, shown_value

    assert shown_value("ab") == "'ab'"
    assert shown_value(None) == "null"
    shown_text = shown_value("x" * 5000)
    assert len(shown_text) < LONGEST_VALUE + 30
    assert "5,002 characters" in shown_text
