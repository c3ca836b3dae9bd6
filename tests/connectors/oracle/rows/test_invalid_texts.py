"""Texts with bytes that are no part of a character: a snapshot, the stream and chunks of a signal
deliver them alike, and one warning names each column."""

from __future__ import annotations

import json
import logging
from typing import Any

import oracledb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.errors import DriverError, translate
from headrace.connectors.oracle.rows import invalid_texts
from headrace.connectors.oracle.rows.invalid_texts import invalid_rows, valid
from headrace_demo.oracle.texts import with_lone_bytes
from tests.connectors.harness import ConnectorReader
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.connectors.oracle.test_connection import config
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

RAW = b"caf\xe9 \xe2\x82 \xf0\x9f\x98\x80, it's \xff"
STORED, SHOWN = with_lone_bytes(RAW), "caf\ufffd \ufffd \U0001f600, it's \ufffd"


@pytest.fixture(autouse=True)
def _no_warnings_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invalid_texts, "_warned", set())


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage().split(" has texts ")[0]
        for record in caplog.records
        if record.levelno == logging.WARNING and record.name == invalid_texts.__name__
    ]


def names(reader: ConnectorReader, operation: str) -> list[Any]:
    return [event["after"]["NAME"] for event in reader.events() if event.get("op") == operation]


def snapshot(database: OracleDatabase, **more: str) -> ConnectorReader:
    reader = ConnectorReader(
        database.properties(errors_max_retries="0", poll_interval_ms="20", **more)
    )
    return reader.step_until(
        lambda: "epoch" in reader.offsets[-1] and "snapshot" not in reader.offsets[-1]
    )


