"""IBM's driver takes Derby behind the bridge for a Db2, and the simulator for Capture."""

from __future__ import annotations

import datetime as dt
import re
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import ibm_db_dbi
import pytest

from headrace.errors import HeadraceError
from headrace_demo.db2.derby import DerbyServer
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2

TYPES = """
ID INTEGER NOT NULL PRIMARY KEY, S SMALLINT, B BIGINT, N DECIMAL(31,5), R REAL, D DOUBLE,
C CHAR(5), V VARCHAR(2000), CB CHAR(3) FOR BIT DATA, VB VARCHAR(30) FOR BIT DATA,
DT DATE, T TIME, TS TIMESTAMP
"""
ROW = (
    1, -2, 2**40, Decimal("12345678901234567890123456.00001"), 0.5, 1e300, "ab",
    "Grüße, 𝄞", b"\x00\x01\xff", b"CSS10161", dt.date(2017, 9, 15), dt.time(4, 5, 11),
    dt.datetime(2019, 7, 9, 2, 28, 57, 123456),  # noqa: DTZ001 - Db2's have no zone
)  # fmt: skip


def operations(database: Db2Database, table: str) -> list[tuple[str, object]]:
    return [(row[2], row[3]) for row in database.changes(table)]


def test_every_type_that_derby_has_comes_back_as_it_was_written(db2_database: Db2Database) -> None:
    db2_database.create_table("TYPES", TYPES, captured=False)
    marks = ", ".join("?" * len(ROW))
    nulls = (2, *[None] * (len(ROW) - 1))
    with closing(db2_database.connect()) as connection:
        cursor = connection.cursor()
        for row in (ROW, nulls):
            cursor.execute(f"INSERT INTO INV.TYPES VALUES ({marks})", row)
        cursor.execute("SELECT * FROM INV.TYPES ORDER BY ID")
        first, second = cursor.fetchall()
    assert first == (*ROW[:6], "ab   ", *ROW[7:])
    assert second == nulls


def test_texts_longer_than_a_segment_go_both_ways(db2_database: Db2Database) -> None:
    db2_database.create_table("TEXTS", "A VARCHAR(32000), B VARCHAR(32000)", captured=False)
    texts = ("ä" * 10_000, "b" * 30_000)
    db2_database.execute("INSERT INTO INV.TEXTS VALUES ('{}', '{}')".format(*texts))
    assert db2_database.execute("SELECT A, B FROM INV.TEXTS") == [texts]


def test_the_driver_returns_columns_and_keys(db2_database: Db2Database) -> None:
    db2_database.create_table(
        "ITEMS", "B INTEGER NOT NULL, A INTEGER NOT NULL, PRIMARY KEY (A, B)", captured=False
    )
    with closing(db2_database.connect()) as connection:
        columns = connection.columns("INV", "ITEMS")
        keys = connection.primary_keys(True, "INV", "ITEMS")
    assert [column["COLUMN_NAME"] for column in columns] == ["B", "A"]
    assert [column["COLUMN_NAME"] for column in sorted(keys, key=lambda key: key["KEY_SEQ"])] == [
        "A",
        "B",
    ]


