"""The stand-in for Oracle: what it lets through, and what it writes."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracledb
import pyarrow as pa
import pytest

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.sql import redo_conditions
from headrace_demo.oracle import driver
from headrace_demo.oracle.server import OracleServer
from tests.servers.oracle import PDB, OracleDatabase

pytestmark = pytest.mark.oracle

COLUMNS = ("ID NUMBER(9,0) NOT NULL", "V VARCHAR2(4000)", "N NUMBER")
DESTINATION = {"destination": "LOG_ARCHIVE_DEST_1", "hours": 0}
READ = ("OPERATION", "SQL_REDO", "ROLLBACK", "CSF", "XID", "ROW_ID", "SCN")
Rows = list[tuple[Any, ...]]


def connection_to(server: OracleServer, user: str = "c##dbzuser") -> driver.OracleConnection:
    return driver.connect(
        user=user, password=server.password, dsn=f"{server.host}:{server.port}/ORCLCDB"
    )


@pytest.fixture
def oracle_database(stand_in: OracleDatabase) -> OracleDatabase:
    """A database of the stand-in, which is tested here."""
    return stand_in


@pytest.fixture
def session(oracle_database: OracleDatabase) -> Iterator[driver.OracleConnection]:
    oracle_database.create_table("T", *COLUMNS, key=["ID"])
    connection = connection_to(oracle_database.server)
    run(connection, sql.SESSION_FORMATS())
    yield connection
    connection.close()


def run(connection: driver.OracleConnection, statement: str, **binds: Any) -> Rows:
    cursor = connection.cursor().execute(statement, binds)
    return cursor.fetchall() if cursor.description else []


def refused(connection: driver.OracleConnection, statement: str, **binds: Any) -> int:
    with pytest.raises(driver.DatabaseError) as error:
        run(connection, statement, **binds)
    code: int = error.value.args[0].code
    return code


def add_logs(connection: driver.OracleConnection, scn: int = 0) -> None:
    logs = run(connection, sql.ARCHIVED_LOGS(), scn=scn, **DESTINATION)
    for name, *_ in logs + run(connection, sql.ONLINE_LOGS()):
        run(connection, sql.ADD_LOGFILE(), name=name)


def mined(connection: driver.OracleConnection, condition: str = "", low: int = 0) -> Rows:
    ((high,),) = run(connection, sql.CURRENT_SCN())
    add_logs(connection)
    run(connection, sql.start_logmnr("online_catalog"), first=999_000, last=high)
    statement = sql.contents(READ, condition or redo_conditions.contents_condition(PDB, lobs=True))
    rows = run(connection, statement, low=low, high=high)
    run(connection, sql.END_LOGMNR())
    return rows


def test_a_statement_that_headrace_does_not_send_is_refused(
    session: driver.OracleConnection,
) -> None:
    assert refused(session, "SELECT 1 FROM DUAL") == 900
    assert refused(session, "SELECT CURRENT_SCN FROM V$DATABASE WHERE 1 = 1") == 900


def test_a_transaction_writes_its_redo_as_logminer_returns_it(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.T", ID=1, V="it's", N="0.5")
        transaction.update("INV.T", {"ID": 1}, V=None)
        transaction.delete("INV.T", ID=1)
    rows = mined(session)
    assert [row[:2] for row in rows] == [
        ("START", "set transaction read write;"),
        ("INSERT", """insert into "INV"."T"("ID","V","N") values ('1','it''s','.5');"""),
        ("UPDATE", """update "INV"."T" set "V" = NULL where "ID" = '1' and "V" = 'it''s' and """
         """"N" = '.5';"""),
        ("DELETE", """delete from "INV"."T" where "ID" = '1' and "V" IS NULL and "N" = '.5';"""),
        ("COMMIT", "commit;"),
    ]  # fmt: skip
    assert {row[4].hex() for row in rows} == {transaction.xid}
    assert len({row[5] for row in rows[1:-1]}) == 1
    scns = [row[6] for row in rows]
    assert scns == sorted(scns)


def test_transactions_are_interleaved_and_rolled_back(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    first, second = oracle_database.server.begin(), oracle_database.server.begin()
    first.insert("INV.T", ID=1)
    second.insert("INV.T", ID=2)
    first.savepoint("here")
    first.update("INV.T", {"ID": 1}, V="lost")
    first.rollback_to("here")
    second.rollback()
    first.commit()
    rows = [
        (row[0], row[2], "first" if row[4].hex() == first.xid else "second")
        for row in mined(session)
    ]
    assert rows == [
        ("START", 0, "first"), ("INSERT", 0, "first"), ("START", 0, "second"),
        ("INSERT", 0, "second"), ("UPDATE", 0, "first"), ("UPDATE", 1, "first"),
        ("DELETE", 1, "second"), ("ROLLBACK", 0, "second"), ("COMMIT", 0, "first"),
    ]  # fmt: skip
    assert [row["ID"] for row in oracle_database.server.rows("INV.T")] == ["1"]


def test_a_long_statement_is_in_several_rows(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.T", ID=1, V="é'" * 1900)
    parts = [row for row in mined(session) if row[0] == "INSERT"]
    assert [row[3] for row in parts] == [1] * (len(parts) - 1) + [0]
    assert len(parts) > 1
    whole = "".join(row[1] for row in parts)
    assert whole.count("é''") == 1900


def test_logminer_wants_its_session_in_order(session: driver.OracleConnection) -> None:
    start = sql.start_logmnr("online_catalog")
    contents = sql.contents(READ, redo_conditions.contents_condition(None))
    assert refused(session, sql.END_LOGMNR()) == 1307
    assert refused(session, contents, low=0, high=1) == 1306
    assert refused(session, start, first=1, last=2) == 1292
    assert refused(session, sql.ADD_LOGFILE(), name="/nowhere") == 1284
    add_logs(session)
    assert refused(session, start, first=2_000_000, last=1_000_000) == 1281
    ((name, *_),) = run(session, sql.ONLINE_LOGS())
    assert run(session, sql.SESSION_LOGS()) == [(name,)]
    assert refused(session, sql.ADD_LOGFILE(), name=name) == 1289
    run(session, sql.REMOVE_LOGFILE(), name=name)
    assert refused(session, sql.REMOVE_LOGFILE(), name=name) == 1290
    run(session, sql.set_container(PDB))
    assert refused(session, sql.ADD_LOGFILE(), name=name) == 65040
    assert refused(session, sql.set_container("NOWHERE")) == 65011


def test_a_log_that_is_missing_or_used_again_is_an_error(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    server = oracle_database.server
    start = sql.start_logmnr("online_catalog")
    online = run(session, sql.ONLINE_LOGS())[0][0]
    run(session, sql.ADD_LOGFILE(), name=online)
    server.apply([{"switch": 1}, {"switch": 1}, {"switch": 1}])
    ((high,),) = run(session, sql.CURRENT_SCN())
    assert refused(session, start, first=999_000, last=high) == 310
    run(session, sql.REMOVE_LOGFILE(), name=online)
    run(session, sql.ADD_LOGFILE(), name=run(session, sql.ONLINE_LOGS())[0][0])
    assert refused(session, start, first=999_000, last=high) == 1291
    for name, *_ in run(session, sql.ARCHIVED_LOGS(), scn=0, **DESTINATION):
        run(session, sql.ADD_LOGFILE(), name=name)
    run(session, start, first=999_000, last=high)
    server.apply([{"delete_logs": [1]}])
    assert run(session, sql.DELETED_LOGS(), scn=999_500, **DESTINATION) == [(1, 1)]
    assert len(run(session, sql.ARCHIVED_LOGS(), scn=0, **DESTINATION)) == 2


def test_filters_are_really_applied(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    oracle_database.create_table("OTHER.T", *COLUMNS, key=["ID"])
    oracle_database.create_table("INV.U", *COLUMNS, key=["ID"])
    with oracle_database.transaction(user="ANNE", client="one") as transaction:
        transaction.insert("INV.T", ID=1)
        transaction.insert("INV.U", ID=1)
        transaction.insert("OTHER.T", ID=1)

    def tables(*filters: list[str]) -> list[str]:
        every = [condition for part in filters for condition in part]
        condition = redo_conditions.contents_condition(PDB, every)
        rows = [row for row in mined(session, condition) if row[0] == "INSERT"]
        return [row[1].split("(")[0].removeprefix("insert into ") for row in rows]

    everything = ['"INV"."T"', '"INV"."U"', '"OTHER"."T"']
    assert tables() == everything
    assert tables(redo_conditions.schema_filter(["inv"], [], regex=False)) == everything[:2]
    assert tables(redo_conditions.schema_filter([], ["INV"], regex=True)) == everything[2:]
    assert tables(redo_conditions.table_filter(["INV.T"], [], regex=False)) == everything[:1]
    assert tables(redo_conditions.table_filter([], [r"inv\..*"], regex=True)) == everything[2:]
    assert tables(redo_conditions.user_filter("USERNAME", ["ANNE"], [])) == everything
    assert tables(redo_conditions.user_filter("USERNAME", [], ["anne"])) == []
    assert tables(redo_conditions.user_filter("CLIENT_ID", ["two"], [])) == []
    assert tables(redo_conditions.default_filter(["OTHER"])) == everything[:2]
    assert mined(session, redo_conditions.contents_condition("ELSEWHERE")) == []


def test_committed_data_comes_by_the_order_of_commits(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    first, second = oracle_database.server.begin(), oracle_database.server.begin()
    first.insert("INV.T", ID=1)
    second.insert("INV.T", ID=2)
    open_one = oracle_database.server.begin()
    open_one.insert("INV.T", ID=3)
    second.commit()
    first.commit()
    ((high,),) = run(session, sql.CURRENT_SCN())
    add_logs(session)
    run(session, sql.start_logmnr("online_catalog", committed=True), first=999_000, last=high)
    contents = sql.contents(READ, redo_conditions.contents_condition(PDB))
    rows = run(session, contents, low=0, high=high)
    numbers = [row[4].hex() for row in rows]
    assert numbers == [second.xid] * 3 + [first.xid] * 3
    assert [row[0] for row in rows] == ["START", "INSERT", "COMMIT"] * 2


def test_rows_are_seen_as_they_were(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.T", ID=1, V="a", N="12345678901234567890.125")
    ((before,),) = run(session, sql.CURRENT_SCN())
    with oracle_database.transaction() as transaction:
        transaction.update("INV.T", {"ID": 1}, V="b")
        transaction.insert("INV.T", ID=10)
    select = 'SELECT "t"."ID", "t"."V" FROM "INV"."T"{} "t" WHERE "t"."ID" > 0 ORDER BY "t"."ID"'
    assert run(session, select.format(sql.as_of(before))) == [(1, "a")]
    assert run(session, select.format("")) == [(1, "b"), (10, None)]
    page = " OFFSET 1 ROWS FETCH FIRST 5 ROWS ONLY"
    assert run(session, select.format("") + page) == [(10, None)]
    assert refused(session, select.format(sql.as_of(9_999_999))) == 8181
    oracle_database.change(oldest_scn=before + 1)
    assert refused(session, select.format(sql.as_of(before))) == 1555
    oracle_database.server.ddl("ALTER TABLE INV.T ADD (X NUMBER(3))")
    assert refused(session, select.format(sql.as_of(before + 1))) == 1466


def test_numbers_keep_all_digits_where_they_are_asked_for_as_texts(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    number = "12345678901234567890123456789.125"
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.T", ID=1, N=number)
    cursor = session.cursor()
    cursor.outputtypehandler = lambda cursor, column: cursor.var(str)
    assert cursor.execute('SELECT "t"."N" FROM "INV"."T" "t"').fetchall() == [(number,)]


def test_rows_come_in_frames_of_the_drivers_own_class(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        for key in range(5):
            transaction.insert("INV.T", ID=key)
    schema = pa.schema([("key", pa.int64()), ("text", pa.string())])
    batches = session.fetch_df_batches(
        'SELECT "t"."ID", "t"."V" FROM "INV"."T" "t"', size=2, requested_schema=schema
    )
    parts = list(batches)
    assert {type(part) for part in parts} == {oracledb.DataFrame}
    assert [part.num_rows() for part in parts] == [2, 2, 1]
    assert all(pa.table(part).schema == schema for part in parts)


def test_errors_come_when_they_are_asked_for(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    oracle_database.server.apply(
        [{"error": 1291, "when": "START_LOGMNR", "times": 2}, {"error": 4030, "when": "FETCH"}]
    )
    assert refused(session, sql.CURRENT_SCN()) == 4030
    start = sql.start_logmnr("online_catalog")
    assert refused(session, start, first=1, last=2) == 1291
    assert refused(session, start, first=1, last=2) == 1291
    assert refused(session, start, first=1, last=2) == 1292


def test_nobody_gets_in_with_another_password(oracle_stand_in: OracleServer) -> None:
    with pytest.raises(driver.DatabaseError) as error:
        driver.connect(
            user="x", password="wrong", dsn=f"{oracle_stand_in.host}:{oracle_stand_in.port}/S"
        )
    assert error.value.args[0].code == 1017
    assert "wrong" not in str(error.value)


def test_it_outlives_whoever_reads_from_it(oracle_database: OracleDatabase) -> None:
    oracle_database.create_table("T", *COLUMNS, key=["ID"])
    server = oracle_database.server
    code = (
        "import sys\nfrom headrace_demo.oracle import driver\n"
        f"driver.connect(user='a', password={server.password!r}, "
        f"dsn='{server.host}:{server.port}/S')\nprint('in', flush=True)\nsys.stdin.read()\n"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert reader.stdout is not None
    assert reader.stdout.readline() == b"in\n"
    os.kill(reader.pid, signal.SIGKILL)
    reader.wait()
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.T", ID=1)
    assert [row["ID"] for row in server.rows("INV.T")] == ["1"]


def test_sessions_break_while_it_is_shut(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    with oracle_database.server.shut():
        with pytest.raises(driver.DatabaseError, match="DPY-4011"):
            run(session, sql.CURRENT_SCN())
        with pytest.raises(driver.DatabaseError, match="ORA-12528"):
            connection_to(oracle_database.server)
    assert run(connection_to(oracle_database.server), sql.CURRENT_SCN())


def test_a_cluster_has_logs_of_several_threads() -> None:
    with OracleServer() as server:
        server.load({"database": {"threads": [1, 2]}})
        database = OracleDatabase(server)
        database.create_table("T", *COLUMNS, key=["ID"])
        with database.transaction(thread=2) as transaction:
            transaction.insert("INV.T", ID=1)
        connection = connection_to(server)
        run(connection, sql.SESSION_FORMATS())
        assert [row[:2] for row in run(connection, sql.THREADS())] == [(1, "OPEN"), (2, "OPEN")]
        assert [row[0] for row in mined(connection)] == ["START", "INSERT", "COMMIT"]
        server.apply([{"close_thread": 2}])
        assert [row[:2] for row in run(connection, sql.THREADS())] == [(1, "OPEN"), (2, "CLOSED")]


def test_a_session_without_the_logs_of_an_open_thread_lacks_redo() -> None:
    with OracleServer() as server:
        server.load({"database": {"threads": [1, 2]}})
        database = OracleDatabase(server)
        database.create_table("T", *COLUMNS, key=["ID"])
        with database.transaction(thread=2) as transaction:
            transaction.insert("INV.T", ID=1)
        connection = connection_to(server)
        run(connection, sql.SESSION_FORMATS())
        (log,) = (row[0] for row in run(connection, sql.ONLINE_LOGS()) if row[3] == 1)
        run(connection, sql.ADD_LOGFILE(), name=log)
        binds = {"first": server.call("scn") - 1, "last": server.call("scn")}
        with pytest.raises(driver.DatabaseError, match="ORA-01291"):
            run(connection, sql.start_logmnr("online_catalog"), **binds)
        server.apply([{"close_thread": 2}])
        run(connection, sql.start_logmnr("online_catalog"), **binds)


@pytest.mark.parametrize(
    ("supplemental", "update"),
    [
        ("ALL COLUMN LOGGING", """where "ID" = '1' and "V" = 'a' and "N" IS NULL;"""),
        ("PRIMARY KEY LOGGING", """where "ID" = '1' and "V" = 'a';"""),
        (None, """where "V" = 'a';"""),
    ],
)
def test_redo_has_columns_by_supplemental_logging(
    session: driver.OracleConnection,
    oracle_database: OracleDatabase,
    supplemental: str | None,
    update: str,
) -> None:
    columns = ("ID NUMBER(9,0) NOT NULL", "V VARCHAR2(9)", "N NUMBER(9,0)")
    oracle_database.create_table("L", *columns, key=["ID"], supplemental=supplemental)
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.L", ID=1, V="a")
        transaction.update("INV.L", {"ID": 1}, V="b")
        transaction.delete("INV.L", ID=1)
    _, changed, deleted = (
        row[1] for row in mined(session) if row[0] in ("INSERT", "UPDATE", "DELETE")
    )
    assert changed == f"""update "INV"."L" set "V" = 'b' {update}"""
    assert deleted == """delete from "INV"."L" where "ID" = '1' and "V" = 'b' and "N" IS NULL;"""


def test_the_flush_table_and_signals_are_written_with_redo(
    session: driver.OracleConnection, oracle_database: OracleDatabase
) -> None:
    flush = sql.quoted("LOG_MINING_FLUSH")
    assert run(session, sql.FLUSH_TABLE_COUNT(), name="LOG_MINING_FLUSH") == [(0,)]
    run(session, sql.FLUSH_TABLE_CREATE(flush_table=flush))
    run(session, sql.FLUSH_TABLE_INSERT(flush_table=flush), scn=0)
    session.commit()
    run(session, sql.FLUSH_TABLE_UPDATE(flush_table=flush), scn=77)
    assert run(session, sql.FLUSH_TABLE_ROWS(flush_table=flush)) == [(1,)]
    session.rollback()
    oracle_database.create_table(
        "SIGNALS", "ID VARCHAR2(42) NOT NULL", "TYPE VARCHAR2(32)", "DATA VARCHAR2(2048)"
    )
    table = sql.quoted("INV", "SIGNALS")
    run(session, sql.INSERT_SIGNAL(table=table), id="a", kind="log", data="{}")
    session.commit()
    assert oracle_database.server.rows("INV.SIGNALS") == [{"ID": "a", "TYPE": "log", "DATA": "{}"}]
    run(session, sql.DELETE_SIGNAL(table=table, name=sql.quoted("ID")), id="a")
    session.commit()
    assert oracle_database.server.rows("INV.SIGNALS") == []


MANUAL = """CREATE TABLE INVENTORY.customers (
  id NUMBER(9,0) GENERATED BY DEFAULT ON NULL AS IDENTITY (START WITH 1001) NOT NULL PRIMARY KEY,
  first_name VARCHAR2(255) NOT NULL,
  last_name VARCHAR2(255) NOT NULL,
  email VARCHAR2(255) NOT NULL UNIQUE
)"""


def test_the_table_of_debeziums_manual_is_made_and_numbers_its_rows(
    oracle_database: OracleDatabase,
) -> None:
    server = oracle_database.server
    server.ddl(MANUAL.replace(" UNIQUE", ""))
    with oracle_database.transaction() as transaction:
        for name in ("Sally", "George"):
            transaction.insert("INVENTORY.CUSTOMERS", FIRST_NAME=name, LAST_NAME="x", EMAIL=name)
        transaction.insert("INVENTORY.CUSTOMERS", ID=7, FIRST_NAME="a", LAST_NAME="x", EMAIL="y")
    rows = server.rows("INVENTORY.CUSTOMERS")
    assert [row["ID"] for row in rows] == ["1001", "1002", "7"]


def test_nothing_private_of_the_driver_is_imported() -> None:
    imports = [
        node
        for node in ast.walk(ast.parse(Path(driver.__file__).read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("oracledb")
    ]
    assert [node.module for node in imports] == ["oracledb"]
    assert not [name.name for node in imports for name in node.names if name.name[0] == "_"]