def test_a_snapshot_and_the_stream_deliver_a_text_that_is_not_valid_alike(
    stand_in: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [[1, "fine"], [2, STORED], [3, STORED], [4, "a genuine \ufffd"]]
    stand_in.create_table("T", *ID_AND_NAME, key=["ID"], rows=rows)
    reader = snapshot(stand_in)
    expected = ["fine", SHOWN, SHOWN, "a genuine \ufffd"]
    assert names(reader, "r") == expected
    assert warnings(caplog) == ["The column NAME of INV.T"]
    invalid_texts._warned.clear()
    caplog.clear()
    with stand_in.transaction() as transaction:
        for number, name in rows:
            transaction.insert("INV.T", ID=number + 10, NAME=name)
        transaction.update("INV.T", {"ID": 12}, NAME=STORED + "!")
    reader.step_until(lambda: len(names(reader, "u")) == 1)
    assert names(reader, "c") == expected
    assert names(reader, "u") == [SHOWN + "!"]
    assert warnings(caplog) == ["The column NAME of INV.T"]
    reader.stop()


def test_a_statement_that_is_cut_inside_of_a_character_loses_nothing(
    stand_in: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    stand_in.change(most_bytes=101, cuts_characters=True)
    stand_in.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(stand_in)
    whole = "é€\U0001f600" * 60
    with stand_in.transaction() as transaction:
        transaction.insert("INV.T", ID=1, NAME=whole)
        transaction.insert("INV.T", ID=2, NAME=whole + STORED)
    reader.await_changes(2)
    assert names(reader, "c") == [whole, whole + SHOWN]
    assert warnings(caplog) == ["The column NAME of INV.T"]
    reader.stop()


def test_chunks_of_a_signal_have_such_texts_and_are_not_cut_at_such_keys(
    stand_in: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    signals = ("ID VARCHAR2(64) NOT NULL", "TYPE VARCHAR2(32)", "DATA VARCHAR2(2048)")
    stand_in.create_table("SIGNALS", *signals, key=["ID"])
    stand_in.create_table("T", *ID_AND_NAME, key=["ID"], rows=[[1, STORED], [2, "b"], [3, STORED]])
    keyed = ["NAME VARCHAR2(20) NOT NULL"]
    stand_in.create_table("KEYED", *keyed, key=["NAME"], rows=[["a"], [with_lone_bytes(b"b\xe9")]])
    reader = OracleReader.of(
        stand_in,
        signal_data_collection="ORCLPDB1.INV.SIGNALS",
        incremental_snapshot_chunk_size="2",
    )
    tables = ["ORCLPDB1.INV.KEYED", "ORCLPDB1.INV.T"]
    with stand_in.transaction() as transaction:
        data = json.dumps({"type": "incremental", "data-collections": tables})
        transaction.insert("INV.SIGNALS", ID="s", TYPE="execute-snapshot", DATA=data)
    reader.step_until(
        lambda: len([event for event in reader.events() if event.get("op") == "r"]) >= 3
    )
    read = [event["after"] for event in reader.events() if event.get("op") == "r"]
    assert [row["NAME"] for row in read if "ID" in row] == [SHOWN, "b", SHOWN]
    assert [row for row in read if "ID" not in row] == []
    assert any(
        "The key (NAME) has a text that is not valid" in message for message in caplog.messages
    )
    reader.stop()


def test_a_text_that_no_output_handler_can_make_valid_is_an_error_with_a_remedy() -> None:
    class Native:
        def commit(self) -> None:
            b"secret \xff".decode()

    with pytest.raises(DriverError) as error:
        Connection(Native(), 10).commit()
    known = translate(error.value, config(), "Reading rows of INV.T")
    assert known is not None
    assert (known.code, known.retriable) == ("oracle.invalid_text", False)
    assert "INV.T" in known.message
    assert "UTL_I18N" in known.remedy
    assert "secret" not in str(known)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_no_column_of_arrow_keeps_bytes_that_are_no_utf8(kind: pa.DataType) -> None:
    binary = pa.binary() if kind == pa.string() else pa.large_binary()
    texts = pa.array([b"before", b"a", RAW, None, b"\xed\xa0\x80", b""], binary).view(kind)[1:]
    assert invalid_rows(texts) == [1, 3]
    valid_texts = valid(texts)
    valid_texts.validate(full=True)
    assert valid_texts.type == kind
    assert valid_texts.to_pylist() == ["a", SHOWN, None, "\ufffd" * 3, ""]
    assert valid(valid_texts) is valid_texts


class Described:
    """A column as the driver describes it."""

    def __init__(self, kind: oracledb.DbType, internal_size: int | None = None) -> None:
        self.type_code, self.internal_size = kind, internal_size


@pytest.mark.parametrize(
    ("kind", "internal_size", "asked"),
    [
        (oracledb.DB_TYPE_VARCHAR, 4001, (oracledb.DB_TYPE_VARCHAR, 1001)),
        (oracledb.DB_TYPE_NCHAR, 40, (oracledb.DB_TYPE_NCHAR, 10)),
        (oracledb.DB_TYPE_LONG, None, (oracledb.DB_TYPE_LONG, 0)),
        (oracledb.DB_TYPE_NCLOB, None, (oracledb.DB_TYPE_LONG, 0)),
        (oracledb.DB_TYPE_RAW, 20, None),
        (oracledb.DB_TYPE_DATE, None, None),
    ],
)
def test_the_driver_gets_an_output_handler_for_each_type_of_texts(
    kind: oracledb.DbType, internal_size: int | None, asked: tuple[Any, int] | None
) -> None:
    handler_answers: list[Any] = []

    class Cursor:
        description = ()
        arraysize = 1

        def execute(self, _statement: str, _binds: Any) -> None:
            handler_answers.append(self.outputtypehandler(self, Described(kind, internal_size)))  # type: ignore[attr-defined]

        def var(self, typ: Any, size: int, *, arraysize: int, encoding_errors: str) -> Any:
            assert arraysize == 7
            return typ, size, encoding_errors

        def close(self) -> None:
            """Does nothing."""

    class Native:
        def cursor(self) -> Cursor:
            return Cursor()

    connection = Connection(Native(), 7, oracledb.DB_TYPE_LONG)
    connection.cursor("SELECT", exact=True)
    connection.cursor("SELECT")
    marked = None if asked is None else (*asked, invalid_texts.MARKED)
    assert handler_answers == [marked, None if asked is None else (*asked, "replace")]


@given(
    st.lists(st.one_of(st.none(), st.binary(max_size=6), st.text(max_size=4).map(str.encode))),
    st.integers(0, 3),
    st.sampled_from([(pa.binary(), pa.string()), (pa.large_binary(), pa.large_string())]),
)
def test_rows_that_are_not_utf_8_are_found_in_any_part_of_a_column(
    raw: list[bytes | None], first: int, kinds: tuple[pa.DataType, pa.DataType]
) -> None:
    def is_invalid(each: bytes) -> bool:
        try:
            each.decode()
        except UnicodeDecodeError:
            return True
        return False

    column = pa.array(raw, kinds[0]).view(kinds[1]).slice(first)
    expected = [row for row, each in enumerate(raw[first:]) if each and is_invalid(each)]
    assert invalid_rows(column) == expected
