"""The workloads can be read, Capture does with them what Db2's program does, and values that vary
from run to run are distinguished from differences."""

from __future__ import annotations

import json

import pytest

from tests.golden.db2.capture import Capture, lsn, split
from tests.golden.db2.database import Db2Database
from tests.golden.db2.lacking import declared_types
from tests.golden.normalise import compare

WORKLOADS = Db2Database.names()
EVENT = (
    '{{"topic":"t","key":{{"ID":1}},"value":{{"source":{{"ts_ms":{ms},"ts_us":{us},"ts_ns":{us}000,'
    '"commit_lsn":"{lsn}"}},"ts_ms":1}},"headers":{{}}}}'
)


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_has_a_recording_and_its_statements_can_be_captured(name: str) -> None:
    capture = Capture()
    blocks = [block for blocks in Db2Database.workload(name).phases.values() for block in blocks]
    assert [statement for block in blocks for statement in capture.statements(block)]
    lines = Db2Database.recording(name).read_text().splitlines()
    assert lines
    assert all(json.loads(line)["topic"] for line in lines)


def test_every_recording_and_every_difference_is_of_a_workload() -> None:
    named_workloads = {
        file.stem
        for folder in ("recordings", "differences")
        for file in (Db2Database.folder / folder).glob("*.*")
    }
    assert named_workloads <= set(WORKLOADS)


def test_an_update_has_two_change_rows_and_a_transaction_has_one_unit_of_work() -> None:
    capture = Capture()
    capture.statements("CREATE TABLE S.T (ID INTEGER NOT NULL PRIMARY KEY, C CHAR(3));\n"
                       "CALL ASNCDC.ADDTABLE('S', 'T')")  # fmt: skip
    into = 'INSERT INTO "ASNCDC"."CDC_S_T" (IBMSNAP_COMMITSEQ, IBMSNAP_INTENTSEQ, '
    into += "IBMSNAP_OPERATION, ID, C)"
    statements = capture.statements(
        "UPDATE S.T SET C = NULL WHERE ID = 1; DELETE FROM S.T WHERE 1 = 1"
    )
    commit = lsn(0x20000)
    assert statements[:-2] == [
        f"{into} SELECT {commit}, {lsn(0x10001)}, 'D', ID, C FROM S.T WHERE ID = 1",
        f"{into} SELECT {commit}, {lsn(0x10002)}, 'I', ID, CAST(NULL AS CHAR(3)) FROM S.T"
        " WHERE ID = 1",
        "UPDATE S.T SET C = NULL WHERE ID = 1",
        f"{into} SELECT {commit}, {lsn(0x10003)}, 'D', ID, C FROM S.T WHERE 1 = 1",
        "DELETE FROM S.T WHERE 1 = 1",
    ]
    assert statements[-2].startswith("INSERT INTO ASNCDC.IBMSNAP_UOW")
    assert f"SET SYNCHPOINT = {commit}," in statements[-1]


def test_a_block_that_changes_no_registered_table_moves_nothing() -> None:
    capture = Capture()
    capture.statements("CREATE TABLE S.T (ID INTEGER)")
    assert capture.statements("INSERT INTO S.T VALUES (1)") == ["INSERT INTO S.T VALUES (1)"]
    assert capture.transactions == 1


def test_the_types_that_derby_lacks_are_those_that_the_workload_declares() -> None:
    (block, *_) = Db2Database.workload("lacking_schemas").phases["setup"]
    types = declared_types(block)
    assert [str(kind) for kind in types.values()] == [
        "DECFLOAT", "DECFLOAT", "GRAPHIC", "VARGRAPHIC", "NCHAR", "NVARCHAR", "BINARY", "VARBINARY",
        "TIMESTAMP", "TIMESTAMP", "TIMESTAMP", "TIMESTAMP", "XML",
    ]  # fmt: skip
    assert (types["D34"].length, types["T9"].scale, types["T0"].length) == (34, 9, 19)


def test_separators_in_quotes_and_parentheses_separate_nothing() -> None:
    assert split("a, 'b,c', (d, e), \"f,g\",", ",") == ["a", "'b,c'", "(d, e)", '"f,g"']


def test_another_run_at_another_time_is_equal() -> None:
    recorded = [EVENT.format(ms=1700000000000, us=1700000000000001, lsn="00:01")]
    other = [EVENT.format(ms=1800000000007, us=1800000000007009, lsn="00:01")]
    assert compare(recorded, other, Db2Database.normalise) == []


@pytest.mark.parametrize(
    "other",
    [
        EVENT.format(ms=1800000000000, us=1800000000000000, lsn="00:02"),  # another commit
        EVENT.format(ms=1800000000000, us=1800000000001000, lsn="00:01"),  # two times in one event
    ],
)
def test_what_is_not_the_same_is_a_difference(other: str) -> None:
    recorded = [EVENT.format(ms=1700000000000, us=1700000000000000, lsn="00:01")]
    assert compare(recorded, [other], Db2Database.normalise) != []


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("types", "DT", 17424),
        ("types", "TM", 14_711_000),
        ("types", "TS", 1_529_507_596_945_104),
        ("types", "D0", "TQ=="),
        ("types", "C", "ab   "),
        ("types_isostring", "DT", "2017-09-15Z"),
        ("types_isostring", "TM", "04:05:11Z"),
        ("types_adaptive_time_microseconds", "TM", 14_711_000_000),
        ("types_double", "DE", 12.5),
        ("types_string", "DE", "12.50"),
        ("lacking_schemas", "D16", {"scale": 0, "value": "AQ=="}),
        ("lacking_modes_schemas", "T6", "2019-07-09T02:28:57.123456Z"),
        ("lacking_schemas", "T3", 1_562_639_337_123),
        ("lacking_schemas", "T9", 1_562_639_337_123_456_789),
    ],
)
def test_the_values_of_debeziums_manual_are_recorded(name: str, column: str, value: object) -> None:
    """Our values are compared with these: in the snapshot's first row, and in a change."""
    rows = []
    for line in Db2Database.recording(name).read_text().splitlines():
        event = json.loads(line)["value"]
        event = event and event.get("payload", event)
        if event and event["after"] and event["after"]["ID"] in (1, 101):
            rows.append((event["op"], event["after"][column]))
    assert rows[:2] == [("r", value), ("c", value)]


def test_each_sequence_of_change_rows_is_recorded_as_its_operations() -> None:
    """`D I`, `I D I`, `D D I I`, `D I D`, `D I I` and `I I`, each in a commit of its own."""
    operations: dict[str, str] = {}
    for line in Db2Database.recording("pairs").read_text().splitlines():
        event = json.loads(line)["value"]
        if event is not None and event["op"] != "r":
            commit = event["source"]["commit_lsn"]
            operations[commit] = operations.get(commit, "") + event["op"]
    # The update of `D D I I` has another key, so it is a delete and a create.
    assert [*operations.values()][:6] == ["u", "cu", "ddcc", "ud", "uc", "cc"]
