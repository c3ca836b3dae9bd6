"""Schemas of replicas: the tables and columns of topics."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from headrace.connect.encoding import Encoding
from headrace.connect.records import Cell, Constant, Image, Node, RowField, Shape, struct_of
from headrace.connect.schema import Schema, Type
from headrace.debezium.decimals import VARIABLE_SCALE_DECIMAL, decimal_schema
from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.schemas import (
    TableShape,
    lake_type,
    of_json,
    table_name,
    table_shape,
    to_json,
)
from headrace.sinks.replicas.lake import Column, TableName, TableSchema
from headrace.transforms.debezium.envelopes import envelope_of

TEXT, NUMBER = Schema(Type.STRING, optional=True), Schema(Type.INT32, optional=True)
OP = RowField(Schema(Type.STRING), "operation", character=True)


def cells(image: Image, **schemas: Schema) -> dict[str, Node]:
    return {
        name: Cell(schema, image, column, Encoding.STRING, 0, bytes.decode)
        for column, (name, schema) in enumerate(schemas.items())
    }


def shape(key: dict[str, Node], row: dict[str, Node]) -> Shape:
    after = replace(struct_of("t.Value", row), image=Image.NEW)
    value = struct_of("t.Envelope", {"after": after, "op": OP})
    return Shape("server.s.t", struct_of("t.Key", key) if key else None, value)


def table_of(record_shape: Shape) -> TableShape:
    envelope = envelope_of(record_shape)
    assert envelope is not None
    return table_shape(record_shape, envelope)


@pytest.mark.parametrize(
    ("topic", "prefix", "name"),
    [
        ("server.public.orders", "server", TableName(("public",), "orders")),
        ("server.shop.public.orders", "server", TableName(("shop_public",), "orders")),
        ("a.b.public.orders", "a.b", TableName(("public",), "orders")),
        ("server.orders", "server", TableName((), "orders")),
        ("orders", "server", TableName((), "orders")),
        ("servers.orders", "server", TableName(("servers",), "orders")),
    ],
)
def test_a_topic_names_a_table_in_a_namespace(topic: str, prefix: str, name: TableName) -> None:
    assert table_name(topic, prefix) == name


def test_columns_are_those_of_the_row_and_the_key_is_of_them() -> None:
    row = cells(Image.NEW, name=replace(TEXT, doc="a comment"), id=NUMBER, at=TEXT)
    table = table_of(shape(cells(Image.KEY, id=NUMBER), row))
    assert table.schema == TableSchema(
        (
            Column("name", pa.string(), "a comment"),
            Column("id", pa.int32()),
            Column("at", pa.string()),
        ),
        ("id",),
    )
    assert of_json(table.json) == table.schema


def test_rows_without_a_key_are_a_table_without_a_key() -> None:
    assert table_of(shape({}, cells(Image.NEW, id=NUMBER))).key == ()


def test_columns_that_differ_in_case_only_are_an_error_that_names_both() -> None:
    row = cells(Image.NEW, id=NUMBER, name=TEXT, NAME=TEXT)
    with pytest.raises(HeadraceError, match=r"name and NAME of server\.s\.t"):
        table_of(shape(cells(Image.KEY, id=NUMBER), row))


def test_a_field_of_the_key_that_is_no_column_is_an_error_that_names_it() -> None:
    with pytest.raises(HeadraceError, match=r"the key of server\.s\.t has the field other"):
        table_of(shape(cells(Image.KEY, other=NUMBER), cells(Image.NEW, id=NUMBER)))


def test_a_column_of_the_key_whose_values_are_masked_is_an_error() -> None:
    masked = TEXT.with_parameters({"masked": "true"})
    with pytest.raises(HeadraceError, match="another value in the column id") as raised:
        table_of(shape(cells(Image.KEY, id=TEXT), cells(Image.NEW, id=masked)))
    assert raised.value.code == "replicas.key_altered"


def test_a_constant_that_only_the_key_has_is_the_first_column() -> None:
    key = {**cells(Image.KEY, id=TEXT), "shard": Constant(Schema(Type.STRING), "orders_1")}
    table = table_of(shape(key, cells(Image.NEW, id=TEXT, n=NUMBER)))
    assert table.schema.names == ("shard", "id", "n")
    assert table.key == ("id", "shard")
    with pytest.raises(HeadraceError, match="another value in the column shard") as raised:
        table_of(shape(key, cells(Image.NEW, id=TEXT, shard=Schema(Type.STRING))))
    assert raised.value.code == "replicas.key_altered"


def test_what_a_type_says_of_itself_is_no_comment() -> None:
    (column,) = table_of(shape({}, cells(Image.NEW, n=VARIABLE_SCALE_DECIMAL))).schema.columns
    assert column == Column("n", pa.string())


def test_types_have_no_large_forms_and_no_small_integers() -> None:
    small = Schema(Type.INT16)
    nested = struct_of(None, cells(Image.NEW, a=small, b=Schema(Type.BYTES))).schema
    labels = Schema(Type.MAP, keys=TEXT, values=Schema(Type.ARRAY, values=small))
    assert lake_type(Schema(Type.INT8)) == pa.int32()
    assert lake_type(nested) == pa.struct([("a", pa.int32()), ("b", pa.binary())])
    assert lake_type(labels) == pa.map_(pa.string(), pa.list_(pa.int32()))


def test_schemas_of_all_types_are_read_back_from_their_json() -> None:
    plain = [Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING,
             Type.BYTES]  # fmt: skip
    types = [
        *(lake_type(Schema(kind)) for kind in plain),
        lake_type(decimal_schema(2, 12)),
        pa.date32(),
        pa.timestamp("us"),
        pa.timestamp("us", "UTC"),
        pa.list_(pa.decimal128(38, 10)),
        pa.map_(pa.string(), pa.struct([("a", pa.list_(pa.int32()))])),
        pa.struct([("é", pa.string()), ("x", pa.timestamp("us", "UTC"))]),
    ]
    columns = tuple(Column(f"c{n}", kind, f"of {n}") for n, kind in enumerate(types))
    schema = TableSchema((*columns, Column("id", pa.int64())), ("id",), "of the table")
    assert of_json(to_json(schema)) == schema


def test_a_type_that_no_table_has_is_not_written_as_json() -> None:
    with pytest.raises(TypeError, match="uint8"):
        to_json(TableSchema((Column("c", pa.uint8()),), ()))


def test_a_value_that_is_neither_row_nor_document_is_an_error() -> None:
    value = struct_of("t.Envelope", {"after": cells(Image.NEW, id=NUMBER)["id"], "op": OP})
    with pytest.raises(HeadraceError, match="neither rows nor documents"):
        table_shape(Shape("t", None, value), value)
