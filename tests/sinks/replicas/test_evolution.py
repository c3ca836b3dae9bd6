"""The columns of a table when those of its source change."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.sinks.replicas.evolution import change_of_columns, holds, steps_of
from headrace.sinks.replicas.lake import Column, ColumnChange, TableName, TableSchema
from headrace.sinks.replicas.options import Ambiguous
from headrace.sinks.replicas.source_columns import after

NAME = TableName(("shop",), "orders")
TYPES = (pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.decimal128(9, 2))


def schema(columns: str, **types: pa.DataType) -> TableSchema:
    """Columns by their names; `id` is the key; types are int32 but for those that are named."""
    schema_columns = tuple(Column(name, types.get(name, pa.int32())) for name in columns.split())
    return TableSchema(schema_columns, ("id",))


def change(
    current: TableSchema, target: TableSchema, ambiguous: Ambiguous = Ambiguous.FAIL
) -> ColumnChange:
    return change_of_columns(NAME, current, target, ambiguous)


def test_the_same_columns_are_no_change() -> None:
    assert not change(schema("id a b"), schema("id a b"))


def test_a_column_at_the_end_is_added() -> None:
    assert change(schema("id a"), schema("id a b")) == ColumnChange(
        added=(Column("b", pa.int32()),)
    )


def test_a_column_that_vanished_is_dropped() -> None:
    assert change(schema("id a b"), schema("id b")) == ColumnChange(dropped=("a",))


def test_a_new_name_before_a_column_that_stays_is_a_renamed_column() -> None:
    assert change(schema("id a b"), schema("id c b")).renamed == {"a": "c"}


def of_source(columns: str, **types: pa.DataType) -> TableSchema:
    """The columns of a table that the source has a name for."""
    return replace(schema(columns, **types), source="shop.orders")


def test_a_column_after_others_that_it_preceded_may_be_another_one() -> None:
    current, target = of_source("id a b c"), of_source("id b c a")
    with pytest.raises(HeadraceError, match=r"shop\.orders: a is now after columns") as error:
        change(current, target)
    assert error.value.code == "replicas.column_ambiguous"
    assert not change(current, target, Ambiguous.RENAME)
    column_change = change(current, target, Ambiguous.REPLACE)
    assert (column_change.dropped, column_change.added) == (("a",), (Column("a", pa.int32()),))
    assert not change_of_columns(NAME, current, target, Ambiguous.FAIL, is_empty=True)
    # The order of another table that goes into the same replica says nothing.
    assert not change(replace(current, source="shop.others"), target)
    with pytest.raises(HeadraceError, match="the key was dropped"):
        change(of_source("id a"), of_source("a id"), Ambiguous.REPLACE)


@given(st.permutations("abcdef"))
def test_as_few_columns_as_may_be_are_taken_for_others(names: list[str]) -> None:
    current, target = of_source("id a b c d e f"), of_source(" ".join(["id", *names]))
    column_change = change(current, target, Ambiguous.REPLACE)
    stay = [name for name in names if name not in column_change.dropped]
    assert stay == sorted(stay)
    longer = itertools.combinations(names, len(stay) + 1)
    assert not any(list(each) == sorted(each) for each in longer)


def test_the_key_may_be_renamed() -> None:
    target = TableSchema(schema("number a b").columns, ("number",))
    assert change(schema("id a b"), target).renamed == {"id": "number"}


def test_several_columns_in_a_row_are_renamed_in_their_order() -> None:
    assert change(schema("id a b c"), schema("id x y c")).renamed == {"a": "x", "b": "y"}


def test_a_last_column_that_vanished_while_another_came_is_refused() -> None:
    with pytest.raises(
        HeadraceError, match=r"shop\.orders: b vanished and c came at once"
    ) as error:
        change(schema("id a b"), schema("id a c"))
    assert error.value.code == "replicas.column_ambiguous"


def test_a_property_says_that_the_last_column_was_renamed() -> None:
    column_change = change(schema("id a b"), schema("id a c"), Ambiguous.RENAME)
    assert column_change == ColumnChange(renamed={"b": "c"})


def test_a_property_says_that_the_last_column_was_dropped_and_another_added() -> None:
    column_change = change(schema("id a b"), schema("id a c"), Ambiguous.REPLACE)
    assert column_change == ColumnChange(added=(Column("c", pa.int32()),), dropped=("b",))


def test_a_dropped_column_and_another_one_at_the_end_are_refused() -> None:
    with pytest.raises(HeadraceError, match="a vanished and c came"):
        change(schema("id a b"), schema("id b c"))


def test_a_wider_type_is_taken_and_a_narrower_one_changes_nothing() -> None:
    assert change(schema("id a"), schema("id a", a=pa.int64())).retyped == {"a": pa.int64()}
    assert not change(schema("id a", a=pa.int64()), schema("id a"))


def test_a_renamed_column_may_become_wider() -> None:
    column_change = change(schema("id a b"), schema("id c b", c=pa.int64()))
    assert (column_change.renamed, column_change.retyped) == ({"a": "c"}, {"a": pa.int64()})


def test_another_type_is_refused_by_the_name_of_table_and_column() -> None:
    with pytest.raises(HeadraceError, match=r"shop\.orders: the column a is string") as error:
        change(schema("id a"), schema("id a", a=pa.string()))
    assert error.value.code == "replicas.column_not_taken"


def test_another_key_is_refused() -> None:
    target = TableSchema(schema("id a").columns, ("a",))
    with pytest.raises(HeadraceError, match="the key was id and is a now") as error:
        change(schema("id a"), target)
    assert error.value.code == "replicas.key_changed"


def test_columns_that_headrace_added_stay() -> None:
    assert not change(schema("id a __deleted"), schema("id a"))


@pytest.mark.parametrize("is_empty", [False, True])
def test_columns_that_others_added_stay(is_empty: bool) -> None:
    foreign = Column("note", pa.string(), is_foreign=True)
    current = replace(schema("id a"), columns=(*schema("id a").columns, foreign))
    column_change = change_of_columns(
        NAME, current, schema("id b c"), Ambiguous.REPLACE, is_empty=is_empty
    )
    assert column_change.dropped == ("a",)
    assert [column.name for column in column_change.added] == ["b", "c"]
    with pytest.raises(HeadraceError, match="somebody else has added") as caught:
        change(current, schema("id a note", note=pa.string()))
    assert caught.value.code == "replicas.column_taken"
    twin = schema("id a NOTE", NOTE=pa.string())
    with pytest.raises(HeadraceError, match="somebody else has added"):
        change_of_columns(NAME, current, twin, Ambiguous.FAIL, is_empty=is_empty)


def test_comments_follow_their_columns() -> None:
    target = TableSchema((Column("id", pa.int32()), Column("a", pa.int32(), "tons")), ("id",))
    assert change(schema("id a"), target).commented == {"a": "tons"}


@given(st.sampled_from(TYPES), st.sampled_from(TYPES), st.sampled_from(TYPES))
def test_a_type_holds_what_those_hold_that_it_holds(
    wide: pa.DataType, middle: pa.DataType, narrow: pa.DataType
) -> None:
    assert holds(wide, wide)
    if holds(wide, middle) and holds(middle, narrow):
        assert holds(wide, narrow)
    if wide != middle:
        assert not (holds(wide, middle) and holds(middle, wide))


@given(
    st.lists(st.sampled_from("abcdef"), unique=True),
    st.lists(st.sampled_from("abcdef"), unique=True),
)
def test_a_change_leads_to_the_wanted_columns(before: list[str], after: list[str]) -> None:
    current, target = schema(" ".join(["id", *before])), schema(" ".join(["id", *after]))
    column_change = change(current, target, Ambiguous.REPLACE)
    names = [
        column_change.renamed.get(name, name)
        for name in current.names
        if name not in column_change.dropped
    ]
    names += [column.name for column in column_change.added]
    assert sorted(names) == sorted(target.names)


def identified(columns: str, **types: pa.DataType) -> TableSchema:
    """Columns by `name=id`; a name without an id has none."""
    pairs = [each.partition("=") for each in columns.split()]
    schema_columns = tuple(Column(n, types.get(n, pa.int32()), id=number) for n, _, number in pairs)
    return TableSchema(schema_columns, ("id",))


def test_ids_distinguish_a_renamed_last_column_from_one_that_was_dropped_and_added() -> None:
    assert change(identified("id=1 a=2"), identified("id=1 b=2")).renamed == {"a": "b"}
    other = change(identified("id=1 a=2"), identified("id=1 b=3"))
    assert (other.dropped, other.added) == (("a",), (Column("b", pa.int32()),))


def test_another_column_of_the_same_name_is_dropped_and_added() -> None:
    column_change = change(identified("id=1 a=2"), identified("id=1 a=3"))
    assert (column_change.dropped, column_change.added) == (("a",), (Column("a", pa.int32()),))


def test_names_that_were_exchanged_are_renamed() -> None:
    assert change(identified("id=1 a=2 b=3"), identified("id=1 b=2 a=3")).renamed == {
        "a": "b",
        "b": "a",
    }


def test_a_dropped_and_added_column_of_the_key_is_refused() -> None:
    with pytest.raises(HeadraceError, match="id of the key was dropped") as error:
        change(identified("id=1 a=2"), identified("id=3 a=2"))
    assert error.value.code == "replicas.key_changed"


def test_columns_without_ids_are_recognized_by_their_order_beside_others_with_ids() -> None:
    assert change(identified("id=1 a=2 b=3"), identified("id=1 c b=3")).renamed == {"a": "c"}
    with pytest.raises(HeadraceError, match="a vanished and c came at once"):
        change(identified("id=1 a=2"), identified("id=1 c"))


def test_a_float_that_became_narrower_was_rounded_and_is_refused() -> None:
    with pytest.raises(HeadraceError, match="cannot become"):
        change(schema("id a", a=pa.float64()), schema("id a", a=pa.float32()))


@given(st.lists(st.sampled_from("abcdef"), unique=True), st.permutations("123456"), st.data())
def test_steps_lead_to_the_columns_and_none_gives_a_name_twice(
    names: list[str], ids: list[str], data: st.DataObject
) -> None:
    current = identified(
        " ".join(["id=0", *(f"{n}={i}" for n, i in zip(names, ids, strict=False))])
    )
    late = data.draw(st.lists(st.sampled_from("abcdef"), unique=True))
    numbers = data.draw(st.permutations("123456"))
    target = identified(
        " ".join(["id=0", *(f"{n}={i}" for n, i in zip(late, numbers, strict=False))])
    )
    evolved = current
    for step in steps_of(change(current, target), current):
        left = [name for name in evolved.names if name not in (*step.dropped, *step.renamed)]
        come = [*left, *step.renamed.values(), *(column.name for column in step.added)]
        assert len(set(come)) == len(come)
        # Names may not pass through one another within a step.
        assert not set(step.renamed.values()).intersection(evolved.names)
        evolved = after(evolved, step)
    assert {(c.name, c.id) for c in evolved.columns} == {(c.name, c.id) for c in target.columns}
