"""Records of a schema history: Debezium's bytes, read and written."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.images import cells
from headrace.connect.json_values import load_schema, load_value
from headrace.debezium.naming.names import AS_NAMED
from headrace.relational.history.records import ChangeType, HistoryRecord, TableChange
from headrace.relational.history.tables import HistoryColumn, HistoryTable, parsed_id, quoted_id
from headrace.relational.schema_changes import changes_schema, schema_change_image
from tests.relational.history.cases import CASES, CUSTOMERS, EVENTS, RECORDS


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_record_has_debeziums_bytes(number: int) -> None:
    line = RECORDS.read_text().split("\n")[number]
    assert CASES[number].to_line() == line
    assert HistoryRecord.from_line(line) == CASES[number]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_an_event_has_the_table_changes_that_debezium_writes(number: int) -> None:
    event = json.loads(EVENTS.read_text().split("\n")[number])
    schema = changes_schema(AS_NAMED)
    assert schema == load_schema(event["schema"])
    text = cells(schema_change_image(CASES[number]))[3]
    assert load_value(schema, json.loads(text or b"")) == load_value(schema, event["payload"])


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)


def optional(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | strategy


COLUMNS = st.builds(
    HistoryColumn,
    NAMES,
    NUMBERS,
    NAMES,
    st.integers(1, 2000),
    st.booleans(),
    type_expression=st.none(),
    native_type=optional(NUMBERS),
    charset=optional(TEXTS),
    length=optional(NUMBERS),
    scale=optional(NUMBERS),
    auto_incremented=st.booleans(),
    generated=st.booleans(),
    comment=optional(TEXTS),
    has_default=st.just(True),
    default=optional(TEXTS),
    enum_values=st.lists(TEXTS, max_size=2).map(tuple),
)
TABLES = st.builds(
    HistoryTable,
    st.lists(NAMES, min_size=1, max_size=3).map(tuple),
    st.lists(COLUMNS, max_size=3).map(tuple),
    st.lists(NAMES, max_size=2).map(tuple),
    charset=optional(TEXTS),
    comment=optional(TEXTS),
    attributes=st.lists(st.tuples(NAMES, optional(TEXTS)), max_size=2).map(tuple),
)
CHANGES = st.builds(
    TableChange, st.sampled_from([ChangeType.CREATE, ChangeType.ALTER]), TABLES
) | st.builds(TableChange, st.just(ChangeType.DROP), TABLES.map(lambda t: HistoryTable(t.id)))


@given(st.lists(CHANGES, max_size=3), optional(TEXTS), optional(TEXTS), optional(TEXTS))
def test_every_record_is_read_back_as_it_was_written(
    changes: list[TableChange], database: str, schema: str, ddl: str
) -> None:
    record = HistoryRecord(
        {"server": "s"}, {"lsn": 1, "x": None}, 7, database, schema, ddl, tuple(changes)
    )
    line = record.to_line()
    assert "\n" not in line
    assert HistoryRecord.from_line(line.encode()) == record


@given(st.lists(NAMES, min_size=1, max_size=3))
def test_an_id_is_read_back_whatever_is_in_its_names(parts: list[str]) -> None:
    assert parsed_id(quoted_id(tuple(parts))) == tuple(parts)


@pytest.mark.parametrize("text", ["", '"', '"a', '"a"b', "a..b", ".", '"a".', "a."])
def test_a_text_that_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a table's id"):
        parsed_id(text)


def without(line: str, *names: str) -> str:
    """A line without these members of its columns and tables."""

    def kept(value: object) -> object:
        if isinstance(value, dict):
            return {name: kept(item) for name, item in value.items() if name not in names}
        return [kept(item) for item in value] if isinstance(value, list) else value

    return json.dumps(kept(json.loads(line)))


def test_records_of_older_releases_lack_members() -> None:
    younger = ("attributes", "hasDefaultValue", "enumValues", "comment", "charsetName")
    record = HistoryRecord.from_line(without(CASES[0].to_line(), *younger))
    assert record is not None
    assert record.changes == (TableChange(ChangeType.CREATE, CUSTOMERS),)
    older = HistoryRecord.from_line('{"source":{"server":"s"},"position":{"pos":4},"ddl":"x"}')
    assert older is not None
    assert older.changes is None


def test_what_is_no_record_is_passed_over() -> None:
    assert HistoryRecord.from_line('{"schema":1}') is None
    assert HistoryRecord.from_line('{"source":{},"position":null}') is None


BROKEN = [
    "{",
    "7",
    *(without(CASES[0].to_line(), name) for name in ("name", "jdbcType", "columns", "id", "type")),
    CASES[0].to_line().replace('"CREATE"', '"ADD"'),
    CASES[0].to_line().replace('"jdbcType":4', '"jdbcType":"4"'),
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_a_record_that_is_not_understood_is_an_error(number: int) -> None:
    with pytest.raises(ValueError, match="it is not a record of a schema history"):
        HistoryRecord.from_line(BROKEN[number])


def test_a_dropped_tables_event_has_no_table() -> None:
    record = replace(CASES[0], changes=(TableChange(ChangeType.DROP, CUSTOMERS),))
    image = np.frombuffer(schema_change_image(record), np.uint8)
    assert json.loads(cells(bytes(image))[3] or b"")[0]["table"] is None
