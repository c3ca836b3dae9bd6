"""Bundles that were sent in, replayed: what the connectors expect of rows, types and redo holds for
what a server answered. `stand-in-*.zip` are of the stand-ins, for the form: `record` makes them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.streaming.lobs.frames import CODES
from headrace.connectors.oracle.streaming.redo_rows import (
    OPERATION_CODE,
    REDO,
    SQL_REDO,
    StatementParts,
    numbers,
)
from headrace.connectors.oracle.streaming.windows.logs import RedoLog, RedoThread
from headrace.connectors.oracle.support import kit
from headrace.support.archive import VERSION, read

BUNDLES = sorted((Path(__file__).parent / "bundles").glob("*.zip"))
_DERBY = -20001
KINDS = {"insert", "update", "delete", "create", "alter", "drop", "truncate", "set", "commit"}
pytestmark = pytest.mark.parametrize("bundle", BUNDLES, ids=lambda file: file.stem)


def rows_of(records: list[Mapping[str, Any]], name: str) -> Iterator[list[Any]]:
    for record in records:
        if record["name"] == name:
            for row in record.get("rows", ()):
                yield [cell[1] if len(cell) > 1 else None for cell in row]


def test_a_bundle_says_of_what_it_is(bundle: Path) -> None:
    manifest, records = read(bundle)
    assert manifest["bundle"] == VERSION
    assert manifest["connector"] in ("oracle", "db2")
    assert records


def test_no_statement_was_refused_but_for_rights_and_views(bundle: Path) -> None:
    """ORA-00942, ORA-01031; SQL0204N, SQL0551N, and what Derby says instead. A workload tries what
    a server may not have."""
    _, records = read(bundle)
    errors = [
        (record["name"], record["error"])
        for record in records
        if "error" in record and not record["name"].startswith("kit_")
    ]
    assert [error for error in errors if not is_passed(*error)] == []


def is_passed(name: str, error: Mapping[str, Any]) -> bool:
    """Whether the connector expects an error; a text that is cut (O20) is no text of the driver's,
    and Derby has no SYSIBMADM, whose columns it takes for syntax."""
    if error.get("code") == _DERBY:
        return error["state"] in ("42Y07", "42X05") or (name, error["state"]) == (
            "settings",
            "42X01",
        )
    if name == "contents" and "UnicodeDecodeError" in error.values():
        return True
    return error.get("code") in (942, 1031, -204, -551)


def test_rows_of_the_views_of_logs_are_read(bundle: Path) -> None:
    manifest, records = read(bundle)
    if manifest["connector"] != "oracle":
        pytest.skip("it has no such logs")
    logs = [
        RedoLog.of(dict(zip(sql.LOGS, row, strict=True)))
        for name in ("online_logs", "archived_logs")
        for row in rows_of(list(records), name)
    ]
    threads = [RedoThread.of(row) for row in rows_of(list(records), "threads")]
    assert logs
    assert threads
    assert all(log.first < log.following for log in logs)
    assert {log.thread for log in logs} <= {thread.number for thread in threads}


def test_the_servers_clock_is_shown(bundle: Path) -> None:
    manifest, records = read(bundle)
    if manifest["connector"] != "db2":
        pytest.skip("its clock is a text")
    places = {
        record["name"]: [column[0] for column in record.get("columns", ())] for record in records
    }
    distances = [
        row[places[name].index("SERVER_ZONE")]
        for name in ("time_zone", "capture_progress")
        for row in rows_of(list(records), name)
    ]
    assert len(distances) >= 3
    for distance in distances:
        hours, rest = divmod(abs(int(float(distance))), 10_000)
        assert hours <= 14
        assert rest in (0, 1500, 3000, 4500), "minutes and seconds"


@pytest.mark.parametrize("name", ["redo.arrow", "workload.arrow"])
def test_statements_of_the_redo_are_whole_and_begin_with_a_word_of_sql(
    bundle: Path, name: str
) -> None:
    with zipfile.ZipFile(bundle) as archive:
        if name not in archive.namelist():
            pytest.skip("there is no such redo in it")
        table = pa.ipc.open_stream(archive.read(name)).read_all()
    assert table.schema == REDO
    parts = StatementParts()
    for batch in table.to_batches():
        whole = parts.whole(batch)
        codes = numbers(whole, OPERATION_CODE)
        for code, text in zip(codes, whole.column(SQL_REDO).to_pylist(), strict=True):
            if code not in CODES:  # parts of large values
                assert text is None or text.split(maxsplit=1)[0].lower().rstrip(";") in KINDS


def test_each_table_of_a_workload_has_rows_or_was_refused(bundle: Path) -> None:
    manifest, records = read(bundle)
    if not any(record["name"].startswith("kit_") for record in records):
        pytest.skip("it has no workload")
    with zipfile.ZipFile(bundle) as archive:
        questions = json.loads(archive.read("questions.json"))
    answers = {name: question["answer"] for name, question in questions.items()}
    assert [name for name, question in questions.items() if "error" in question] == []
    check = {"oracle": assert_oracle_answers, "db2": assert_db2_answers}[manifest["connector"]]
    check(answers, records)


def assert_oracle_answers(answers: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
    """Tables that the server's version has; `rows` are those of their redo."""
    (server,) = (record["facts"] for record in records if record["name"] == "server")
    version = tuple(map(int, server["version"].split(".")))
    tables = dict(of_tables(answers))
    expected_tables = {table for table in tables if kit.LEAST.get(table, ()) <= version}
    assert {
        "OBJECTS",
        "INVISIBLES",
        "TIMES",
        "XMLS",
        "LOBS",
        "SAVEPOINTS",
        "ALTERED",
    } <= expected_tables
    for table in expected_tables:
        assert tables[table]["rows"] or tables[table]["refused"], table
    for name in ("O20", "O21"):
        assert isinstance(answers[name]["workload"], int), name
    assert answers["O19"]["after_a_switch"]
    assert answers["O22"]["server"]


def of_tables(answer: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The answers of tables, by their names."""
    for name, content in answer.items() if isinstance(answer, dict) else ():
        if isinstance(content, dict) and content.keys() >= {"rows", "refused"}:
            yield name, content
        else:
            yield from of_tables(content)


def assert_db2_answers(answers: Mapping[str, Any], _records: object) -> None:
    """A table has rows in its change table, or a registration of which Capture made what the answer
    shows, or it was refused."""
    started = answers["capstart"]
    changes = {
        "CHANGES": started["with_signal"],
        "UNSIGNALLED": started["without_signal"],
        "EXPRESSIONS": answers["expression_columns"],
        "KINDS": answers["kinds"],
        "LARGE": answers["D6"]["workload"],
    }
    refused = {
        answer["place"].rpartition(" ")[2]
        for answer in started["refused"]
        if answer["name"] in ("kit_table", "kit_register")
    }
    registered = {row["SOURCE_TABLE"].strip() for row in started["registrations"]}
    for table, rows in changes.items():
        assert rows or table in refused | registered, table
    if changes["CHANGES"]:
        assert answers["D1"]["workload"]
    assert answers["D1"]["server"]
    assert answers["D1"]["progress"]
    assert sum(answers["D6"]["states"].values()) >= 1