def test_a_transaction_is_one_commit_whose_changes_are_in_order(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY, V VARCHAR(10)")
    with db2_database.transaction() as execute:
        execute("INSERT INTO INV.THINGS VALUES (1, 'a'), (2, 'b')", ())
        execute("UPDATE INV.THINGS SET V = 'c'", ())
        execute("UPDATE INV.THINGS SET ID = ? WHERE ID = ?", (3, 1))
    db2_database.execute("DELETE FROM INV.THINGS WHERE ID = 2")
    synchpoint = db2_database.capture.await_captured()
    changes = db2_database.changes("THINGS")
    assert operations(db2_database, "THINGS") == [
        ("I", 1), ("I", 2), ("D", 1), ("I", 1), ("D", 2), ("I", 2), ("D", 1), ("I", 3), ("D", 2),
    ]  # fmt: skip
    assert len({row[0] for row in changes[:8]}) == 1
    assert changes[8][0] == synchpoint > changes[0][0]
    units = db2_database.execute("SELECT IBMSNAP_COMMITSEQ FROM ASNCDC.IBMSNAP_UOW")
    assert {row[0] for row in changes} <= {unit for (unit,) in units}


def test_what_is_rolled_back_is_not_captured(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")

    def fail() -> None:
        with db2_database.transaction() as execute:
            execute("INSERT INTO INV.THINGS VALUES 1", ())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    db2_database.execute("INSERT INTO INV.THINGS VALUES 2")
    db2_database.capture.await_captured()
    assert operations(db2_database, "THINGS") == [("I", 2)]


def test_the_synchpoint_stays_while_capture_does_not_run(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    capture = db2_database.capture
    before = capture.await_captured()
    capture.stop()
    db2_database.execute("INSERT INTO INV.THINGS VALUES 1")
    assert capture.synchpoint() == before
    capture.start()
    assert capture.await_captured() > before


def test_capture_continues_when_the_server_comes_back(
    derby: DerbyServer, db2_database: Db2Database
) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    db2_database.execute("INSERT INTO INV.THINGS VALUES 1")
    before = db2_database.capture.await_captured()
    derby.kill()
    with pytest.raises(Exception, match="SQL30081N"):
        db2_database.execute("INSERT INTO INV.THINGS VALUES 2")
    derby.start()
    db2_database.execute("INSERT INTO INV.THINGS VALUES 3")
    assert db2_database.capture.await_captured() > before
    assert operations(db2_database, "THINGS") == [("I", 1), ("I", 3)]


def test_a_table_may_have_two_change_tables(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    capture = db2_database.capture
    assert capture.add_table("INV", "THINGS", "AGAIN") == "AGAIN"
    db2_database.execute("INSERT INTO INV.THINGS VALUES 1")
    capture.stop_capturing("CDC_INV_THINGS")
    db2_database.execute("INSERT INTO INV.THINGS VALUES 2")
    assert operations(db2_database, "THINGS") == [("I", 1)]
    second = db2_database.execute("SELECT ID FROM ASNCDC.AGAIN ORDER BY IBMSNAP_COMMITSEQ")
    assert second == [(1,), (2,)]
    capture.remove_table("INV", "THINGS")
    db2_database.execute("INSERT INTO INV.THINGS VALUES 3")
    assert db2_database.execute("SELECT COUNT(*) FROM ASNCDC.AGAIN") == [(3,)]


def test_pruned_changes_are_gone(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    db2_database.execute("INSERT INTO INV.THINGS VALUES 1")
    through = db2_database.capture.await_captured()
    db2_database.execute("INSERT INTO INV.THINGS VALUES 2")
    db2_database.capture.await_captured()
    db2_database.capture.prune(through)
    assert operations(db2_database, "THINGS") == [("I", 2)]


def test_the_register_bears_changes_while_capture_runs(db2_database: Db2Database) -> None:
    """The changes do not wait for Capture's cycles, and no cycle undoes one of them."""
    capture = db2_database.capture
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    for number in range(10):
        later = capture.add_table("INV", "THINGS", f"LATER{number}")
        capture.set_state(later, "I")
        db2_database.execute(f"INSERT INTO INV.THINGS VALUES {number}")
        capture.set_state(later, "A")
        through = capture.await_captured()
        capture.prune(through)
        if number % 2:
            capture.remove_table("INV", "THINGS", later)
    capture.advance()
    rows = db2_database.execute(
        "SELECT CD_TABLE, STATE, CD_OLD_SYNCHPOINT, CD_NEW_SYNCHPOINT FROM "
        "ASNCDC.IBMSNAP_REGISTER WHERE GLOBAL_RECORD = 'N' ORDER BY CD_TABLE"
    )
    names = ["CDC_INV_THINGS", *(f"LATER{number}" for number in range(0, 10, 2))]
    assert [(name, state) for name, state, *_ in rows] == [(name, "A") for name in names]
    assert {bytes(old) for *_, old, _ in rows} == {through}
    assert all(bytes(new) <= capture.synchpoint() for *_, new in rows)


def test_a_database_that_is_shut_down_begins_again(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    db2_database.execute("INSERT INTO INV.THINGS VALUES 1")
    db2_database.close()
    log = (db2_database.server.directory / "server.log").read_text()
    end = re.compile(rf"Shutting down instance .*\s+on database directory \S+/{db2_database.name} ")
    assert end.search(log)
    db2_database.capture.start()
    assert operations(db2_database, "THINGS") == [("I", 1)]


def test_connections_to_a_database_that_is_shut_down_are_cut_and_others_stay(
    derby: DerbyServer, db2_database: Db2Database
) -> None:
    other = Db2Database.create(derby)
    with closing(db2_database.connect()) as cut, closing(other.connect()) as open_connection:
        ends = [connection.cursor() for connection in (cut, open_connection)]
        for cursor in ends:
            cursor.execute("VALUES 1")
        derby.shut_down(db2_database.name)
        with pytest.raises(ibm_db_dbi.Error, match=r"SQL30081N|CLI0108E"):
            ends[0].execute("VALUES 1")
        ends[1].execute("VALUES 1")
        assert ends[1].fetchall() == [(1,)]
    other.close()
    assert db2_database.execute("VALUES 1") == [(1,)]


def test_lsns_have_ten_bytes_on_zos(derby: DerbyServer) -> None:
    database = Db2Database.create(derby, width=10)
    with database.capture as capture:
        database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
        database.execute("INSERT INTO INV.THINGS VALUES 1")
        synchpoint = capture.await_captured()
    ((commit, change, *_),) = database.changes("THINGS")
    assert (len(commit), len(change), commit) == (10, 10, synchpoint)


def test_without_jars_it_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("headrace_demo.db2.derby._DERBY", ("org.apache.derby", "none", "0"))
    with pytest.raises(HeadraceError, match="is not available here") as caught, DerbyServer():
        pass
    assert caught.value.code == "embedded.not_installed"
