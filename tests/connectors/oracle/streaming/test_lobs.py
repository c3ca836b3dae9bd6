"""Large objects on the stand-in (lob.enabled): what is put into changes."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from headrace.errors import HeadraceError
from tests.connectors.oracle.reading import OracleReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

TABLE = "INV.L"
UNAVAILABLE = "__debezium_unavailable_value"
COLUMNS = ("ID NUMBER(9,0) NOT NULL", "NAME VARCHAR2(40)", "C CLOB", "B BLOB")


@pytest.fixture
def reading(oracle_database: OracleDatabase) -> Iterator[OracleReader]:
    oracle_database.create_table("L", *COLUMNS, key=["ID"])
    reader = OracleReader.of(oracle_database, lob_enabled="true")
    yield reader
    reader.stop()


def test_large_values_are_put_into_the_insert_that_they_belong_to(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    text, raw = "it's Ω " * 700, bytes(range(256)) * 9
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one", C=text, B=raw.hex())
        transaction.insert(TABLE, ID=2, NAME="two")
    reading.await_changes(2)
    first, second = (after for _, _, after in reading.images())
    assert first is not None
    assert first["C"] == text
    assert base64.b64decode(first["B"]) == raw
    assert second == {"ID": 2, "NAME": "two", "C": None, "B": None}


EXTENDED_BEGIN = """DECLARE
 buf_c VARCHAR2(32767);
BEGIN
  Stmt := 'update "INV"."L" a set a."C" = :1 where a."ID" = ''1'' and a."NAME" = ''one''';
