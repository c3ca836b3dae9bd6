"""`headrace check` tries on Oracle what the stream does first: rows as Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracledb
import pyarrow as pa
import pytest

from headrace.connectors.oracle.checks.arrow_fetch import SCHEMA
from headrace.connectors.oracle.checks.database import check, require
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.streaming.redo_rows import REDO
from headrace.errors import HeadraceError
from headrace.findings import Finding
from headrace_demo.oracle import driver
from headrace_demo.oracle.driver import OracleConnection, frame_of
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    oracle_database.create_table("THINGS", "ID NUMBER(9,0) NOT NULL", key=["ID"])
    return oracle_database


def configured(database: OracleDatabase, **more: str) -> OracleConfig:
    return OracleConfig.parse(database.properties(**more))


def found(database: OracleDatabase, **more: str) -> dict[str, Finding]:
    return {one.code: one for one in check(configured(database, **more))}


def not_a_driver(*_: Any, **__: Any) -> None:
    raise TypeError("fetch_df_batches() got an unexpected keyword argument 'requested_schema'")


def of_an_old_server(*_: Any, **__: Any) -> Iterator[oracledb.DataFrame]:
    """The driver refuses a type, as python-oracledb does."""
    raise driver._error(0, "DPY-3038: database type cannot be converted to Apache Arrow type")


def of_other_frames(*_: Any, **__: Any) -> Iterator[object]:
    """A batch of PyArrow instead of the driver's own frames."""
    yield pa.RecordBatch.from_pylist([], SCHEMA)


def of_other_values(*_: Any, **__: Any) -> Iterator[oracledb.DataFrame]:
    yield frame_of(pa.RecordBatch.from_pylist([{"SCN": 1}], SCHEMA))


def test_the_row_that_is_fetched_has_every_type_of_the_redo() -> None:
    assert set(SCHEMA.types) == set(REDO.types)


def test_a_driver_that_gives_arrow_is_named_with_its_version(database: OracleDatabase) -> None:
    finding = found(database)["oracle.arrow_fetch"]
    assert finding.level == "ok"
    assert "headrace_demo.oracle.driver" in finding.message


@pytest.mark.parametrize(
    ("fetch", "why"),
    [
        (not_a_driver, "requested_schema"),
        (of_an_old_server, "DPY-3038"),
        (of_other_frames, "TypeError"),
        (of_other_values, "differ"),
    ],
)
def test_a_driver_that_gives_no_arrow_is_an_error_of_check_and_of_each_start(
    database: OracleDatabase, monkeypatch: pytest.MonkeyPatch, fetch: Any, why: str
) -> None:
    monkeypatch.setattr(OracleConnection, "fetch_df_batches", fetch)
    findings = found(database)
    error = findings["oracle.arrow_fetch"]
    assert error.level == "error"
    assert why in error.message
    assert "19.3.0.0.0" in error.message
    assert "pip install --upgrade oracledb" in error.remedy
    assert "oracle.table_rights" in findings
    with pytest.raises(HeadraceError) as refused:
        require(configured(database), None)
    assert (refused.value.code, refused.value.retriable) == ("oracle.arrow_fetch", False)


def test_a_lost_connection_and_a_view_that_is_hidden_keep_their_own_codes(
    database: OracleDatabase,
) -> None:
    database.server.apply([{"error": 3113, "when": "STANDARD_HASH"}])
    assert found(database)["oracle.connection_lost"].level == "error"
    database.server.apply([{"error": 942, "when": "STANDARD_HASH"}])
    findings = found(database)
    assert "oracle.table_gone" in findings
    assert "oracle.arrow_fetch" not in findings


def test_a_driver_that_gives_no_arrow_reads_rows_all_the_same(
    database: OracleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OracleConnection, "fetch_df_batches", not_a_driver)
    findings = found(database, snapshot_mode="initial_only")
    assert "error" not in {one.level for one in findings.values()}
