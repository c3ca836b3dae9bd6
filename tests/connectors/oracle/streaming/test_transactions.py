"""Transactions that interleave, are undone, go on over restarts, or have odd redo."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

TABLE = "INV.T"
XID, OTHER_XID = "0b00010001000000", "0b00020002000000"


@pytest.fixture
def reading(oracle_database: OracleDatabase) -> Iterator[OracleReader]:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database)
    yield reader
    reader.stop()


def insert(number: int, xid: str = XID, **more: Any) -> dict[str, Any]:
    """A row of redo that inserts a row of the table."""
    statement = f"""insert into "INV"."T"("ID","NAME") values ('{number}','x');"""
    row_id = f"AAAAAAAAAAAAAAAA{number:02d}"
    return {
        "redo": "INSERT", "xid": xid, "table": TABLE, "sql": statement, "row_id": row_id, **more
    }  # fmt: skip


def undone(number: int, xid: str = XID) -> dict[str, Any]:
    """The row of redo that takes it back."""
    statement = 'delete from "INV"."T" where ROWID = \'x\';'
    return insert(number, xid, rollback=1) | {"redo": "DELETE", "sql": statement}


def mark(kind: str, xid: str = XID, **more: Any) -> dict[str, Any]:
    """START, COMMIT or ROLLBACK."""
    return {"redo": kind, "xid": xid, **more}


def test_interleaved_transactions_come_one_after_the_other_in_the_order_of_commits(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    first, second = (oracle_database.server.begin() for _ in range(2))
    for number in range(3):
        first.insert(TABLE, ID=number, NAME="first")
        second.insert(TABLE, ID=10 + number, NAME="second")
    second.commit()
    first.insert(TABLE, ID=3, NAME="first")
    first.commit()
    reading.await_changes(7)
    assert reading.ids() == [10, 11, 12, 0, 1, 2, 3]


def test_what_is_rolled_back_is_in_no_event(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    transaction = oracle_database.server.begin()
    transaction.insert(TABLE, ID=1, NAME="one")
    transaction.rollback()
    with oracle_database.transaction() as second:
        second.insert(TABLE, ID=2, NAME="two")
        second.savepoint("here")
        second.update(TABLE, {"ID": 2}, NAME="other")
        second.insert(TABLE, ID=3, NAME="three")
        second.rollback_to("here")
        second.insert(TABLE, ID=4, NAME="four")
    reading.await_changes(2)
    assert reading.images() == [
        ("c", None, {"ID": 2, "NAME": "two"}),
        ("c", None, {"ID": 4, "NAME": "four"}),
    ]


def test_a_rollback_row_without_its_change_takes_nothing_back(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    oracle_database.server.apply(
        [
            mark("START"),
            undone(1),
            insert(1),
            insert(2),
            undone(2),
            undone(2),
            mark("COMMIT"),
        ]
    )
    reading.await_changes(1)
    assert reading.ids() == [1]


def test_a_rollback_of_an_unknown_sequence_finds_its_transaction(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    unknown = XID[:8] + "ffffffff"
    oracle_database.server.apply(
        [
            insert(1), insert(2), undone(2, unknown),
            insert(3, OTHER_XID), mark("ROLLBACK", OTHER_XID[:8] + "ffffffff"),
            mark("COMMIT"),
            insert(4, OTHER_XID), mark("COMMIT", OTHER_XID),
        ]
    )  # fmt: skip
    reading.await_changes(2)
    assert reading.ids() == [1, 4]


def test_commits_of_one_scn_in_two_threads_are_each_delivered_once(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    oracle_database.server.apply([{"open_thread": 2}])
    reader = OracleReader.of(oracle_database, log_mining_read_only="true")
    scn = 2_000_000
    oracle_database.server.apply(
        [
            insert(1, scn=scn),
            insert(2, OTHER_XID, thread=2, scn=scn + 1),
            mark("COMMIT", OTHER_XID, thread=2, scn=scn + 2),
            mark("COMMIT", XID, scn=scn + 2),
            {"scn": scn + 10},
        ]
    )
    values = reader.await_changes(2)
    reader.restart()
    oracle_database.server.apply([insert(3), mark("COMMIT"), {"scn": scn + 100}])
    reader.await_changes(3)
    reader.stop()
    assert reader.ids() == [1, 2, 3]
    assert {value["source"]["commit_scn"] for value in values[:2]} == {str(scn + 2)}
    assert [value["source"]["redo_thread"] for value in values[:2]] == [1, 2]


def test_redo_that_is_missing_or_not_mined_is_only_a_warning(
    reading: OracleReader, oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    oracle_database.server.apply(
        [insert(1), {"redo": "MISSING_SCN", "xid": XID}, {"redo": "UNSUPPORTED", "xid": XID},
         mark("COMMIT")]
    )  # fmt: skip
    reading.await_changes(1)
    assert "missing redo" in caplog.text


def test_a_replication_marker_drops_its_transaction(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    oracle_database.server.apply(
        [insert(1), {"redo": "REPLICATION_MARKER", "xid": XID}, insert(2, OTHER_XID),
         mark("COMMIT", OTHER_XID)]
    )  # fmt: skip
    reading.await_changes(1)
    assert reading.ids() == [2]


@pytest.mark.parametrize("fetch", ["1", "2", "10000"])
def test_a_statement_of_several_rows_is_put_together_wherever_it_is_cut(
    oracle_database: OracleDatabase, fetch: str
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, query_fetch_size=fetch)
    text = "it''s é, '' and \U0001f600."
    cuts = range(len(text) + 1)
    for number in cuts:
        whole = str(insert(number)["sql"]).replace("x", text)
        start = whole.index(text) + number
        middle = min(start + 3, len(whole))
        parts = whole[:start], whole[start:middle], whole[middle:]
        rows = [
            insert(
                number, sql=part, csf=int(place < len(parts) - 1), ssn=place, scn=1000100 + number
            )
            for place, part in enumerate(parts)
        ]
        oracle_database.server.apply([mark("START"), *rows, mark("COMMIT", scn=1000100 + number)])
    values = reader.await_changes(len(cuts))
    reader.stop()
    assert [value["after"]["ID"] for value in values] == list(cuts)
    assert {value["after"]["NAME"] for value in values} == {text.replace("''", "'")}


def test_a_pluggable_database_with_a_name_in_small_letters_is_read(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.server.load({"database": {"pdb": "Shop pdb"}})
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, database_pdb_name='"Shop pdb"')
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="x")
    other = {"container": "SHOP PDB"}
    oracle_database.server.apply(
        [mark("START", **other), insert(2, **other), mark("COMMIT", **other)]
    )
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=3, NAME="x")
    values = reader.await_changes(2)
    reader.stop()
    assert reader.ids() == [1, 3]
    assert {value["source"]["db"] for value in values} == {"Shop pdb"}


def test_a_transaction_that_is_open_over_restarts_is_read_again_from_its_beginning(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    long = oracle_database.server.begin()
    long.insert(TABLE, ID=1, NAME="long")
    for number in range(2, 5):
        with oracle_database.transaction() as short:
            short.insert(TABLE, ID=number, NAME="short")
        reading.await_changes(number - 1)
        reading.restart()
    long.insert(TABLE, ID=5, NAME="long")
    oracle_database.server.apply([{"switch": 1}])
    long.commit()
    reading.await_changes(5)
    assert reading.ids() == [2, 3, 4, 1, 5]


def test_a_half_delivered_transaction_continues_after_its_last_event(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, headrace_range_max_rows="7")
    with oracle_database.transaction() as transaction:
        for number in range(40):
            transaction.insert(TABLE, ID=number, NAME="x")
    while (count := len(reader.values())) < 40:
        reader.await_changes(count + 1)
        reader.restart()
    assert reader.ids() == list(range(40))
    assert [value["source"]["txSeq"] for value in reader.values()] == list(range(1, 41))


def test_a_transaction_that_grows_beyond_the_threshold_is_given_up(
    oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, log_mining_buffer_transaction_events_threshold="10")
    with oracle_database.transaction() as large:
        for number in range(30):
            large.insert(TABLE, ID=number, NAME="large")
    with oracle_database.transaction() as small:
        small.insert(TABLE, ID=100, NAME="small")
    reader.await_changes(1)
    reader.step_until(
        lambda: reader.open().metrics()["streaming"]["NumberOfOversizedTransactions"] == 1
    )
    reader.stop()
    assert reader.ids() == [100]
    assert "are given up" in caplog.text


def test_a_transaction_that_is_open_for_too_long_is_given_up(
    oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, log_mining_transaction_retention_ms="1")
    old = oracle_database.server.begin()
    old.insert(TABLE, ID=1, NAME="old")
    # The stand-in's clock is years in the past: whatever is open is too old.
    reader.step_until(lambda: old.xid in caplog.text)
    old.insert(TABLE, ID=2, NAME="old")
    old.commit()

    def a_later_one_is_read() -> bool:
        # One that LogMiner shows before it is committed is too old, too.
        with oracle_database.transaction() as transaction:
            transaction.insert(TABLE, ID=next(numbers), NAME="new")
        return reader.look_again(oracle_database).values() != []

    numbers = itertools.count(3)
    reader.step_until(a_later_one_is_read)
    reader.stop()
    assert min(reader.ids()) >= 3


def test_a_transaction_that_a_signal_names_is_left_out(
    oracle_database: OracleDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    signals = tmp_path / "signals.jsonl"
    reader = OracleReader.of(
        oracle_database,
        signal_enabled_channels="file",
        signal_file=str(signals),
        signal_poll_interval_ms="0",
    )
    dropped = oracle_database.server.begin()
    dropped.insert(TABLE, ID=1, NAME="dropped")
    reader.step_until(
        lambda: reader.open().metrics()["streaming"]["NumberOfActiveTransactions"] == 1
    )
    for number, transaction in enumerate((dropped.xid, "0" * 16, "grr")):
        signal = {"type": "drop-transaction", "data": {"transaction-id": transaction}}
        with signals.open("a") as lines:
            lines.write(json.dumps({"id": str(number), **signal}) + "\n")
    reader.step_until(lambda: f"{dropped.xid} is left out" in caplog.text)
    dropped.insert(TABLE, ID=2, NAME="dropped")
    dropped.commit()
    with oracle_database.transaction() as kept_transaction:
        kept_transaction.insert(TABLE, ID=3, NAME="kept")
    reader.await_changes(1)
    reader.stop()
    assert reader.ids() == [3]
    assert "is not open" in caplog.text
    assert "signal 2 is ignored" in caplog.text