"""
INSERT = """insert into "INV"."L"("ID","NAME","C","B") values ('1','one',NULL,NULL);"""


@pytest.mark.parametrize(
    ("begin", "part", "value"),
    [
        (
            EXTENDED_BEGIN,
            " buf_c  := 'tail'; dbms_lob.writeappend(t, length(buf_c), buf_c);",
            "tail",
        ),
        (EXTENDED_BEGIN, " buf_c is 'tail'; in no known form;", UNAVAILABLE),
        ("DECLARE in no known form", " buf_c := 'tail'; call(buf_c);", UNAVAILABLE),
    ],
)
def test_a_part_that_cannot_be_read_never_makes_its_value_null(
    oracle_database: OracleDatabase,
    caplog: pytest.LogCaptureFixture,
    begin: str,
    part: str,
    value: str,
) -> None:
    oracle_database.create_table("L", *COLUMNS, key=["ID"])
    mode = {"event_processing_failure_handling_mode": "warn", "lob_enabled": "true"}
    reader = OracleReader.of(oracle_database, **mode)
    row = {"xid": "0b00010001000000", "table": TABLE, "row_id": "AAAAAAAAAAAAAAAA01"}
    oracle_database.server.apply(
        [
            {"redo": "INSERT", "sql": INSERT, **row},
            {"redo": "32K_BEGIN", "sql": begin, **row},
            {"redo": "32K_WRITE", "sql": part, **row},
            {"redo": "32K_END", **row},
            {"redo": "COMMIT", "xid": row["xid"]},
        ]
    )
    reader.await_changes(1)
    reader.stop()
    ((op, _, after),) = reader.images()
    assert op == "c"
    assert after is not None
    assert after["C"] == value
    assert ("the value is unavailable" in caplog.text) == (value == UNAVAILABLE)


def test_an_update_of_a_large_value_alone_is_an_update_of_its_row(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one", C="first")
    with oracle_database.transaction() as transaction:
        transaction.update(TABLE, {"ID": 1}, C="x" * 5000)
    reading.await_changes(2)
    op, before, after = reading.images()[1]
    unavailable = base64.b64encode(UNAVAILABLE.encode()).decode()
    assert op == "u"
    assert before == {"ID": 1, "NAME": "one", "C": UNAVAILABLE, "B": unavailable}
    assert after == {"ID": 1, "NAME": "one", "C": "x" * 5000, "B": unavailable}


def test_what_is_undone_to_a_savepoint_is_in_no_large_value(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one", C="first")
        transaction.savepoint("here")
        transaction.insert(TABLE, ID=2, NAME="two", C="second")
        transaction.rollback_to("here")
    with oracle_database.transaction() as transaction:
        transaction.delete(TABLE, ID=1)
    reading.await_changes(2)
    assert [op for op, _, _ in reading.images()] == ["c", "d"]
    after = reading.images()[0][2]
    assert after is not None
    assert after["C"] == "first"


def test_a_large_value_after_a_rollback_to_a_savepoint_is_not_lost(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one", C="first", B="00")
        transaction.savepoint("here")
        transaction.update(TABLE, {"ID": 1}, C="undone")
        transaction.update(TABLE, {"ID": 1}, NAME="undone", C="undone, too", B="01")
        transaction.rollback_to("here")
        transaction.update(TABLE, {"ID": 1}, C="after it")
        transaction.savepoint("there")
        transaction.delete(TABLE, ID=1)
        transaction.rollback_to("there")
    reading.await_changes(1)
    assert reading.images() == [
        (
            "c",
            None,
            {"ID": 1, "NAME": "one", "C": "after it", "B": base64.b64encode(b"\0").decode()},
        )
    ]


def test_large_values_of_a_row_whose_key_changes_are_read_again(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one", C="first" * 500, B="0aff")
    with oracle_database.transaction() as transaction:
        transaction.update(TABLE, {"ID": 1}, ID=2, B="0bff")
    reading.await_changes(3)
    _, (old_operation, *_), (new_operation, _, after) = reading.images()
    assert (old_operation, new_operation) == ("d", "c")
    assert after == {
        "ID": 2,
        "NAME": "one",
        "C": "first" * 500,
        "B": base64.b64encode(bytes.fromhex("0bff")).decode(),
    }


def test_large_values_of_a_row_that_is_gone_are_unavailable(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one", C="first")
    reading.await_changes(1)
    oracle_database.server.apply([{"switch": 1}])
    with oracle_database.transaction() as transaction:
        transaction.update(TABLE, {"ID": 1}, ID=2)
        transaction.delete(TABLE, ID=2)
    reading.await_changes(4)
    _, _, (op, _, after), _ = reading.images()
    assert op == "c"
    assert after is not None
    assert after["C"] == UNAVAILABLE


def test_large_values_that_undo_has_no_more_are_an_error_that_is_tried_again(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one", C="first")
    reading.await_changes(1)
    oracle_database.server.apply([{"error": 1555, "when": 'FROM "INV"."L"', "times": 1}])
    with oracle_database.transaction() as transaction:
        transaction.update(TABLE, {"ID": 1}, ID=2)
    with pytest.raises(HeadraceError) as caught:
        reading.step_until(lambda: False)
    assert (caught.value.code, caught.value.retriable) == ("oracle.large_value_too_old", True)
    assert "MODIFY LOB" in caught.value.remedy
    reading.restart()
    reading.await_changes(3)
    after = reading.images()[2][2]
    assert after is not None
    assert after["C"] == "first"


def test_a_transaction_with_large_values_is_read_whole_over_windows_and_restarts(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    long = oracle_database.server.begin()
    long.insert(TABLE, ID=1, NAME="one", C="first" * 300)
    for number in range(2, 5):
        with oracle_database.transaction() as short:
            short.insert(TABLE, ID=number, NAME="short", C="short")
        reading.await_changes(number - 1)
        if number % 2:
            reading.restart()
    long.insert(TABLE, ID=5, NAME="five", C="last")
    long.commit()
    reading.await_changes(5)
    assert reading.ids() == [2, 3, 4, 1, 5]
    after = reading.images()[3][2]
    assert after is not None
    assert after["C"] == "first" * 300
