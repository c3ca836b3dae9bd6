"""Bundles that were sent in, replayed: what the connectors expect of rows, types and redo holds for
what a server answered. `stand-in-*.zip` were recorded from the stand-ins, for the form."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
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
from headrace.support.archive import VERSION, read

BUNDLES = sorted((Path(__file__).parent / "bundles").glob("*.zip"))
KINDS = {"insert", "update", "delete", "create", "alter", "drop", "truncate", "set", "commit"}
pytestmark = pytest.mark.parametrize("bundle", BUNDLES, ids=lambda one: one.stem)


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
    passed = {942, 1031, -204, -551}
    _, records = read(bundle)
    errors = [
        record["error"]
        for record in records
        if "error" in record and not record["name"].startswith("kit_")
    ]
    assert [one for one in errors if one["code"] not in passed and "state" not in one] == []


def test_rows_of_the_views_of_logs_are_read(bundle: Path) -> None:
    _, records = read(bundle)
    logs = [
        RedoLog.of(dict(zip(sql.LOGS, row, strict=True)))
        for name in ("online_logs", "archived_logs")
        for row in rows_of(list(records), name)
    ]
    threads = [RedoThread.of(row) for row in rows_of(list(records), "threads")]
    if "oracle" in bundle.stem:
        assert logs
        assert threads
    assert all(log.first < log.following for log in logs)
    assert {log.thread for log in logs} <= {thread.number for thread in threads}


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


def test_each_open_question_has_an_answer_in_a_bundle_with_a_workload(bundle: Path) -> None:
    _, records = read(bundle)
    if not any(record["name"].startswith("kit_") for record in records):
        pytest.skip("it has no workload")
    with zipfile.ZipFile(bundle) as archive:
        questions = json.loads(archive.read("questions.json"))
    assert [name for name, one in questions.items() if one["answer"] in (None, {}, [])] in (
        [],
        ["kinds"],  # the stand-in for Db2 has none of these types
        ["expression_columns", "kinds"],  # nor does it register tables by SQL
    )
