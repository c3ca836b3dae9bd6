"""Tables of changes from records that are made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headrace.connect.encoding import Encoding
from headrace.connect.images import ABSENT, make_image
from headrace.connect.records import Cell, Constant, Image, Node, Records, Shape, Struct, struct_of
from headrace.connect.rows import Flag, RowTable, Sequences
from headrace.connect.schema import Schema, Type
from headrace.debezium import heartbeats, transactions
from headrace.debezium.event_format import CURRENT
from headrace.debezium.events import ColumnCells, change_event
from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.change_tables import ChangeTables
from headrace.sinks.replicas.changes.changed_rows import Changes
from headrace.sinks.replicas.changes.part import (
    COMMIT_TIME,
    OLD_KEY,
    OPERATION,
    SEQUENCE,
    UNAVAILABLE,
)
from headrace.sinks.replicas.modes.mode import Mode, TableModes
from tests.converters.node_trees import Memory

TEXT = Schema(Type.STRING, optional=True)
PLACEHOLDER = "__debezium_unavailable_value"
SEQUENCES = Sequences(1)
Row = Sequence[Any]


def column(name: str, place: int, schema: Schema = TEXT) -> ColumnCells:
    cell = Cell(schema, Image.NEW, place, Encoding.STRING, 0, bytes.decode,
                null="made up", unavailable=PLACEHOLDER)  # fmt: skip
    return ColumnCells(name, cell)


def table(*names: str, topic: str = "s.t", keyed: bool = True) -> Shape:
    columns = [column(name, place) for place, name in enumerate(names)]
    source = struct_of("Source", {"ts_ms": Constant(Schema(Type.INT64), 77)})
    key = columns[:1] if keyed else []
    return change_event(topic, columns, key, source, (), transactions.no_block(), CURRENT)


def rows_of(*rows: dict[str, Any]) -> RowTable:
    """Rows with images of these texts; their places are their numbers."""
    memory = Memory()
    for number, row in enumerate(rows):
        images = {
            name: memory.place(None if row.get(name) is None else make_image(row[name]))
            for name in ("old", "new", "counterpart")
        }
        operation = ord(row["op"]) if row["op"] else 0
        memory.row(**images, operation=operation, place=number, position=number,
                   part=row.get("part", 0), flags=row.get("flags", 0))  # fmt: skip
    return memory.table()


def records(shape: Shape, rows: RowTable, *numbers: int) -> Records:
    chosen = np.array(numbers or range(len(rows)), np.int64)
    return Records(shape, rows, chosen, chosen)


def changes_of(*pieces: Records, mode: Mode = Mode.REPLICA) -> list[Changes]:
    change_list, failures = ChangeTables(modes=TableModes(mode)).of_piece(pieces, SEQUENCES)
    for failure in failures:
        raise failure.error
    return change_list


CREATED = {"op": "c", "new": ("1", "a")}
UPDATED = {"op": "u", "new": ("1", ABSENT)}
DELETED = {"op": "d", "old": ("1", None)}
MOVED = {"op": "c", "new": ("2", ABSENT), "counterpart": ("1", None), "part": 2,
         "flags": int(Flag.KEY_CHANGE)}  # fmt: skip


def test_a_change_is_a_row_and_a_tombstone_is_not() -> None:
    rows = rows_of(CREATED, UPDATED, DELETED, {"op": "", "old": ("1", None)})
    (changes,) = changes_of(records(table("id", "name"), rows))
    assert changes.rows.column(OPERATION).to_pylist() == [0, 1, 2]
    assert changes.rows.column("id").to_pylist() == ["1", "1", "1"]
    assert changes.rows.column("name").to_pylist() == ["a", None, None]
    assert changes.rows.column(UNAVAILABLE + "name").to_pylist() == [False, True, False]
    assert OLD_KEY not in changes.rows.column_names
    assert changes.source_ms == 77


def test_a_null_of_the_log_is_null_whatever_events_show() -> None:
    (changes,) = changes_of(records(table("id", "n"), rows_of({"op": "c", "new": ("1", None)})))
    assert changes.rows.column("n").to_pylist() == [None]
    assert UNAVAILABLE + "n" not in changes.rows.column_names


def test_a_value_that_is_the_placeholder_is_an_error() -> None:
    row = {"op": "u", "new": ("1", PLACEHOLDER)}
    (changes,) = changes_of(records(table("id", "name"), rows_of(row, UPDATED)))
    assert changes.rows.column("name").to_pylist() == [PLACEHOLDER, None]
    assert changes.rows.column(UNAVAILABLE + "name").to_pylist() == [False, True]


def test_rows_of_two_versions_of_a_table_with_the_same_columns_are_in_the_order_of_the_log() -> (
    None
):
    rows = rows_of(*({"op": "c", "new": (str(n), "a")} for n in range(6)))
    pieces = [records(table("id", "name"), rows, 1, 4), records(table("id", "name"), rows, 0, 2, 5)]
    (changes,) = changes_of(*pieces)
    assert changes.rows.column("id").to_pylist() == ["0", "1", "2", "4", "5"]
    sequences = changes.rows.column(SEQUENCE).to_pylist()
    assert sequences == sorted(sequences)
    assert {len(sequence) for sequence in sequences} == {57}


def test_rows_of_other_columns_and_of_other_tables_are_apart() -> None:
    rows = rows_of(*({"op": "c", "new": (str(n), "a", "b")} for n in range(3)))
    pieces = [
        records(table("id", "name"), rows, 0),
        records(table("id", "name", "more"), rows, 1),
        records(table("id", "name", topic="s.u"), rows, 2),
    ]
    change_list = changes_of(*pieces)
    assert [(each.topic, each.rows.num_rows) for each in change_list] == [
        ("s.t", 1), ("s.t", 1), ("s.u", 1)
    ]  # fmt: skip


def test_a_key_change_names_the_old_key_of_rows_that_lack_values() -> None:
    whole = MOVED | {"new": ("3", "b")}
    (changes,) = changes_of(records(table("id", "name"), rows_of(CREATED, MOVED, whole)))
    assert changes.rows.column(OLD_KEY).to_pylist() == [None, {"id": "1"}, None]


def test_the_row_before_a_key_change_provides_what_the_new_one_lacks() -> None:
    moved = MOVED | {"counterpart": ("1", "a")}
    (changes,) = changes_of(records(table("id", "name"), rows_of(moved)))
    assert changes.rows.column("name").to_pylist() == ["a"]
    assert OLD_KEY not in changes.rows.column_names


def test_a_key_change_without_its_header_is_an_error_where_the_row_lacks_values() -> None:
    shape = replace(table("id", "name"), headers=())
    assert len(changes_of(records(shape, rows_of(MOVED | {"new": ("2", "b")})))) == 1
    with pytest.raises(HeadraceError, match=r"a key of s\.t changed") as raised:
        changes_of(records(shape, rows_of(MOVED)))
    assert raised.value.code == "replicas.no_old_key"


def test_a_key_that_the_log_does_not_carry_is_an_error() -> None:
    rows = rows_of({"op": "u", "new": (ABSENT, "a")})
    with pytest.raises(HeadraceError, match=r"s\.t: .* of id, which is part of the key"):
        changes_of(records(table("id", "name"), rows))


def test_a_row_that_was_inserted_without_all_its_values_is_an_error() -> None:
    rows = rows_of(MOVED, UPDATED, {"op": "c", "new": ("5", ABSENT)})
    shape = table("id", "name")
    assert len(changes_of(records(shape, rows, 0, 1))) == 1
    with pytest.raises(HeadraceError, match=r"s\.t: .* of name of a row that was inserted"):
        changes_of(records(shape, rows))


def test_a_truncate_is_the_last_sequence_of_its_kind() -> None:
    rows = rows_of({"op": "t"}, CREATED, {"op": "t"})
    change_list = changes_of(
        records(table("id", "name", keyed=False), rows, 0, 2), records(table("id", "name"), rows, 1)
    )
    truncated, changed = change_list
    assert (truncated.rows.num_rows, truncated.truncated[-21:-20]) == (0, "0")
    assert int(truncated.truncated[4:36], 16) == 2
    assert [time for _, time in truncated.truncates] == [77_000, 77_000]
    assert truncated.truncates[1][0] == truncated.truncated > truncated.truncates[0][0]
    assert (changed.rows.num_rows, changed.truncated) == (1, "")


def test_a_delete_of_a_change_log_has_the_values_before_it_as_far_as_the_log_has_them() -> None:
    whole = {"op": "d", "old": ("2", None, ABSENT), "flags": int(Flag.FULL_OLD)}
    of_key = {"op": "d", "old": ("1", None, None)}
    of_some = {"op": "d", "old": ("3", "x", None)}
    update = {"op": "u", "new": ("4", ABSENT, "y")}
    pieces = records(table("id", "a", "b"), rows_of(whole, of_key, of_some, update))
    (changes,) = changes_of(pieces, mode=Mode.APPEND)
    rows = changes.rows
    assert rows.column("id").to_pylist() == ["2", "1", "3", "4"]
    assert rows.column("a").to_pylist() == [None, None, "x", None]
    assert rows.column("b").to_pylist() == [None, None, None, "y"]
    assert rows.column(UNAVAILABLE + "a").to_pylist() == [False, True, False, True]
    assert rows.column(UNAVAILABLE + "b").to_pylist() == [True, True, True, False]
    assert rows.column(COMMIT_TIME).cast("int64").to_pylist() == [77_000] * 4
    (changes,) = changes_of(pieces)
    assert COMMIT_TIME not in changes.rows.column_names
    assert changes.rows.column("a").to_pylist() == [None] * 4


def test_deletes_of_a_change_log_without_a_key_have_their_rows() -> None:
    whole = {"op": "d", "old": ("2", "a"), "flags": int(Flag.FULL_OLD)}
    shape = table("id", "name", keyed=False)
    (changes,) = changes_of(records(shape, rows_of(CREATED, whole)), mode=Mode.APPEND)
    assert changes.rows.column("id").to_pylist() == ["1", "2"]
    assert changes.rows.column("name").to_pylist() == ["a", "a"]
    assert UNAVAILABLE + "id" not in changes.rows.column_names


def test_records_that_are_no_changes_of_tables_are_left_out() -> None:
    rows = rows_of({"op": "m"}, {"op": "s"}, {"op": ""})
    identifier = Constant(Schema(Type.STRING), "7")
    message = struct_of("a.MessageValue", {"op": identifier})
    of_schemas = struct_of("io.debezium.connector.oracle.SchemaChangeValue", {"ddl": identifier})
    shapes = [
        heartbeats.heartbeat("h", "s"),
        transactions.border("t", identifier, begins=True),
        Shape("s.message", None, message),
        Shape("s", None, of_schemas),
        Shape("s.nothing", None, None),
    ]
    assert changes_of(*(records(shape, rows) for shape in shapes)) == []


def test_tombstones_of_events_without_envelope_are_left_out_and_the_events_are_an_error() -> None:
    nodes: dict[str, Node] = {"id": column("id", 0).of(Image.NEW)}
    row: Struct = struct_of("s.t.Value", nodes)
    rows = rows_of({"op": "", "old": ("1", None)}, CREATED)
    assert changes_of(records(Shape("s.t", None, row), rows, 0)) == []
    with pytest.raises(HeadraceError, match=r"records of s\.t do not have Debezium"):
        changes_of(records(Shape("s.t", None, row), rows))


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("documents.value_not_representable", "Set something to get null."),
        ("relational.value_not_representable", "Correct the value at the source, leave"),
    ],
)
def test_an_error_of_a_value_names_its_column_and_what_a_replica_can_do(
    code: str, remedy: str
) -> None:
    def fail(raw: bytes) -> object:
        raise HeadraceError(code, "NaN", "Set something to get null.")

    shape = table("id", "name")
    assert isinstance(shape.value, Struct)
    before, after, *rest = shape.value.members
    assert isinstance(after, Struct)
    name = replace(after.members[1], encoding=Encoding.PYTHON, decode=fail)
    broken = replace(after, members=(after.members[0], name))
    value = replace(shape.value, members=(before, broken, *rest))
    with pytest.raises(HeadraceError, match=r"s\.t, column name: NaN") as raised:
        changes_of(records(replace(shape, value=value), rows_of(CREATED)))
    assert raised.value.code == "replicas.value_not_taken"
    assert raised.value.remedy.startswith(remedy)
