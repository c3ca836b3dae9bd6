"""Changes folded to one row for each key; `test_applying` compares random ones with a replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.applying.folding import (
    DELETED,
    Folding,
    fold,
    needed_values,
    touched_keys,
)
from headrace.sinks.replicas.changes.part import OPERATION, SEQUENCE, UNAVAILABLE, Operation
from headrace.sinks.replicas.lake import Column, TableSchema
from tests.sinks.replicas.applying.replay import Change, changes_table, sequence

SCHEMA = TableSchema(
    (Column("id", pa.int64()), Column("a", pa.string()), Column("b", pa.int64())), ("id",)
)
SOFT = TableSchema((*SCHEMA.columns, Column(DELETED, pa.bool_())), ("id",))
INSERT, UPDATE, DELETE = Operation.INSERT, Operation.UPDATE, Operation.DELETE


def change(operation: Operation, key: int, old_key: int | None = None, **values: object) -> Change:
    return Change(operation, (key,), values, None if old_key is None else (old_key,))


def changes(*steps: Change, first: int = 0, schema: TableSchema = SCHEMA) -> pa.Table:
    return changes_table(list(enumerate(steps, first)), schema)


def kept(*rows: Mapping[str, object]) -> pa.Table:
    return pa.Table.from_pylist(
        list(rows), schema=pa.schema([("id", pa.int64()), ("a", pa.string()), ("b", pa.int64())])
    )


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def test_the_last_change_of_a_key_stays_whatever_the_order_of_the_tables() -> None:
    first = changes(change(INSERT, 2, a="x", b=1), change(INSERT, 1, a="y", b=2))
    second = changes(change(UPDATE, 2, a="z", b=3), change(DELETE, 1), first=2)
    for tables in ([first, second], [second, first]):
        assert rows(fold(tables, SCHEMA, None)) == [(2, "z", 3)]
        assert touched_keys(tables, SCHEMA)["id"].to_pylist() in ([2, 1], [1, 2])


def test_a_row_that_comes_back_after_its_delete_is_there() -> None:
    table = changes(change(DELETE, 1), change(INSERT, 1, a="x", b=1))
    assert rows(fold([table], SCHEMA, None)) == [(1, "x", 1)]


def test_the_schema_of_the_rows_is_that_of_the_table() -> None:
    empty = fold([], SCHEMA, None)
    assert empty.schema.names == ["id", "a", "b"]
    assert empty.schema.types == [pa.int64(), pa.string(), pa.int64()]
    assert empty.num_rows == 0
    assert needed_values([], SCHEMA) is None


def test_an_older_table_of_changes_has_fewer_columns_and_narrower_types() -> None:
    old = TableSchema(
        (Column("gone", pa.string()), Column("id", pa.int32()), Column("a", pa.large_string())),
        ("id",),
    )
    table = changes(change(INSERT, 1, gone="g", a="x"), schema=old)
    newer = changes(change(INSERT, 2, a="y", b=5), first=1)
    assert rows(fold([newer, table], SCHEMA, None)) == [(1, "x", None), (2, "y", 5)]
    assert rows(fold([newer, table], SCHEMA, None, defaults={"b": 9})) == [
        (1, "x", 9),
        (2, "y", 5),
    ]


def test_a_value_that_its_column_cannot_hold_is_an_error_and_not_in_the_message() -> None:
    texts = TableSchema((Column("id", pa.int64()), Column("b", pa.string())), ("id",))
    table = changes(change(INSERT, 1, b="secret"), schema=texts)
    with pytest.raises(HeadraceError) as caught:
        fold([table], SCHEMA, None, table="shop.orders")
    assert caught.value.code == "replicas.value_not_taken"
    assert "shop.orders: the column b " in caught.value.message
    assert "secret" not in str(caught.value)


def test_changes_up_to_a_truncate_are_left_out() -> None:
    table = changes(
        change(INSERT, 1, a="x", b=1), change(INSERT, 2, a="y", b=2), change(INSERT, 3, a="z", b=3)
    )
    assert rows(fold([table], SCHEMA, None, sequence(1))) == [(3, "z", 3)]
    assert Folding([table], SCHEMA, sequence(2)).keys.num_rows == 0


def test_an_unavailable_value_is_the_last_one_of_the_row_in_the_batch() -> None:
    table = changes(
        change(UPDATE, 1, a="x", b=1), change(UPDATE, 2, a="other", b=0), change(UPDATE, 1, b=2)
    )
    assert needed_values([table], SCHEMA) is None
    assert rows(fold([table], SCHEMA, None)) == [(1, "x", 2), (2, "other", 0)]


def test_an_unavailable_value_that_no_change_has_is_the_stored_one() -> None:
    table = changes(change(UPDATE, 1, b=1), change(UPDATE, 2, a="y", b=2), change(UPDATE, 3, a="z"))
    needed = needed_values([table], SCHEMA)
    assert needed is not None
    assert needed[0]["id"].to_pylist() == [1, 3]
    assert needed[1] == ("a", "b")
    stored = kept({"id": 3, "a": "old", "b": 30}, {"id": 1, "a": None, "b": 10})
    assert rows(fold([table], SCHEMA, stored)) == [(1, None, 1), (2, "y", 2), (3, "z", 30)]


def test_a_row_of_another_life_of_the_key_has_no_value_for_it() -> None:
    table = changes(change(DELETE, 1), change(UPDATE, 1, b=1))
    with pytest.raises(HeadraceError) as caught:
        fold([table], SCHEMA, kept({"id": 1, "a": "secret", "b": 1}), table="shop.orders")
    assert caught.value.code == "replicas.value_unknown"
    assert "shop.orders" in caught.value.message
    assert "column a " in caught.value.message
    assert "secret" not in str(caught.value)


def test_a_value_that_neither_changes_nor_the_table_have_is_an_error() -> None:
    table = changes(change(UPDATE, 1, b=1))
    for stored in (None, kept({"id": 2, "a": "x", "b": 2}), kept().select(["id"])):
        with pytest.raises(HeadraceError, match=r"replicas\.value_unknown"):
            fold([table], SCHEMA, stored)


def test_a_column_that_the_source_does_not_have_keeps_its_values_or_is_null() -> None:
    table = changes(
        change(INSERT, 1, a="x"),
        change(UPDATE, 2, a="y"),
        change(DELETE, 3),
        change(UPDATE, 5, old_key=4, a="z"),
        change(DELETE, 6),
        change(INSERT, 6, a="again"),
    ).drop_columns(["b", UNAVAILABLE + "b"])
    folding = Folding([table], SCHEMA, foreign=frozenset({"b"}))
    stored = kept({"id": 2, "a": "", "b": 20}, {"id": 4, "a": "", "b": 40}, {"id": 6, "b": 60})
    assert rows(folding.rows(stored)) == [
        (1, "x", None),
        (2, "y", 20),
        (5, "z", 40),
        (6, "again", None),
    ]


def test_a_row_with_an_unknown_value_is_left_out_while_the_table_is_copied() -> None:
    table = changes(
        change(UPDATE, 1, b=1), change(UPDATE, 2, b=2), change(UPDATE, 3, a="z"), change(DELETE, 4)
    )
    folding = Folding([table], SCHEMA, drops_unknown=True)
    assert rows(folding.rows(kept({"id": 2, "a": "x", "b": 0}))) == [(2, "x", 2)]
    assert (folding.upserted, folding.left_out, folding.deleted) == (3, 2, 1)


def test_a_moved_row_takes_unavailable_values_from_its_former_key() -> None:
    stored = kept({"id": 1, "a": "stored", "b": 1})
    moved = [change(DELETE, 1), change(INSERT, 2, 1, b=2)]
    table = changes(*moved)
    needed = needed_values([table], SCHEMA)
    assert needed is not None
    assert sorted(needed[0]["id"].to_pylist()) == [1, 2]
    assert rows(fold([table], SCHEMA, stored)) == [(2, "stored", 2)]
    table = changes(change(UPDATE, 1, a="changed", b=0), *moved)
    assert rows(fold([table], SCHEMA, None)) == [(2, "changed", 2)]
    table = changes(*moved, change(UPDATE, 2, b=3), change(DELETE, 2), change(INSERT, 3, 2, b=4))
    assert rows(fold([table], SCHEMA, stored)) == [(3, "stored", 4)]
    assert touched_keys([table], SCHEMA)["id"].to_pylist() == [1, 2, 3]


def test_a_moved_row_takes_values_of_its_former_key_from_before_the_move() -> None:
    table = changes(change(DELETE, 1), change(INSERT, 2, 1, b=2), change(INSERT, 1, a="new", b=1))
    stored = kept({"id": 1, "a": "stored", "b": 9})
    assert rows(fold([table], SCHEMA, stored)) == [(1, "new", 1), (2, "stored", 2)]


def test_rows_that_change_places_keep_their_own_values() -> None:
    stored = kept({"id": 1, "a": "one", "b": 1}, {"id": 2, "a": "two", "b": 2})
    table = changes(
        change(DELETE, 1),
        change(INSERT, 9, 1, b=1),
        change(DELETE, 2),
        change(INSERT, 1, 2, b=2),
        change(DELETE, 9),
        change(INSERT, 2, 9, b=1),
    )
    assert rows(fold([table], SCHEMA, stored)) == [(1, "two", 2), (2, "one", 1)]


def test_a_move_that_the_table_already_has_keeps_its_values() -> None:
    table = changes(change(DELETE, 1), change(INSERT, 2, 1, b=2))
    moved = kept({"id": 2, "a": "stored", "b": 2})
    assert rows(fold([table], SCHEMA, moved)) == [(2, "stored", 2)]


def test_a_row_that_moves_to_the_key_of_a_deleted_row_keeps_its_own_values() -> None:
    table = changes(change(DELETE, 1), change(INSERT, 2, 1, b=11))
    folding = Folding([table], SOFT, soft_deletes=True)
    assert folding.needed() is not None
    assert folding.needed()[1] == ("a", "b", DELETED)  # type: ignore[index]
    stored = kept({"id": 1, "a": "one", "b": 1}, {"id": 2, "a": "two", "b": 2})
    is_deleted = pa.chunked_array([[False, True]])
    rows_then = rows(folding.rows(stored.append_column(DELETED, is_deleted)))
    assert rows_then == [(1, "one", 1, True), (2, "one", 11, False)]
    # The changes were applied already.
    is_deleted = pa.chunked_array([[True, None]])
    stored = kept({"id": 1, "a": "former", "b": 1}, {"id": 2, "a": "one", "b": 11})
    assert rows(folding.rows(stored.append_column(DELETED, is_deleted)))[1] == rows_then[1]


def test_soft_deletes_keep_the_last_values() -> None:
    table = changes(
        change(INSERT, 1, a="x", b=1),
        change(DELETE, 1),
        change(DELETE, 2),
        change(UPDATE, 3, b=33),
        change(DELETE, 3),
        change(DELETE, 3),
        change(DELETE, 4),
        change(INSERT, 4, a="w", b=4),
        change(DELETE, 5),
    )
    folding = Folding([table], SOFT, soft_deletes=True)
    needed = folding.needed()
    assert needed is not None
    assert sorted(needed[0]["id"].to_pylist()) == [2, 3, 5]
    assert needed[1] == ("a", "b")
    assert (folding.upserted, folding.deleted) == (1, 4)
    stored = kept({"id": 2, "a": "y", "b": 2}, {"id": 3, "a": "z", "b": 3})
    assert rows(folding.rows(stored)) == [
        (1, "x", 1, True),
        (2, "y", 2, True),
        (3, "z", 33, True),
        (4, "w", 4, False),
        (5, None, None, True),
    ]


def test_places_of_unequal_length_are_in_the_order_of_texts() -> None:
    table = pa.table(
        {
            SEQUENCE: ["10", "9", "8"],
            OPERATION: pa.array([1, 1, 1], pa.int8()),
            UNAVAILABLE + "a": [False, True, False],
            "id": pa.array([1, 1, 1], pa.int64()),
            "a": ["first", None, "second"],
            "b": pa.array([1, 3, 2], pa.int64()),
        }
    )
    assert rows(fold([table], SCHEMA, None)) == [(1, "second", 3)]
