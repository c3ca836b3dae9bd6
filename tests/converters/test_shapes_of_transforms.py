"""Trees after transforms: made columns, presence, guards, headers of every record, partitions, and
nulls that keep their schema."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation.values import nulls, tombstones
from headrace.connect.images import BINARY
from headrace.connect.records import (
    NO_PARTITION,
    Cell,
    Column,
    ColumnIdentity,
    Constant,
    Guarded,
    Header,
    Image,
    Instant,
    On,
    Records,
    RowField,
    Shape,
    Struct,
    group_by_shape,
    struct_of,
)
from headrace.connect.rows import Sequences
from headrace.connect.schema import SCHEMALESS, Field, Schema, Type
from headrace.connect.trees import as_struct, member
from headrace.converters.avro.schemas import AvroOptions
from headrace.converters.binary.converters import SimpleConverter, StringConverter
from headrace.converters.converter import Converter
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from headrace.errors import HeadraceError
from tests.connectors.postgresql.replication.pgoutput import cell, image
from tests.converters.node_trees import Memory, cells_of, reversed_text
from tests.converters.registry_double import numbered_avro

OPTIONAL = Schema(Type.STRING, optional=True)
NUMBER = Schema(Type.INT64, optional=True)
JSON = JsonConverter(JsonOptions())


def column(
    identity: ColumnIdentity, encoding: Encoding = Encoding.STRING, null: object = None
) -> Column:
    return Column(OPTIONAL, identity, encoding, 0, bytes.decode, null)


def three_rows() -> Records:
    memory = Memory()
    for number in range(3):
        raw = memory.place(image(cell(b"%d" % number), cell(b"x" if number else None)))
        memory.row(new=raw, operation=ord("c"))
    (records,) = group_by_shape(memory.table(), {0: Shape("t", None, Constant(OPTIONAL, "v"))})
    return records


def values_of(records: Sequence[Records], converter: Converter = JSON) -> list[object]:
    slice_converter = SliceConverter(converter, converter, converter)
    return [
        value
        for batch in slice_converter.convert(records, Sequences(1))
        for value in batch.column("value").to_pylist()
    ]


def test_a_made_column_shows_the_cell_of_its_row() -> None:
    first, second = ColumnIdentity(), ColumnIdentity()
    tree = struct_of(
        None,
        {
            "a": column(first),
            "b": column(second, null="made up"),
            "backwards": Column(OPTIONAL, first, Encoding.PYTHON, 0, reversed_text),
        },
    )
    records = three_rows().with_shape(Shape("t", tree, tree))
    records = records.with_column(first, cells_of([b'first "a"', None, b"third"]))
    records = records.with_column(second, cells_of([0, b"b", None]))
    assert [json.loads(str(value)) for value in values_of([records])] == [
        {"a": 'first "a"', "b": "made up", "backwards": '"a" tsrif'},
        {"a": None, "b": "b", "backwards": None},
        {"a": "third", "b": "made up", "backwards": "driht"},
    ]
    strings = values_of([records], StringConverter())
    assert strings == [
        'Struct{a=first "a",b=made up,backwards="a" tsrif}',
        "Struct{b=b}",
        "Struct{a=third,b=made up,backwards=driht}",
    ]


def test_columns_of_numbers_in_binary_are_written_in_every_form() -> None:
    identity = ColumnIdentity()
    numbers = Column(NUMBER, identity, Encoding.INT64_LE, 0, lambda raw: int.from_bytes(
        raw, "little", signed=True))  # fmt: skip
    cells = cells_of([n.to_bytes(8, "little", signed=True) for n in (0, -1, 2**62)], BINARY)
    records = three_rows().with_shape(Shape("t", None, numbers)).with_column(identity, cells)
    assert values_of([records]) == ["0", "-1", str(2**62)]
    assert values_of([records], StringConverter()) == ["0", "-1", str(2**62)]
    avro, _ = numbered_avro(AvroOptions())
    assert [value[5:7] for value in values_of([records], avro)] == [  # type: ignore[index]
        b"\x02\x00", b"\x02\x01", b"\x02\x80",
    ]  # fmt: skip


def test_records_with_the_same_shape_have_columns_of_their_own() -> None:
    identity = ColumnIdentity()
    shape = Shape("t", None, column(identity))
    both = []
    records = three_rows()
    for mask, text in (([True, False, True], b"one"), ([False, True, False], b"two")):
        part = records.with_rows(np.array(mask)).with_shape(shape)
        both.append(part.with_column(identity, cells_of([text] * 3)))
    assert values_of(both) == ['"one"', '"two"', '"one"']


def test_a_column_that_is_larger_than_a_batch_has_room() -> None:
    identity = ColumnIdentity()
    tree = struct_of(None, {"a": column(identity), "b": column(identity)})
    text = b"\x01" * 8_000_000
    records = three_rows().with_shape(Shape("t", None, tree))
    json_values = values_of([records.with_column(identity, cells_of([text, b"small", text]))])
    assert [len(json.loads(str(value))["b"]) for value in json_values] == [8_000_000, 5, 8_000_000]


def test_a_shape_whose_records_lack_its_column_is_refused() -> None:
    records = three_rows().with_shape(Shape("t", None, column(ColumnIdentity())))
    with pytest.raises(HeadraceError) as raised:
        values_of([records])
    assert raised.value.code == "converters.column_missing"


def optional_struct(presence: Cell | Column, member: Cell | Column) -> Struct:
    mandatory_struct = struct_of("s.Row", {"a": member})
    return Struct(mandatory_struct.schema.as_optional(), mandatory_struct.members, None, presence)


def test_a_struct_is_null_where_its_presence_is() -> None:
    identity = ColumnIdentity()
    by_cell = Cell(OPTIONAL, Image.NEW, 1, Encoding.STRING, 0, bytes.decode)
    first = Cell(OPTIONAL, Image.NEW, 0, Encoding.STRING, 0, bytes.decode)
    tree = struct_of(
        "s.Both",
        {
            "by cell": optional_struct(by_cell, first),
            "by column": optional_struct(column(identity), first),
            "lifted": Guarded(first, None, by_cell),
        },
    )
    records = three_rows().with_shape(Shape("t", None, tree))
    records = records.with_column(identity, cells_of([b"", None, 0]))
    row = [{"a": str(n)} for n in range(3)]
    assert [json.loads(str(value)) for value in values_of([records])] == [
        {"by cell": None, "by column": row[0], "lifted": None},
        {"by cell": row[1], "by column": None, "lifted": "1"},
        {"by cell": row[2], "by column": None, "lifted": "2"},
    ]
    assert values_of([records], StringConverter()) == [
        "Struct{by column=Struct{a=0}}",
        "Struct{by cell=Struct{a=1},lifted=1}",
        "Struct{by cell=Struct{a=2},lifted=2}",
    ]


def test_a_root_whose_presence_is_null_is_no_value() -> None:
    presence = Cell(OPTIONAL, Image.NEW, 1, Encoding.STRING, 0, bytes.decode)
    root = optional_struct(presence, presence)
    records = three_rows().with_shape(Shape("t", None, root))
    avro, _ = numbered_avro(AvroOptions())
    for converter in (JSON, StringConverter(), SimpleConverter(), avro):
        assert [value is None for value in values_of([records], converter)] == [True, False, False]


@pytest.mark.parametrize("schemas", [True, False])
def test_a_null_keeps_its_schema_where_the_shape_says_so(schemas: bool) -> None:
    identity = ColumnIdentity()
    shape = Shape("t", None, column(identity), null_has_schema=True)
    records = three_rows().with_shape(shape).with_column(identity, cells_of([None, b"a", None]))
    null = '{"schema":{"type":"string","optional":true},"payload":null}' if schemas else "null"
    json_values = values_of([records], JsonConverter(JsonOptions(schemas_enable=schemas)))
    assert [json_values[0], json_values[2]] == [null, null]
    assert json_values[1] != null


def test_headers_of_every_record_are_rendered_with_it() -> None:
    identity = ColumnIdentity()
    memory = Memory()
    for number, flags in enumerate((0, 2, 2)):
        raw = memory.place(image(cell(b"%d" % number)))
        memory.row(new=raw, counterpart=raw, operation=ord("u"), flags=flags,
                   part=(0, 2, 0)[number])  # fmt: skip
    here = Cell(OPTIONAL, Image.NEW, 0, Encoding.STRING, 0, bytes.decode)
    counterpart = Cell(OPTIONAL, Image.COUNTERPART, 0, Encoding.PYTHON, 0, reversed_text)
    headers = (
        Header("constant", Constant(OPTIONAL, "c")),
        Header("null", Constant(OPTIONAL, None)),
        Header("cell", here),
        Header("made", column(identity)),
        Header("created", counterpart, On.CREATE),
        Header("deleted", counterpart, On.DELETE),
    )
    shape = Shape("t", None, here, headers)
    (records,) = group_by_shape(memory.table(), {0: shape})
    records = records.with_column(identity, cells_of([b"x" * 2_000_000, None, b"z"]))
    slice_converter = SliceConverter(StringConverter(), StringConverter(), JSON)
    (batch,) = slice_converter.convert([records], Sequences(1))
    header_entries = [
        {header["key"]: header["value"] for header in entry}
        for entry in batch.column("headers").to_pylist()
    ]
    every = [{"constant": b'"c"', "null": b"null", "cell": b'"%d"' % n} for n in range(3)]
    assert header_entries == [
        {**every[0], "made": b'"' + b"x" * 2_000_000 + b'"'},
        {"created": b'"1"', **every[1], "made": b"null"},
        {"deleted": b'"2"', **every[2], "made": b'"z"'},
    ]
    assert [next(iter(entry)) for entry in header_entries] == ["constant", "created", "deleted"]


@pytest.mark.parametrize("schemas", [True, False])
def test_a_null_header_keeps_its_schema_and_has_no_value_without_one(schemas: bool) -> None:
    identity = ColumnIdentity()
    headers = (
        Header("constant", Constant(OPTIONAL, None)),
        Header("made", column(identity)),
        Header("schemaless", Constant(SCHEMALESS, None)),
    )
    records = three_rows().with_shape(Shape("t", None, None, headers))
    records = records.with_column(identity, cells_of([None, b"a", None]))
    converter = JsonConverter(JsonOptions(schemas_enable=schemas))
    (batch,) = SliceConverter(converter, converter, converter).convert([records], Sequences(1))
    header_values = [[h["value"] for h in entry] for entry in batch.column("headers").to_pylist()]
    null = b'{"schema":{"type":"string","optional":true},"payload":null}' if schemas else b"null"
    assert [header_values[0], header_values[2]] == [[null, null, None]] * 2
    assert [header_values[1][0], header_values[1][2]] == [null, None]
    assert header_values[1][1] != null


def test_partitions_follow_their_records_into_the_total_order() -> None:
    records = three_rows()
    parts = [
        records.with_rows(np.array([True, False, True])).with_partition(
            np.array([7, NO_PARTITION], np.int32)
        ),
        records.with_rows(np.array([False, True, False])),
    ]
    slice_converter = SliceConverter(JSON, JSON, JSON)
    (batch,) = slice_converter.convert(parts, Sequences(1))
    assert batch.column("partition").to_pylist() == [7, None, None]
    turned = [part.with_partition(np.full(len(part), 3, np.int32)) for part in reversed(parts)]
    (batch,) = slice_converter.convert(turned, Sequences(1))
    assert batch.column("partition").to_pylist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400_001, "2000-02-29T00:00:00.001Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, None),
        (-1, None),
    ],
)
def test_an_instant_is_its_text_in_every_form(milliseconds: int, text: str | None) -> None:
    memory = Memory()
    memory.row(new=memory.place(image(cell(b"a"))), operation=ord("c"), place=milliseconds)
    node = Instant(OPTIONAL, RowField(NUMBER, "place"))
    (records,) = group_by_shape(memory.table(), {0: Shape("t", None, node)})
    assert values_of([records]) == [None if text is None else f'"{text}"']
    assert values_of([records], StringConverter()) == [text]
    avro, _ = numbered_avro(AvroOptions())
    (avro_value,) = values_of([records], avro)
    assert avro_value == (None if text is None else b"\0\0\0\0\1\x02" + b"\x30" + text.encode())


@pytest.mark.parametrize("null", [None, "made up"])
def test_a_made_up_value_is_a_presence(null: object) -> None:
    first = Cell(OPTIONAL, Image.NEW, 0, Encoding.STRING, 0, bytes.decode)
    by_cell = Cell(OPTIONAL, Image.NEW, 1, Encoding.STRING, 0, bytes.decode, null)
    root = optional_struct(by_cell, first)
    records = three_rows().with_shape(Shape("t", None, root))
    is_null = [null is None, False, False]
    avro, _ = numbered_avro(AvroOptions())
    for converter in (JSON, StringConverter(), avro):
        assert [value is None for value in values_of([records], converter)] == is_null
    assert nulls(records, root).tolist() == is_null


def test_a_part_of_a_value_is_null_where_the_value_lacks_it() -> None:
    """A struct in a struct in a cell, taken out and taken apart."""
    inner = struct_of("s.Inner", {"a": Constant(OPTIONAL, None)}).schema.as_optional()
    outer = Schema(Type.STRUCT, fields=(Field("in", inner),), optional=True)
    identity = ColumnIdentity()
    whole = Column(outer, identity, Encoding.PYTHON, 0, json.loads, {"in": {"a": "made up"}})
    part = member(whole, "in")
    opened = as_struct(part)
    assert opened is not None
    cells = cells_of([b'{"in":{"a":"1"}}', b'{"in":null}', None])
    avro, _ = numbered_avro(AvroOptions())
    for node in (part, opened):
        records = three_rows().with_shape(Shape("t", None, node)).with_column(identity, cells)
        assert values_of([records]) == ['{"a":"1"}', None, '{"a":"made up"}']
        strings = ["Struct{a=1}", None, "Struct{a=made up}"]
        assert values_of([records], StringConverter()) == strings
        avro_values = values_of([records], avro)
        assert [value is None for value in avro_values] == [False, True, False]
        assert nulls(records, node).tolist() == [False, True, False]
        assert tombstones(records).tolist() == [False, True, False]


def test_an_empty_cell_that_python_renders_has_a_text_of_its_own() -> None:
    """The text of an empty cell may begin where the next one begins."""
    identity = ColumnIdentity()
    backwards = Column(OPTIONAL, identity, Encoding.PYTHON, 0, reversed_text)
    records = three_rows().with_shape(Shape("t", None, backwards))
    for texts in ([b"", b"ab", b""], [b"ab", b"", b"cd"]):
        expected = [f'"{text.decode()[::-1]}"' for text in texts]
        assert values_of([records.with_column(identity, cells_of(texts))]) == expected
