"""Random node trees over random rows: the compiled pass against the plain renderer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.records import (
    Cell,
    Cells,
    ColumnIdentity,
    Constant,
    Header,
    Image,
    Node,
    On,
    OrderField,
    Records,
    RowField,
    Shape,
    group_by_shape,
    struct_of,
)
from headrace.connect.rows import RowTable, Sequences
from headrace.converters.json.values import JsonOptions
from headrace.errors import HeadraceError
from tests.connectors.postgresql.replication.pgoutput import cell, image
from tests.converters.json_converter import json_converter
from tests.converters.node_trees import (
    NUMBER,
    STRING,
    TREES,
    Memory,
    Sources,
    reversed_text,
    sources,
    struct,
    text_cell,
)
from tests.converters.plain_renderer import PlainRenderer
from tests.converters.plain_values import NOW
from tests.examples import examples

OPTIONS = JsonOptions()


def converted(
    table: RowTable,
    shapes: dict[int, Shape],
    key: JsonOptions = OPTIONS,
    value: JsonOptions | None = None,
    columns: Mapping[ColumnIdentity, Cells] | None = None,
) -> list[dict[str, object]]:
    converter = json_converter(key, value or key, key)
    records: list[dict[str, object]] = []
    with mock.patch("headrace.converters.rows.time.time_ns", return_value=NOW):
        slice_records = Sources(table, columns or {}).records(shapes)
        for batch in converter.convert(slice_records, Sequences(1)):
            records += json.loads(json.dumps(batch.to_pylist(), default=bytes.decode))
    return records


OPTION = st.builds(JsonOptions, st.booleans(), st.booleans(), st.booleans())


@settings(max_examples=examples(150), deadline=None)
@given(sources(), st.lists(st.tuples(st.none() | TREES, TREES), min_size=2, max_size=2), OPTION,
       OPTION)  # fmt: skip
def test_any_tree_over_any_rows_renders_as_its_nodes_say(
    given_: Sources,
    trees: list[tuple[Node | None, Node]],
    key_options: JsonOptions,
    value_options: JsonOptions,
) -> None:
    table, columns = given_
    shapes = {
        n: Shape(f"topic{n}", key, value, (Header("h", value),))
        for n, (key, value) in enumerate(trees)
    }
    records = converted(table, shapes, key_options, value_options, columns)
    assert len(records) == len(table)
    keys = PlainRenderer(table, key_options, columns)
    values = PlainRenderer(table, value_options, columns)
    for number, record in enumerate(records):
        row = table.rows[number]
        shape = shapes[int(row["relation"])]
        tree = trees[int(row["relation"])][1]
        key = shape.key and keys.root(shape.key, number)
        value = values.root(tree, number) if row["operation"] else None
        assert (record["key"], record["value"]) == (key, value)
        assert record["headers"] == [{"key": "h", "value": keys.header(tree, number)}]


def test_a_cell_of_an_absent_image_is_null_whatever_the_row_before_had() -> None:
    memory = Memory()
    memory.row(new=memory.place(image(cell(b"before"))), operation=ord("c"))
    memory.row(old=memory.place(image(cell(b"gone"))), operation=ord("d"))
    lifted = struct_of("lifted", {"a": text_cell(0)})
    made_up = struct_of("lifted", {"a": Cell(STRING, Image.NEW, 0, Encoding.STRING, 0, bytes.decode,
                                             null="made up")})  # fmt: skip
    for tree in (lifted, made_up):
        records = converted(memory.table(), {0: Shape("t", None, tree)})
        assert [record["value"] for record in records] == ['{"a":"before"}', '{"a":null}']


@pytest.mark.parametrize("schemas", [False, True])
def test_a_null_root_is_an_absent_value_with_and_without_schemas(schemas: bool) -> None:
    memory = Memory()
    memory.row(new=memory.place(image(cell(b"a"))), operation=ord("c"))
    memory.row(old=memory.place(image(cell(b"b"))), operation=ord("d"))
    memory.row(new=memory.place(image(cell(None))), operation=ord("u"))
    memory.row(new=memory.place(image(cell(b"null"))), operation=ord("u"))
    table = memory.table()
    unwrapped = struct(Image.NEW, [text_cell(0)])
    backwards = Cell(STRING, Image.NEW, 0, Encoding.PYTHON, 0, reversed_text)
    absent = {
        unwrapped: [False, True, False, False],
        text_cell(0): [False, True, True, False],
        backwards: [False, True, True, False],
        Constant(STRING, None): [True, True, True, True],
    }
    for tree, expected in absent.items():
        records = converted(table, {0: Shape("t", tree, tree)}, JsonOptions(schemas_enable=schemas))
        assert [record["value"] is None for record in records] == expected
        assert [record["key"] is None for record in records] == expected


def test_a_header_of_an_absent_image_is_null() -> None:
    memory = Memory()
    memory.row(new=memory.place(image(cell(b"1"))), operation=ord("c"), flags=2, part=2)
    header = Header("other", struct(Image.COUNTERPART, [text_cell(0)]), on=On.CREATE)
    value = struct_of(None, {"a": text_cell(0)})
    (record,) = converted(memory.table(), {0: Shape("t", None, value, (header,))})
    assert record["headers"] == [{"key": "other", "value": "null"}]


def test_a_text_that_is_shown_many_times_has_room_in_key_value_and_header() -> None:
    """Texts of controls grow six times, in each place where they are shown."""
    memory = Memory()
    text = b"\x01" * 700_000  # nine of them are more than a batch of 32 MB
    raw = image(cell(text))
    number = memory.place(raw)
    for part in (0, 2):
        memory.row(new=number, counterpart=number, operation=ord("c"), flags=2, part=part)
    many = struct_of(None, {f"copy {n}": text_cell(0, Image.KEY) for n in range(9)})
    header = struct_of(None, {f"copy {n}": text_cell(0, Image.COUNTERPART) for n in range(9)})
    shape = Shape("t", many, many, (Header("h", header, on=On.CREATE),))
    records = converted(memory.table(), {0: shape})
    expected = {f"copy {n}": text.decode() for n in range(9)}
    assert [json.loads(str(record["key"])) == expected for record in records] == [True, True]
    assert [json.loads(str(record["value"])) == expected for record in records] == [True, True]
    assert json.loads(records[1]["headers"][0]["value"]) == expected  # type: ignore[index]


@pytest.mark.parametrize("columns", [1664, 1665, 5000])
def test_images_of_more_columns_than_postgresql_has_are_served(columns: int) -> None:
    memory = Memory()
    raw = image(*(cell(b"%d" % n) for n in range(columns)))
    memory.row(
        old=memory.place(raw), new=memory.place(raw), counterpart=memory.place(raw),
        operation=ord("u"), flags=2, part=2,
    )  # fmt: skip
    members: dict[str, Node] = {}
    for chosen in (Image.OLD, Image.NEW, Image.COUNTERPART):
        members |= {f"{chosen.name} {n}": text_cell(n, chosen) for n in range(columns)}
    header = Header(
        "last", struct_of(None, {"a": text_cell(columns - 1, Image.COUNTERPART)}), On.CREATE
    )
    shape = Shape("t", None, struct_of(None, members), (header,))
    (record,) = converted(memory.table(), {0: shape})
    value = json.loads(str(record["value"]))
    assert value == {name: name.split()[1] for name in members}
    assert record["headers"] == [{"key": "last", "value": f'{{"a":"{columns - 1}"}}'}]


def test_records_of_several_tables_are_refused() -> None:
    shape = Shape("t", None, struct_of(None, {"a": text_cell(0)}))
    both = []
    for name in (b"one", b"two"):
        memory = Memory()
        memory.row(new=memory.place(image(cell(name))), operation=ord("c"))
        place = np.arange(1, dtype=np.int64) + len(both)
        both.append(Records(shape, memory.table(), np.zeros(1, np.int64), place))
    with pytest.raises(HeadraceError) as raised:
        list(json_converter(OPTIONS, OPTIONS, OPTIONS).convert(both, Sequences(1)))
    assert raised.value.code == "converters.several_tables"


def test_an_order_in_a_transaction_that_nobody_counted_is_refused() -> None:
    memory = Memory()
    memory.row(new=memory.place(image(cell(b"a"))), operation=ord("c"))
    table = memory.table()
    uncounted = RowTable(table.rows, table.transactions, table.memory)
    shape = Shape("t", None, struct_of(None, {"n": OrderField(NUMBER, "total")}))
    with pytest.raises(HeadraceError) as raised:
        converted(uncounted, {0: shape})
    assert raised.value.code == "converters.rows_not_counted"


def test_a_field_of_the_row_that_is_no_int64_is_refused() -> None:
    memory = Memory()
    memory.row(new=memory.place(image(cell(b"a"))), operation=ord("c"))
    shape = Shape("t", None, struct_of(None, {"n": RowField(NUMBER, "transaction")}))
    with pytest.raises(HeadraceError) as raised:
        converted(memory.table(), {0: shape})
    assert raised.value.code == "converters.row_field_not_printed"


def test_a_column_that_an_image_lacks_is_null_whatever_the_row_before_had() -> None:
    memory = Memory()
    memory.row(new=memory.place(image(cell(b"a"), cell(b"b"))), operation=ord("c"))
    memory.row(new=memory.place(image(cell(b"c"))), operation=ord("c"))
    tree = struct_of(None, {"first": text_cell(0), "second": text_cell(1)})
    records = converted(memory.table(), {0: Shape("t", None, tree)})
    assert [json.loads(str(record["value"])) for record in records] == [
        {"first": "a", "second": "b"},
        {"first": "c", "second": None},
    ]


def test_records_seen_as_another_shape_render_as_that_shape() -> None:
    memory = Memory()
    memory.row(new=memory.place(image(cell(b"a"))), operation=ord("c"))
    memory.row(old=memory.place(image(cell(b"b"))), operation=ord("d"))
    envelope = struct_of(None, {"after": struct(Image.NEW, [text_cell(0)])})
    (records,) = group_by_shape(memory.table(), {0: Shape("t", None, envelope)})
    unwrapped = records.with_shape(Shape("unwrapped", None, struct(Image.NEW, [text_cell(0)])))
    (batch,) = json_converter(OPTIONS, OPTIONS, OPTIONS).convert([unwrapped], Sequences(1))
    assert batch.column("topic").to_pylist() == ["unwrapped", "unwrapped"]
    assert batch.column("value").to_pylist() == ['{"member \\"0\\"":"a"}', None]
