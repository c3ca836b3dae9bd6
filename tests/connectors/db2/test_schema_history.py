"""Db2's tables and positions in a schema history."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.connect.json_values import document_text
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.lsn import place_of
from headrace.connectors.db2.position import Db2Position, DeliveredChange
from headrace.connectors.db2.schema_history import (
    db2_history,
    history_place,
    history_table,
    open_tables,
    place_after,
    snapshot_position,
    stream_position,
    table_of,
)
from headrace.connectors.db2.types.source_type import Db2Type
from headrace.relational.history.records import ChangeType, HistoryRecord, TableChange
from headrace.relational.table import Column, Table

RECORDINGS = Path(__file__).parents[2] / "golden/db2/recordings"

LSN = bytes.fromhex("00000000000000000000000003a1b2c4")
TABLE = Table(
    "MYSCHEMA",
    "CUSTOMERS",
    (
        Column("ID", Db2Type("INTEGER", 10, 0), not_null=True),
        Column("NAME", Db2Type("VARCHAR", 255), not_null=False, default="'it''s'"),
    ),
    ("ID",),
)


def config(**properties: str) -> Db2Config:
    names = {name.replace("_", "."): text for name, text in properties.items()}
    return Db2Config.parse(
        {
            "connector.class": "db2",
            "topic.prefix": "fulfillment",
            "database.hostname": "h",
            "database.user": "u",
            "database.dbname": "TESTDB",
            **names,
        }
    )


def test_records_are_those_of_debeziums_connector() -> None:
    column = Column("ID", Db2Type("INTEGER", 10, 0), not_null=True)
    more = Column("V", Db2Type("INTEGER", 10, 0), not_null=False)
    tables = [Table("S", name, (column, more), ("ID",)) for name in "AB"]
    wider = replace(tables[0], columns=(column, more, Column("W", Db2Type("VARCHAR", 9), False)))
    created, altered = ChangeType.CREATE, ChangeType.ALTER
    lsn = (0x20000).to_bytes(16, "big")
    streamed = stream_position((0x30000).to_bytes(16, "big"), (0x20001).to_bytes(16, "big"))
    records = [
        HistoryRecord({"server": "golden"}, position, at, database, "S", ddl, (change,))
        for position, at, database, ddl, change in (
            *((snapshot_position(lsn), at, "GOLDEN", None,
               TableChange(created, history_table(table)))
              for at, table in zip((1795410721141, 1795410721143), tables, strict=True)),
            (streamed, 1795410724400, "", "N/A", TableChange(altered, history_table(wider))),
        )
    ]  # fmt: skip
    assert [record.to_line() for record in records] == recorded()


def recorded() -> list[str]:
    """The records of the recording `history`."""
    lines = (RECORDINGS / "history.jsonl").read_text().split("\n")
    events = [json.loads(line) for line in lines if line]
    return [document_text(e["value"]) for e in events if e["topic"] == "history"]


@pytest.mark.parametrize("size", [16, 10])
def test_positions_of_both_kinds_name_their_commit_and_what_of_it_is_delivered(size: int) -> None:
    lsn = LSN[-size:]
    later = Db2Position.after_commit(lsn)
    before = Db2Position(place_of(lsn), lsn_bytes=size)
    for position in (snapshot_position(lsn), stream_position(lsn, None), stream_position(lsn, lsn)):
        assert place_after(before) <= (history_place(position) or 0) < place_after(later)
    change = DeliveredChange(place_of(lsn), lsn_bytes=size)
    inside = replace(before, transaction=place_of(lsn), messages=1, change=change)
    earlier = replace(inside, change=replace(change, place=change.place - 1))
    at = history_place(stream_position(lsn, lsn))
    assert at is not None
    assert place_after(before) < place_after(earlier) <= at < place_after(inside)
    assert place_after(inside) < place_after(later)


@pytest.mark.parametrize("text", [None, "NULL", 7, "x"])
def test_a_position_without_a_number_names_no_place(text: object) -> None:
    assert history_place({"commit_lsn": text}) is None


def test_a_type_without_a_number_is_another_one() -> None:
    table = Table("S", "T", (Column("C", Db2Type("SOMETHING"), not_null=False),))
    (column,) = history_table(table).columns
    assert (column.jdbc_type, column.type_name) == (1111, "SOMETHING")


_COLUMNS = (
    Column("ID", Db2Type("INTEGER", 10, 0), not_null=True, default="AUTOINCREMENT"),
    Column("PRICE", Db2Type("DECIMAL", 9, 2), not_null=False),
    Column("RATE", Db2Type("DECFLOAT", 34), not_null=True, default="1"),
    Column("AT", Db2Type("TIMESTAMP", 29, 9), not_null=False),
    Column("CODE", Db2Type("CHAR FOR BIT DATA", 3), not_null=True),
    Column("NAME", Db2Type("VARCHAR", 20), not_null=True, default="'it''s'"),
)


@pytest.mark.parametrize("column", _COLUMNS, ids=lambda column: column.name)
def test_a_table_comes_back_from_its_history(column: Column) -> None:
    table = Table("S", "T", (_COLUMNS[0], replace(column, name="C")), ("ID",))
    assert table_of(history_table(table)) == table


def test_what_the_snapshot_recorded_is_found_after_it(tmp_path: object) -> None:
    stored_config = config(headrace_checkpoint_dir=str(tmp_path))
    table = history_table(TABLE)
    history = db2_history(stored_config)
    history.record(snapshot_position(LSN), [TableChange(ChangeType.CREATE, table)])
    later = Db2Position.after_commit(LSN)
    assert open_tables(stored_config, later).due(table) is None
    changed = replace(table, columns=table.columns[:1])
    assert open_tables(stored_config, later).due(changed) is ChangeType.ALTER
    assert open_tables(stored_config, Db2Position.at(place_of(LSN))).due(table) is ChangeType.CREATE
