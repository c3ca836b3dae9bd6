"""Random node trees over random rows: the compiled pass against the plain renderer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import (
    Cell,
    Choice,
    Concat,
    Constant,
    Header,
    Image,
    Node,
    On,
    OrderField,
    Part,
    ProcessingTime,
    Records,
    RowField,
    Shape,
    Struct,
    TransactionField,
    group_by_shape,
    struct_of,
)
from headrace.connect.rows import (
    ADDRESSES,
    MARKERS,
    NULL,
    ORDER,
    ROW,
    TRANSACTION,
    TRANSACTION_NUMBERS,
    RowTable,
    Sequences,
)
from headrace.connect.schema import Schema, Type
from headrace.connectors.postgresql.source import PostgresSource, lsn_pair
from headrace.converters.json.values import JsonOptions
from headrace.debezium.decimals import decimal_schema
from headrace.debezium.event_format import CURRENT
from headrace.debezium.source_info import snapshot_marker, snapshot_schema
from headrace.errors import HeadraceError
from tests.connectors.postgresql.replication.pgoutput import cell, image
from tests.converters.json_converter import json_converter
from tests.converters.plain_renderer import NOW, PlainRenderer

OPTIONS = JsonOptions()
TEXT = Schema(Type.STRING, optional=True)
NUMBER = Schema(Type.INT64, optional=True)
STRUCT = Schema(Type.STRUCT)


def reversed_text(raw: bytes) -> str:
    """What no compiled encoder does."""
    return raw.decode()[::-1]


def text_cell(column: int, image: Image = Image.NEW, schema: Schema = TEXT) -> Cell:
    return Cell(schema, image, column, Encoding.STRING, 0, bytes.decode)


# One kind of cell per column of the random images, and texts for it.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
KINDS: tuple[tuple[Schema, Encoding, int, Callable[[bytes], object], object, object], ...] = (
    (NUMBER, Encoding.RAW, 0, int, 0, -1),
    (TEXT, Encoding.STRING, 0, bytes.decode, "made up", "__unavailable__"),
    (Schema(Type.BOOLEAN, optional=True), Encoding.BOOLEAN, 0, lambda t: t == b"t", False, None),
    (TEXT, Encoding.PYTHON, 0, reversed_text, "made up", "__unavailable__"),
    (
        decimal_schema(2, None).as_optional(),
        Encoding.DECIMAL,
        2,
        lambda t: Decimal(t.decode()),
        Decimal("0.00"),
        None,
    ),
    (Schema(Type.STRING, optional=True, default="by default"), Encoding.STRING, 0, bytes.decode,
     None, None),
)  # fmt: skip
VALUES: tuple[st.SearchStrategy[str], ...] = (
    st.integers(-(10**18), 10**18).map(str),
    TEXTS,
    st.sampled_from("tf"),
    TEXTS,
    st.decimals(-(10**9), 10**9, places=2).map(str),
    TEXTS,
)
IMAGES = st.sampled_from(list(Image))


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    column = draw(st.integers(0, len(KINDS) - 1))
    schema, encoding, parameter, decode, null, unavailable = KINDS[column]
    return Cell(
        schema,
        draw(IMAGES),
        column,
        encoding,
        parameter,
        decode,
        draw(st.sampled_from([None, null])),
        unavailable,
    )


def choices() -> st.SearchStrategy[Choice]:
    texts = st.dictionaries(
        st.sampled_from([0, 1, 6, ord("c"), ord("u"), 255]), st.one_of(st.none(), TEXTS)
    )
    return st.builds(
        lambda name, given, otherwise: Choice(TEXT, name, tuple(given.items()), otherwise),
        st.sampled_from(["operation", "marker"]),
        texts,
        st.one_of(st.none(), TEXTS),
    )


def concats() -> st.SearchStrategy[Concat]:
    nodes = st.one_of(
        cells(),
        st.sampled_from(["place", "ordinal"]).map(lambda name: RowField(NUMBER, name)),
        st.just(RowField(TEXT, "operation", character=True)),
        st.sampled_from(["xid", "last_commit"]).map(lambda n: TransactionField(NUMBER, n)),
        st.just(OrderField(NUMBER, "total")),
        choices(),
        st.one_of(st.none(), TEXTS).map(lambda text: Constant(TEXT, text)),
    )
    parts = st.builds(Part, nodes, TEXTS, TEXTS, st.one_of(st.none(), TEXTS))
    return st.lists(parts, max_size=4).map(lambda found: Concat(TEXT, tuple(found)))


LEAVES: st.SearchStrategy[Node] = st.one_of(
    cells(),
    cells(),
    st.sampled_from(["position", "position_high", "place", "ordinal", "part", "size"]).map(
        lambda name: RowField(NUMBER, name)
    ),
    st.just(RowField(TEXT, "operation", character=True)),
    st.sampled_from(list(TRANSACTION.names or ())[:TRANSACTION_NUMBERS]).map(
        lambda n: TransactionField(NUMBER, n)
    ),
    st.sampled_from(list(ORDER.names or ())).map(lambda name: OrderField(NUMBER, name)),
    choices(),
    st.just(snapshot_marker(snapshot_schema(CURRENT))),
    st.just(PostgresSource("").transaction_id()),
    st.just(lsn_pair(TEXT)),
    concats(),
    st.sampled_from(["ms", "us", "ns"]).map(lambda unit: ProcessingTime(NUMBER, unit)),
    st.one_of(st.none(), TEXTS).map(lambda text: Constant(TEXT, text)),
)


def struct(image: Image | None, members: Sequence[Node]) -> Struct:
    made = struct_of("a.Name", {f'member "{n}"': node for n, node in enumerate(members)})
    return Struct(made.schema.as_optional(), made.members, image)


TREES: st.SearchStrategy[Node] = st.recursive(
    LEAVES,
    lambda children: st.builds(
        struct, st.sampled_from([None, *Image]), st.lists(children, max_size=5)
    ),
    max_leaves=25,
)


class Memory:
    """Images one behind the other, as a segment holds them."""

    def __init__(self) -> None:
        self._images: list[bytes] = []
        self._rows: list[dict[str, object]] = []

    def place(self, raw: bytes | None) -> int:
        """The number of an image, from 1; 0 for None."""
        if raw is None:
            return 0
        self._images.append(raw)
        return len(self._images)

    def row(self, **fields: object) -> None:
        """A row; its ADDRESSES are numbers of images."""
        self._rows.append(fields)

    def table(self, transactions: np.ndarray | None = None) -> RowTable:
        buffer = np.frombuffer(b"".join(self._images) + bytes(PADDING), np.uint8).copy()
        starts = np.cumsum([0] + [len(raw) for raw in self._images])
        rows = np.zeros(len(self._rows), ROW)
        orders = np.zeros(len(self._rows), ORDER)
        for number, fields in enumerate(self._rows):
            orders[number] = (number * 7, number)
            for name, value in fields.items():
                if name in ADDRESSES and value:
                    at = int(value) - 1  # type: ignore[call-overload]
                    rows[number]["size"] += len(self._images[at])
                    value = address_of(buffer) + int(starts[at])
                rows[number][name] = value
        if transactions is None:
            transactions = np.zeros(1, TRANSACTION)
        for entry in transactions:
            at = int(entry["image"]) - 1
            if at >= 0:
                entry["size"] = len(self._images[at])
                entry["image"] = address_of(buffer) + int(starts[at])
        return RowTable(rows, transactions, (buffer,), orders)


@st.composite
def tables(draw: st.DrawFn) -> RowTable:
    def raw_image() -> bytes:
        found = []
        for value in VALUES:
            kind = draw(st.sampled_from("tttnu"))
            found.append(
                cell(draw(value).encode()) if kind == "t" else cell(None, unavailable=kind == "u")
            )
        return image(*found)

    memory = Memory()
    for number in range(draw(st.integers(1, 6))):
        memory.row(
            **{
                name: memory.place(raw_image() if draw(st.booleans()) else None)
                for name in ADDRESSES
            },
            position=draw(st.integers(0, 2**63 - 1)),
            position_high=draw(st.integers(0, 2**63 - 1)),
            place=draw(st.integers(0, 2**63 - 1)),
            ordinal=number,
            part=draw(st.integers(0, 2)),
            transaction=draw(st.integers(0, 1)),
            relation=draw(st.integers(0, 1)),
            operation=ord(draw(st.sampled_from("cud\0"))),
            marker=draw(st.integers(0, len(MARKERS))),
            flags=draw(st.integers(0, 3)),
        )
    transactions = np.zeros(2, TRANSACTION)
    for name in TRANSACTION.names or ():
        transactions[name] = [draw(st.integers(0, 2**62)), draw(st.sampled_from([NULL, 0, -1]))]
    transactions["image"] = [memory.place(raw_image()), 0]
    transactions["size"] = 0
    return memory.table(transactions)


def converted(
    table: RowTable,
    shapes: dict[int, Shape],
    key: JsonOptions = OPTIONS,
    value: JsonOptions | None = None,
) -> list[dict[str, object]]:
    converter = json_converter(key, value or key, key)
    records: list[dict[str, object]] = []
    with mock.patch("headrace.converters.rows.time.time_ns", return_value=NOW):
        for batch in converter.convert(group_by_shape(table, shapes), Sequences(1)):
            records += json.loads(json.dumps(batch.to_pylist(), default=bytes.decode))
    return records


OPTION = st.builds(JsonOptions, st.booleans(), st.booleans(), st.booleans())


@settings(max_examples=400)
@given(tables(), st.lists(st.tuples(st.none() | TREES, TREES), min_size=2, max_size=2), OPTION,
       OPTION)  # fmt: skip
def test_any_tree_over_any_rows_renders_as_its_nodes_say(
    table: RowTable,
    trees: list[tuple[Node | None, Node]],
    key_options: JsonOptions,
    value_options: JsonOptions,
) -> None:
    shapes = {n: Shape(f"topic{n}", key, value) for n, (key, value) in enumerate(trees)}
    records = converted(table, shapes, key_options, value_options)
    assert len(records) == len(table)
    keys, values = PlainRenderer(table, key_options), PlainRenderer(table, value_options)
    for number, record in enumerate(records):
        row = table.rows[number]
        shape = shapes[int(row["relation"])]
        key = shape.key and keys.root(shape.key, number)
        value = values.root(trees[int(row["relation"])][1], number) if row["operation"] else None
        assert (record["key"], record["value"]) == (key, value)


def test_a_cell_of_an_absent_image_is_null_whatever_the_row_before_had() -> None:
    memory = Memory()
    memory.row(new=memory.place(image(cell(b"before"))), operation=ord("c"))
    memory.row(old=memory.place(image(cell(b"gone"))), operation=ord("d"))
    lifted = struct_of("lifted", {"a": text_cell(0)})
    made_up = struct_of("lifted", {"a": Cell(TEXT, Image.NEW, 0, Encoding.STRING, 0, bytes.decode,
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
    backwards = Cell(TEXT, Image.NEW, 0, Encoding.PYTHON, 0, reversed_text)
    absent = {
        unwrapped: [False, True, False, False],
        text_cell(0): [False, True, True, False],
        backwards: [False, True, True, False],
        Constant(TEXT, None): [True, True, True, True],
    }
    for tree, expected in absent.items():
        records = converted(table, {0: Shape("t", tree, tree)}, JsonOptions(schemas_enable=schemas))
        assert [record["value"] is None for record in records] == expected
        assert [record["key"] is None for record in records] == expected


def test_a_header_of_an_absent_image_has_no_value() -> None:
    memory = Memory()
    memory.row(new=memory.place(image(cell(b"1"))), operation=ord("c"), flags=2, part=2)
    header = Header("other", struct(Image.COUNTERPART, [text_cell(0)]), on=On.CREATE)
    value = struct_of(None, {"a": text_cell(0)})
    (record,) = converted(memory.table(), {0: Shape("t", None, value, (header,))})
    assert record["headers"] == [{"key": "other", "value": None}]


def test_a_text_that_is_shown_many_times_has_room_in_key_value_and_header() -> None:
    """Texts of controls grow six times, in each place where they are shown."""
    memory = Memory()
    text = b"\x01" * 3_000_000
    raw = image(cell(text))
    number = memory.place(raw)
    for part in (0, 2):
        memory.row(new=number, counterpart=number, operation=ord("c"), flags=2, part=part)
    many = struct_of(None, {f"copy {n}": text_cell(0, Image.KEY) for n in range(9)})
    header = struct_of(None, {f"copy {n}": text_cell(0, Image.COUNTERPART) for n in range(9)})
    shape = Shape("t", many, many, (Header("h", header, on=On.CREATE),))
    records = converted(memory.table(), {0: shape})
    shown = {f"copy {n}": text.decode() for n in range(9)}
    assert [json.loads(str(record["key"])) == shown for record in records] == [True, True]
    assert [json.loads(str(record["value"])) == shown for record in records] == [True, True]
    assert json.loads(records[1]["headers"][0]["value"]) == shown  # type: ignore[index]


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
