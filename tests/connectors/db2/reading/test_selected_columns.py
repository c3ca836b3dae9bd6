"""The columns of tables that a query selects, and the rows that are read again."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.connectors.db2.connection import Connection, _native
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.reading.dialect import SQL
from tests.connectors.db2.test_streaming import Reader
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every query that this process sends."""
    sent: list[str] = []
    cursor = Connection.cursor

    def recorded(self: Connection, statement: str, *more: Any) -> Any:
        sent.append(statement)
        return cursor(self, statement, *more)

    monkeypatch.setattr(Connection, "cursor", recorded)
    return sent


def reader_of(database: Db2Database, **more: str) -> Reader:
    changed = {"errors_max_retries": "0", "poll_interval_ms": "20"}
    return Reader(database.properties(**(changed | more)))


def test_columns_that_no_event_shows_are_not_asked_for_but_keys_are(
    db2_database: Db2Database, statements: list[str]
) -> None:
    db2_database.create_table(
        "T", "HIDDEN INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(20), SECRET VARCHAR(20)"
    )
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one', 'secret')")
    db2_database.capture.await_captured()
    reader = reader_of(db2_database, column_exclude_list=rf"{SCHEMA}\.T\.(SECRET|HIDDEN)")
    reader.await_changes(1)
    db2_database.execute(f"UPDATE {SCHEMA}.T SET SECRET = 'other', NAME = 'two'")
    values = reader.await_changes(2)
    reader.stop()
    assert [value["after"] for value in values] == [{"NAME": "one"}, {"NAME": "two"}]
    assert [value["key"] for value in values] == [{"HIDDEN": 1}] * 2
    table_statements = [statement for statement in statements if "NAME" in statement]
    assert len(table_statements) >= 2
    assert all(
        "HIDDEN" in statement and "SECRET" not in statement for statement in table_statements
    )


def test_null_columns_are_read_again_by_keys_of_several_columns(
    db2_database: Db2Database,
) -> None:
    db2_database.create_table(
        "T", "A INTEGER NOT NULL, B CHAR(4) NOT NULL, N DECIMAL(9, 2), V VARCHAR(20), "
        "PRIMARY KEY (A, B)",
    )  # fmt: skip
    kind = "io.debezium.processors.reselect.ReselectColumnsPostProcessor"
    reader = reader_of(
        db2_database,
        snapshot_mode="no_data",
        post_processors="again",
        again_type=kind,
        again_reselect_columns_include_list=rf"{SCHEMA}.T:N,{SCHEMA}.T:V",
    )
    reader.step_until(lambda: len(reader.offsets) > 1)
    with db2_database.transaction() as execute:
        for number in range(250):
            execute(f"INSERT INTO {SCHEMA}.T (A, B) VALUES ({number}, 'b')", ())
        execute(f"INSERT INTO {SCHEMA}.T VALUES (999, 'gone', NULL, NULL)", ())
    db2_database.execute(f"UPDATE {SCHEMA}.T SET N = A + 0.5, V = 'it''s'")
    db2_database.execute(f"DELETE FROM {SCHEMA}.T WHERE A = 999")
    values = reader.await_changes(251)[:251]
    reader.stop()
    created = [value for value in values if value["op"] == "c"]
    assert {value["after"]["V"] for value in created[:250]} == {"it's"}
    numbers = {value["after"]["A"]: value["after"]["N"] for value in created}
    assert numbers[0] != numbers[1]
    assert None not in [numbers[number] for number in range(250)]
    assert (created[250]["after"]["A"], created[250]["after"]["V"]) == (999, None)


@pytest.mark.parametrize(
    ("text", "is_of_statement"),
    [
        ("SQL0206N  \"X\" is not valid.  SQLSTATE=42703 SQLCODE=-206", True),
        ("SQL0801N  Division by zero was attempted.  SQLSTATE=22012 SQLCODE=-801", True),
        ("SQL0811N  More than one row.  SQLSTATE=21000 SQLCODE=-811", True),
        ("CLI0100E  Wrong number of parameters. SQLSTATE=07001 SQLCODE=-99999", True),
        ("SQL0551N  The user has no privilege.  SQLSTATE=42501 SQLCODE=-551", False),
        ("SQL30081N  A communication error.  SQLSTATE=08001 SQLCODE=-30081", False),
        ("SQL0911N  Rolled back: a deadlock.  SQLSTATE=40001 SQLCODE=-911", False),
        ("SQL0952N  Processing was cancelled.  SQLSTATE=57014 SQLCODE=-952", False),
        ("SQL0668N  Operation not allowed.  SQLSTATE=57007 SQLCODE=-668", False),
        ("something else", False),
    ],
)  # fmt: skip
def test_errors_of_a_statement_are_not_those_of_the_server(
    text: str, is_of_statement: bool
) -> None:
    assert (
        DriverError(f"[IBM][CLI Driver][DB2/LINUXX8664] {text}").is_of_statement is is_of_statement
    )


def test_an_error_that_the_driver_raises_beside_a_result_is_passed_on_unchanged() -> None:
    def columns() -> None:
        lost = Exception("[IBM] SQL30081N  A communication error.  SQLSTATE=08001 SQLCODE=-30081")
        raise SystemError("<built-in function columns> returned a result") from lost

    with pytest.raises(DriverError) as caught:
        _native(columns)
    assert caught.value.is_unreachable


def test_rows_are_counted_without_locks_and_without_overflow(db2_database: Db2Database) -> None:
    db2_database.create_table("T", "A INTEGER")
    statement = SQL.count([(SCHEMA, "T")], None)
    assert statement.endswith(" WITH UR")
    assert "count(" not in statement.lower()
    assert db2_database.execute(statement) == [(0,)]
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1), (2), (NULL)")
    assert db2_database.execute(statement) == [(3,)]
    assert db2_database.execute(SQL.count([(SCHEMA, "T")], "A > 1")) == [(1,)]
