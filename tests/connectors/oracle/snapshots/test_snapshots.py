"""Snapshots of the stand-in as of one SCN."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.connectors.oracle.reading import snapshot_source
from headrace.debezium.temporal import epoch_day
from headrace.errors import HeadraceError
from headrace.relational.history.records import HistoryRecord
from tests.connectors.harness import ConnectorReader
from tests.servers.oracle import PDB, OracleDatabase

pytestmark = pytest.mark.oracle
ROWS = 2500
EVERY = [(n // 3, f"b{n % 3}") for n in range(ROWS)]


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    """Tables with a key of two columns, without a key, and without rows."""
    oracle_database.create_table(
        "KEYED",
        "A NUMBER(9,0) NOT NULL",
        "B VARCHAR2(20) NOT NULL",
        "N NUMBER(9,2)",
        "AT TIMESTAMP(6)",
        key=["A", "B"],
        rows=[[a, b, f"{a}.5", "2020-01-01 00:00:00.25"] for a, b in EVERY],
    )
    oracle_database.create_table("KEYLESS", "T VARCHAR2(20)", rows=[["one"], ["two"]])
    oracle_database.create_table("LEER", "ID NUMBER(9,0) NOT NULL", key=["ID"])
    return oracle_database


def reader(database: OracleDatabase, **more: str) -> ConnectorReader:
    small = {
        "headrace_snapshot_chunk_bytes": "8192",
        "poll_interval_ms": "20",
        "errors_max_retries": "0",
    }
    return ConnectorReader(database.properties(**(small | more)))


def snapshot(run: ConnectorReader) -> list[dict[str, Any]]:
    """Micro-batches until the snapshot is over; its rows."""
    run.step_until(lambda: "epoch" in run.offsets[-1] and "snapshot" not in run.offsets[-1])
    return rows_of(run)


def rows_of(run: ConnectorReader) -> list[dict[str, Any]]:
    return [event for event in run.events() if event.get("op") == "r"]


def changes(run: ConnectorReader) -> list[dict[str, Any]]:
    return [event for event in run.events() if event.get("op")]


def keyed(rows: list[dict[str, Any]]) -> list[tuple[int, str]]:
    after = (row["after"] for row in rows if row["source"]["table"] == "KEYED")
    return [(row["A"], row["B"]) for row in after]


def test_every_row_is_read_once_as_of_one_scn_by_ranges_of_its_key(
    database: OracleDatabase,
) -> None:
    database.change(advances=False)
    scn = database.server.call("scn")
    run = reader(database, headrace_snapshot_threads="2")
    rows = snapshot(run)
    run.stop()
    assert sorted(keyed(rows)) == EVERY
    assert len(rows) == ROWS + 2
    (first,) = (row for row in rows if row["source"]["snapshot"] == "first")
    assert first["source"] | {"ts_us": 0, "ts_ns": 0, "version": ""} == {
        "version": "", "connector": "oracle", "name": "headrace", "ts_ms": 1704067200000,
        "snapshot": "first", "db": PDB, "sequence": None, "ts_us": 0, "ts_ns": 0,
        "schema": "INV", "table": "KEYED", "txId": None, "scn": str(scn), "commit_scn": None,
        "lcr_position": None, "rs_id": None, "ssn": 0, "redo_thread": None, "user_name": None,
        "redo_sql": None, "row_id": None, "commit_ts_ms": None, "start_scn": None,
        "start_ts_ms": None, "txSeq": None,
    }  # fmt: skip
    assert {row["source"]["scn"] for row in rows} == {str(scn)}
    assert first["after"]["AT"] == 1577836800250000
    markers = [row["source"]["snapshot"] for row in rows]
    assert (markers.count("first"), markers.count("last")) == (1, 1)
    chunks = [c for o in run.offsets for c in (o.get("snapshot") or {}).get("chunks", ())]
    assert len(chunks) > 3


def test_columns_of_object_types_are_in_the_rows_without_values(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table(
        "PLACES",
        "ID NUMBER(9,0) NOT NULL",
        "SHAPE SDO_GEOMETRY",
        "NAME VARCHAR2(9)",
        key=["ID"],
        rows=[[1, "somewhere", "a"], [2, None, "b"]],
    )
    run = reader(oracle_database)
    rows = snapshot(run)
    run.stop()
    assert [row["after"] for row in rows] == [
        {"ID": 1, "SHAPE": None, "NAME": "a"},
        {"ID": 2, "SHAPE": None, "NAME": "b"},
    ]


def test_times_before_christ_keep_their_years(oracle_database: OracleDatabase) -> None:
    """This holds for keys, too."""
    days = ["-4712-01-01", "-0044-03-15", "2020-01-01"]
    oracle_database.create_table(
        "DAYS",
        "DAY DATE NOT NULL",
        "AT TIMESTAMP(3) WITH TIME ZONE",
        key=["DAY"],
        rows=[[day, f"{day} 12:00:00.5 +02:00"] for day in days],
    )
    run = reader(oracle_database, headrace_snapshot_threads="2")
    rows = [row["after"] for row in snapshot(run)]
    run.stop()
    years = [(-4711, 1, 1), (-43, 3, 15), (2020, 1, 1)]
    assert sorted((row["DAY"], row["AT"]) for row in rows) == [
        (epoch_day(*years[0]) * 86_400_000, "-4711-01-01T12:00:00.500+02:00"),
        (epoch_day(*years[1]) * 86_400_000, "-0043-03-15T12:00:00.500+02:00"),
        (epoch_day(*years[2]) * 86_400_000, "2020-01-01T12:00:00.500+02:00"),
    ]


def test_statements_are_read_of_those_tables_whose_records_somebody_sees(
    database: OracleDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    history = str(tmp_path / "history.jsonl")
    unseen = {"include_schema_changes": "false"}
    captured = {"schema_history_internal_store_only_captured_tables_ddl": "true"}
    file_history = {"schema_history_internal_file_filename": history}
    counts = []
    for more in (unseen, file_history, captured):
        before = database.server.call("counted").get("table_ddl", 0)
        run = reader(database, table_include_list="INV.KEYED", **more)
        snapshot(run)
        run.stop()
        counts.append(database.server.call("counted").get("table_ddl", 0) - before)
    assert counts == [0, 3, 1]
    assert "store.only.captured.tables.ddl" not in caplog.text


def test_thousands_of_tables_that_are_not_captured_are_warned_of(
    database: OracleDatabase, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_source, "_MANY_TABLES", 2)
    run = reader(database, table_include_list="INV.KEYED")
    snapshot(run)
    run.stop()
    assert "has 3 tables, of which 2 are not captured" in caplog.text
    assert "schema.history.internal.store.only.captured.tables.ddl=true" in caplog.text


def test_tables_whose_rows_are_not_in_the_database_are_not_read(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", "ID NUMBER(9,0) NOT NULL", key=["ID"], rows=[[1]])
    oracle_database.create_table("FILES", "ID NUMBER(9,0)", rows=[[1]], kind="EXTERNAL")
    run = reader(oracle_database)
    rows = snapshot(run)
    run.stop()
    assert [row["source"]["table"] for row in rows] == ["T"]


def test_the_tables_are_emitted_before_their_rows_and_recorded(
    database: OracleDatabase, tmp_path: Path
) -> None:
    file = tmp_path / "history.jsonl"
    run = reader(database, schema_history_internal_file_filename=str(file))
    snapshot(run)
    run.stop()
    schema_changes = [e for e in run.events() if "tableChanges" in e]
    assert [e["source"]["table"] for e in schema_changes] == ["KEYED", "KEYLESS", "LEER"]
    assert all(e["sequence"] < rows_of(run)[0]["sequence"] for e in schema_changes)
    assert {(e["databaseName"], e["schemaName"]) for e in schema_changes} == {(PDB, "INV")}
    assert 'CREATE TABLE "INV"."KEYED"' in schema_changes[0]["ddl"]
    assert schema_changes[0]["tableChanges"][0]["id"] == f'"{PDB}"."INV"."KEYED"'
    records = [HistoryRecord.from_line(line) for line in file.read_text().splitlines()]
    assert [record.changes[0].table.id for record in records if record and record.changes] == [
        (PDB, "INV", "KEYED"), (PDB, "INV", "KEYLESS"), (PDB, "INV", "LEER"),
    ]  # fmt: skip
    assert records[0] is not None
    assert [name for name, _ in records[0].changes[0].table.attributes] == [
        "OBJECT_ID", "DATA_OBJECT_ID",
    ]  # fmt: skip


def test_the_tables_are_emitted_again_as_they_were_when_the_range_is_read_again(
    oracle_database: OracleDatabase, tmp_path: Path
) -> None:
    oracle_database.create_table("A", "ID NUMBER(9,0) NOT NULL", key=["ID"])
    run = reader(
        oracle_database,
        snapshot_mode="no_data",
        schema_history_internal_file_filename=str(tmp_path / "history.jsonl"),
    )
    run.step_until(lambda: "snapshot" in run.offsets[-1])
    end = run.plan(30)
    first = [record["value"] for record in run.read(end)]
    run.restart()
    oracle_database.create_table("B", "ID NUMBER(9,0) NOT NULL", key=["ID"])
    again = [record["value"] for record in run.read(end)]
    run.stop()

    def tables_of(values: list[Any]) -> list[Any]:
        return [(value["ddl"], value["tableChanges"]) for value in map(json.loads, values)]

    assert tables_of(again) == tables_of(first)
    assert [changes[0]["id"] for _, changes in tables_of(first)] == [f'"{PDB}"."INV"."A"']


def test_no_data_emits_tables_and_reads_no_rows_and_initial_only_no_changes(
    database: OracleDatabase,
) -> None:
    run = reader(database, snapshot_mode="no_data")
    assert snapshot(run) == []
    assert len([e for e in run.events() if "tableChanges" in e]) == 3
    with database.transaction() as transaction:
        transaction.insert("INV.KEYLESS", T="three")
    run.step_until(lambda: any(e.get("op") == "c" for e in run.events()))
    run.stop()
    assert len([e for e in run.events() if "tableChanges" in e]) == 3
    only = reader(database, snapshot_mode="initial_only", include_schema_changes="false")
    assert len(snapshot(only)) == ROWS + 3
    with database.transaction() as transaction:
        transaction.insert("INV.KEYLESS", T="four")
    assert not any(only.step() for _ in range(5))
    only.stop()


def test_a_snapshot_continues_after_any_kill_as_of_the_same_scn_without_a_key_too(
    database: OracleDatabase,
) -> None:
    run = reader(database, include_schema_changes="false")
    while len(run.offsets) < 3 or "snapshot" in run.offsets[-1]:
        run.step()
        run.restart()
        with database.transaction() as transaction:
            transaction.insert("INV.KEYLESS", T="later")
    run.stop()
    rows = rows_of(run)
    assert sorted(keyed(rows)) == EVERY
    assert [row["after"]["T"] for row in rows if "T" in row["after"]] == ["one", "two"]
    assert {offset["epoch"] for offset in run.offsets[1:]} == {1}


def forget_undo(database: OracleDatabase) -> None:
    """Rows can be seen as of the current SCN at the earliest."""
    with database.transaction() as transaction:
        transaction.insert("INV.LEER", ID=database.server.call("scn"))
    database.change(oldest_scn=database.server.call("scn"))


def test_rows_whose_scn_is_gone_from_undo_are_read_as_of_a_later_one(
    database: OracleDatabase,
) -> None:
    run = reader(database, table_include_list=r"INV\.KEYED", include_schema_changes="false")
    run.step_until(lambda: run.offsets[-1].get("snapshot", {}).get("chunks"))
    run.restart()
    end = run.plan()  # its chunks are of the old SCN
    forget_undo(database)
    run.records += run.read(end)
    run.offsets.append(end)
    assert run.connector is not None
    with pytest.raises(HeadraceError) as lost:
        run.step()
    assert (lost.value.code, lost.value.retriable) == ("oracle.snapshot_too_old", True)
    assert sorted(keyed(snapshot(run))) == EVERY
    run.stop()


def test_a_table_without_key_whose_scn_is_gone_begins_the_snapshot_again(
    database: OracleDatabase,
) -> None:
    run = reader(database, include_schema_changes="false")
    run.step_until(lambda: run.offsets[-1].get("snapshot", {}).get("chunks"))
    run.restart()
    forget_undo(database)
    rows = snapshot(run)
    run.stop()
    assert run.offsets[-1]["epoch"] == 2
    last = [row for row in rows if row["sequence"].startswith("0002")]
    assert sorted(keyed(last)) == EVERY
    assert [row["after"]["T"] for row in last if "T" in row["after"]] == ["one", "two"]


def test_a_task_whose_scn_is_gone_for_good_says_what_to_do(database: OracleDatabase) -> None:
    run = reader(database, table_include_list=r"INV\.KEYLESS", include_schema_changes="false")
    run.step()
    end = run.plan()
    forget_undo(database)
    with pytest.raises(HeadraceError, match="UNDO_RETENTION") as refused:
        run.read(end)
    run.stop()
    assert (refused.value.code, refused.value.retriable) == ("oracle.snapshot_too_old", False)
    assert "with a new checkpoint" in refused.value.remedy


def test_a_snapshot_waits_for_an_scn_after_the_last_definition(database: OracleDatabase) -> None:
    database.server.apply([{"error": 1466, "when": "AS OF SCN", "times": 2}])
    run = reader(database, table_include_list=r"INV\.KEYLESS")
    assert len(snapshot(run)) == 2
    run.stop()


def test_a_tables_own_statement_gives_its_rows_and_what_it_lacks_is_null(
    database: OracleDatabase,
) -> None:
    prefix = "snapshot.select.statement.overrides"
    run = ConnectorReader(
        database.properties(snapshot_include_collection_list=rf"{PDB}\.INV\.KEYED")
        | {
            prefix: "INV.KEYED",
            f"{prefix}.INV.KEYED": 'SELECT B, A, AT FROM "INV"."KEYED"[now] WHERE A < 2',
            "internal.snapshot.enhance.predicate.scn": "[now]",
        }
    )
    rows = snapshot(run)
    run.stop()
    assert sorted(keyed(rows)) == EVERY[:6]
    assert {row["after"]["N"] for row in rows} == {None}
    assert {row["after"]["AT"] for row in rows} == {1577836800250000}


def test_what_changes_while_rows_are_read_comes_after_them(database: OracleDatabase) -> None:
    run = reader(database, table_include_list=r"INV\.KEYED")
    run.step_until(lambda: run.offsets[-1].get("snapshot", {}).get("chunks"))
    with database.transaction() as transaction:
        transaction.delete("INV.KEYED", A=833)
        transaction.update("INV.KEYED", {"A": 0}, N=7)
        transaction.insert("INV.KEYED", A=900, B="new", N=1)
    run.step_until(lambda: any(e["op"] == "c" for e in changes(run)))
    run.stop()
    assert len(rows_of(run)) == ROWS
    state: dict[tuple[int, str], str | None] = {}
    for event in changes(run):
        key = event["key"]["A"], event["key"]["B"]
        if event["after"] is None:
            del state[key]
        else:
            state[key] = event["after"]["N"]
    now = {(int(row["A"] or 0), row["B"]) for row in database.server.rows("INV.KEYED")}
    assert set(state) == now
    assert len({state[0, f"b{n}"] for n in range(3)}) == 1


@pytest.mark.parametrize(
    ("mode", "names"), [("skip", ["later"]), ("transaction_view_only", ["before", "later"])]
)
def test_transactions_that_are_open_are_captured_whole_where_they_are_looked_for(
    database: OracleDatabase, mode: str, names: list[str]
) -> None:
    opened = database.server.begin()
    opened.insert("INV.KEYLESS", T="before")
    name = "internal_log_mining_transaction_snapshot_boundary_mode"
    run = reader(database, table_include_list=r"INV\.KEYLESS", **{name: mode})
    assert [row["after"]["T"] for row in snapshot(run)] == ["one", "two"]
    opened.insert("INV.KEYLESS", T="later")
    opened.commit()

    def created() -> list[str]:
        return [event["after"]["T"] for event in changes(run) if event["op"] == "c"]

    run.step_until(lambda: "later" in created())
    run.stop()
    assert created() == names


@pytest.mark.parametrize(("mode", "locks"), [("shared", 3), ("none", 0)])
def test_tables_are_locked_while_they_are_described(
    database: OracleDatabase, mode: str, locks: int
) -> None:
    before = database.server.call("counted")
    run = reader(database, snapshot_locking_mode=mode)
    run.step()
    run.stop()
    after = database.server.call("counted")
    assert after.get("lock", 0) - before.get("lock", 0) == locks
    assert after.get("unlock", 0) - before.get("unlock", 0) == bool(locks)


TYPES = {
    "ANY_NUMBER NUMBER": "-123456789012345678901234567890.5",
    "SMALL NUMBER(4,0)": "-7",
    "PRICE NUMBER(9,2)": "0.5",
    "HUNDREDS NUMBER(5,-2)": "1200",
    "REAL_NUMBER FLOAT(126)": "3.25",
    "SINGLE BINARY_FLOAT": "3.14",
    "DOUBLED BINARY_DOUBLE": "-1.5e300",
    "FIXED CHAR(5)": "ab",
    "TEXT VARCHAR2(40)": "it's ä 𝄞",
    "NATIONAL NVARCHAR2(40)": "ж 𝄞",
    "BYTES RAW(8)": "0AFF",
    "DAY DATE": "2018-03-27 12:34:56",
    "SECONDS TIMESTAMP(0)": "2018-03-27 12:34:56",
    "MICROS TIMESTAMP(6)": "2018-03-27 12:34:56.00789",
    "NANOS TIMESTAMP(9)": "2018-03-27 12:34:56.123456789",
    "ZONED TIMESTAMP(6) WITH TIME ZONE": "2018-03-27 01:34:56.007891 -11:00",
    "MONTHS INTERVAL YEAR(2) TO MONTH": "-3-6",
    "DAYS INTERVAL DAY(2) TO SECOND(6)": "-1 02:03:04.56",
}


@pytest.mark.parametrize("mode", ["precise", "string"])
def test_a_row_is_the_same_whether_a_snapshot_or_the_redo_has_it(
    oracle_database: OracleDatabase, mode: str
) -> None:
    values = {name.split()[0]: value for name, value in TYPES.items()}
    oracle_database.create_table(
        "T", "ID NUMBER(9,0) NOT NULL", *TYPES, key=["ID"],
        rows=[[1, *values.values()], [2, *([None] * len(TYPES))]],
    )  # fmt: skip
    run = reader(oracle_database, decimal_handling_mode=mode, interval_handling_mode=(
        "string" if mode == "string" else "numeric"
    ))  # fmt: skip
    snapshot(run)
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.T", ID=3, **values)
        transaction.insert("INV.T", ID=4)
    run.step_until(lambda: len(changes(run)) == 4)
    run.stop()
    first, empty, again, none = ({**e["after"], "ID": 0} for e in changes(run))
    assert first == again
    assert empty == none
    assert None not in first.values()
