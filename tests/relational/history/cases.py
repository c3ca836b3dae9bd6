"""Cases of records of a schema history; `records.jsonl` has what Debezium's classes write for
them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headrace.relational.history.records import ChangeType, HistoryRecord, TableChange
from headrace.relational.history.tables import HistoryColumn, HistoryTable

FOLDER = Path(__file__).parent
RECORDS, EVENTS = FOLDER / "records.jsonl", FOLDER / "events.jsonl"

ID = HistoryColumn("ID", 4, "INTEGER", 1, optional=False, length=10, scale=0)
NAME = HistoryColumn(
    "NAME",
    12,
    "VARCHAR",
    2,
    optional=True,
    length=255,
    has_default=True,
    default="'it''s'",
)
COLUMN_WITH_ALL_MEMBERS = HistoryColumn(
    'N\x01\t\x1f"\\/é😀\x7f\u2028',
    -7,
    "bit varying",
    3,
    optional=True,
    type_expression="x",
    native_type=1562,
    charset="utf8mb4",
    length=31,
    scale=-2,
    auto_incremented=True,
    generated=True,
    comment="a comment\n",
    has_default=True,
    enum_values=("a", "b"),
)
CUSTOMERS = HistoryTable(("TESTDB", "MYSCHEMA", "CUSTOMERS"), (ID, NAME), ("ID",))
TABLE_WITH_ALL_MEMBERS = HistoryTable(
    ("TESTDB", 'My "schema"', "ta.ble"),
    (ID, replace(NAME, charset="latin1"), COLUMN_WITH_ALL_MEMBERS),
    ("NAME", "ID"),
    charset="latin1",
    comment="of a table",
    attributes=(("OBJECT_ID", "7"), ("é", None)),
)
_SNAPSHOT = {"commit_lsn": "00000000:00000000:0000000003a1b2c4", "snapshot": "INITIAL",
             "snapshot_completed": False}  # fmt: skip
_STREAMED = {"event_serial_no": 1, "commit_lsn": "00000000:00000000:0000000003a1b2c4",
             "change_lsn": None}  # fmt: skip
_SERVER = {"server": "fulfillment"}


def _record(position: dict[str, object], *changes: TableChange, **texts: str) -> HistoryRecord:
    return HistoryRecord(_SERVER, position, 1_700_000_000_123, changes=changes, **texts)


CASES = [
    _record(_SNAPSHOT, TableChange(ChangeType.CREATE, CUSTOMERS), database="TESTDB",
            schema="MYSCHEMA"),
    _record(_STREAMED, TableChange(ChangeType.ALTER, CUSTOMERS), database="", schema="MYSCHEMA",
            ddl="N/A"),
    _record(_STREAMED, TableChange(ChangeType.CREATE, TABLE_WITH_ALL_MEMBERS),
            ddl="CREATE TABLE \x00 \"x\" (é 😀)"),
    _record(_STREAMED, TableChange(ChangeType.DROP, HistoryTable(CUSTOMERS.id)), database="D"),
    _record(_STREAMED,
            TableChange(ChangeType.ALTER, CUSTOMERS, previous=TABLE_WITH_ALL_MEMBERS.id)),
    _record(_STREAMED, TableChange(ChangeType.CREATE, CUSTOMERS),
            TableChange(ChangeType.ALTER, TABLE_WITH_ALL_MEMBERS), database="D"),
    _record({}),
]  # fmt: skip
