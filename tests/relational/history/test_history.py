"""Tables as of a place of the log, out of a history's records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.relational.history.file_store import FileStore
from headrace.relational.history.history import SchemaHistory, TableHistory
from headrace.relational.history.records import ChangeType, HistoryRecord, TableChange
from headrace.relational.history.store import HistoryStore, MemoryStore
from headrace.relational.history.tables import HistoryColumn, HistoryTable
from tests.relational.history.cases import CUSTOMERS, TABLE_WITH_ALL_MEMBERS

CREATE, ALTER, DROP = ChangeType.CREATE, ChangeType.ALTER, ChangeType.DROP


def place_of(position: Mapping[str, Any]) -> int | None:
    place = position.get("at")
    return place if isinstance(place, int) else None


def history(store: HistoryStore | None = None, server: str = "s") -> SchemaHistory:
    return SchemaHistory(store or MemoryStore(), server, place_of)


def table(name: str, *columns: str) -> HistoryTable:
    described = (
        HistoryColumn(column, 4, "INTEGER", number, optional=True)
        for number, column in enumerate(columns, 1)
    )
    return HistoryTable(("S", name), tuple(described))


def test_tables_are_as_the_records_below_a_place_leave_them() -> None:
    schema_history = history()
    assert schema_history.is_empty()
    schema_history.record(
        {"at": 1},
        [TableChange(CREATE, table("A", "x")), TableChange(CREATE, TABLE_WITH_ALL_MEMBERS)],
    )
    schema_history.record({"at": 5}, [TableChange(ALTER, table("A", "x", "y"))], ddl="N/A")
    schema_history.record({"at": 7}, [TableChange(DROP, HistoryTable(TABLE_WITH_ALL_MEMBERS.id))])
    schema_history.record({"at": 9}, [TableChange(ALTER, table("B", "z"), previous=("S", "A"))])
    assert not schema_history.is_empty()
    assert schema_history.tables_before(1) == {}
    assert set(schema_history.tables_before(5).values()) == {
        table("A", "x"),
        TABLE_WITH_ALL_MEMBERS,
    }
    assert schema_history.tables_before(6)[("S", "A")] == table("A", "x", "y")
    assert list(schema_history.tables_before(8)) == [("S", "A")]
    assert list(schema_history.tables_before(10)) == [("S", "B")]


def test_records_of_other_servers_and_of_unknown_positions_do_not_count() -> None:
    store = MemoryStore()
    history(store, "other").record({"at": 1}, [TableChange(CREATE, CUSTOMERS)])
    schema_history = history(store)
    schema_history.record({"pos": 1}, [TableChange(CREATE, CUSTOMERS)])
    store.append(['{"databaseName":"x"}'])
    schema_history.write([HistoryRecord({"server": "other"}, {"at": 3}, ddl="CREATE TABLE …")])
    assert schema_history.tables_before(100) == {}
    assert not schema_history.is_empty()
    assert b'"server":"s"' in list(store.lines())[-1]


def test_what_was_recorded_again_counts_in_the_order_of_its_writing(tmp_path: Path) -> None:
    schema_history = history(FileStore(tmp_path / "h"))
    schema_history.record({"at": 5}, [TableChange(ALTER, table("A", "old"))])
    schema_history.record({"at": 5}, [TableChange(ALTER, table("A", "new"))])
    assert schema_history.tables_before(6)[("S", "A")] == table("A", "new")


def test_a_history_that_is_not_understood_is_an_error() -> None:
    store = MemoryStore()
    schema_history = history(store)
    schema_history.record({"at": 5}, [TableChange(CREATE, CUSTOMERS)])
    store.append(["{"])
    with pytest.raises(HeadraceError, match=r"\[relational\.history_broken\]"):
        schema_history.tables_before(9)


# -- what a stream records ----------------------------------------------------------------------


def test_a_table_is_recorded_when_it_is_new_and_when_it_changes(tmp_path: Path) -> None:
    schema_history = history(FileStore(tmp_path / "h"))
    schema_history.record({"at": 1}, [TableChange(CREATE, table("A", "x"))])
    stream = TableHistory(schema_history, 2)
    assert stream.due(table("A", "x")) is None
    assert stream.due(table("B", "x")) is CREATE
    wider = table("A", "x", "y")
    assert stream.due(wider) is ALTER
    record = stream.change(ALTER, wider, {"at": 4}, database="", ddl="N/A")
    assert (record.ddl, record.source) == ("N/A", {"server": "s"})
    assert stream.due(wider) is None
    # The change at 4 is not delivered when the stream begins there again.
    assert TableHistory(schema_history, 4).due(wider) is ALTER
    assert TableHistory(schema_history, 5).due(wider) is None
    stream.close()


def test_a_history_in_memory_does_not_record_again_what_an_earlier_process_recorded() -> None:
    store = MemoryStore()
    stream = TableHistory(history(store), 4)
    assert stream.due(CUSTOMERS) is None
    assert stream.knows(CUSTOMERS.id)
    assert not stream.has(CUSTOMERS.id)
    assert not stream.is_empty
    stream.change(CREATE, CUSTOMERS, {"at": 5})
    again = TableHistory(history(store), 6)
    assert again.due(replace(CUSTOMERS, columns=CUSTOMERS.columns[:1])) is ALTER
    assert again.due(table("A", "x")) is None, "another process recorded it"


def test_a_history_in_memory_is_whole_in_the_process_that_read_the_snapshot() -> None:
    store = MemoryStore()
    history(store).write([HistoryRecord({}, {"at": 1}, changes=(TableChange(CREATE, CUSTOMERS),))])
    stream = TableHistory(history(store), 2)
    assert stream.due(CUSTOMERS) is None
    assert stream.due(table("A", "x")) is CREATE
    assert not stream.knows(("S", "A"))


CHANGES = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.sampled_from("ABC"),
        st.sampled_from([CREATE, ALTER, DROP]),
        st.lists(st.sampled_from("xyz"), unique=True).map(tuple),
    )
)


@given(CHANGES, st.integers(0, 7))
def test_any_changes_give_the_last_of_each_table_below_the_place(
    changes: Sequence[tuple[int, str, ChangeType, tuple[str, ...]]], place: int
) -> None:
    schema_history = history()
    last: dict[str, tuple[str, ...] | None] = {}
    for at, name, kind, columns in changes:
        after = table(name, *columns)
        dropped = replace(after, columns=())
        schema_history.record({"at": at}, [TableChange(kind, dropped if kind is DROP else after)])
        if at < place:
            last[name] = None if kind is DROP else columns
    columns_by_table = {
        name: tuple(column.name for column in known.columns)
        for (_, name), known in schema_history.tables_before(place).items()
    }
    assert columns_by_table == {
        name: columns for name, columns in last.items() if columns is not None
    }


@pytest.mark.parametrize("kind", [CREATE, ALTER])
def test_after_any_change_a_table_as_it_is_needs_no_telling(kind: ChangeType) -> None:
    schema_history = history()
    schema_history.record({"at": 1}, [TableChange(CREATE, TABLE_WITH_ALL_MEMBERS)])
    stream = TableHistory(schema_history, 2)
    stream.change(kind, CUSTOMERS, {"at": 3})
    assert stream.due(CUSTOMERS) is None
