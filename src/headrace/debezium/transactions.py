"""Transaction metadata: the block in events, and the records at the borders of a transaction.

Shared by the connectors, which define the text of a transaction's id.
"""

from __future__ import annotations

import json

from headrace.connect.encoding import Encoding
from headrace.connect.records import (
    Cell,
    Constant,
    Image,
    Node,
    OrderField,
    Shape,
    Struct,
    TransactionField,
)
from headrace.connect.schema import Field, Schema, Type

_STRING = Schema(Type.STRING)
_INT64 = Schema(Type.INT64)

BLOCK = Schema(
    Type.STRUCT,
    optional=True,
    name="event.block",
    version=1,
    fields=(
        Field("id", _STRING),
        Field("total_order", _INT64),
        Field("data_collection_order", _INT64),
    ),
)

KEY = Schema(
    Type.STRUCT,
    name="io.debezium.connector.common.TransactionMetadataKey",
    version=1,
    fields=(Field("id", _STRING),),
)

_COLLECTION = Schema(
    Type.STRUCT,
    optional=True,
    name="event.collection",
    version=1,
    fields=(Field("data_collection", _STRING), Field("event_count", _INT64)),
)

VALUE = Schema(
    Type.STRUCT,
    name="io.debezium.connector.common.TransactionMetadataValue",
    version=1,
    fields=(
        Field("status", _STRING),
        Field("id", _STRING),
        Field("event_count", Schema(Type.INT64, optional=True)),
        Field("data_collections", Schema(Type.ARRAY, optional=True, values=_COLLECTION)),
        Field("ts_ms", _INT64),
    ),
)

MESSAGES = "LOGICAL_DECODING_MESSAGE"
"""Name of logical messages among the data collections."""


def block(identifier: Node) -> Struct:
    """The `transaction` block of rows with an order in their transaction."""
    return Struct(
        BLOCK, (identifier, OrderField(_INT64, "total"), OrderField(_INT64, "collection"))
    )


def no_block() -> Constant:
    """The block of a row without a transaction, or if transaction metadata is disabled."""
    return Constant(BLOCK, None)


def border(topic: str, identifier: Node, *, begins: bool) -> Shape:
    """The record at the beginning or end of a transaction.

    At the end, the row counts its events, and its new image has one cell: the counts by data
    collection as JSON.
    """
    schemas = {field.name: field.schema for field in VALUE.fields}
    count: Node = Constant(schemas["event_count"], None)
    collections: Node = Constant(schemas["data_collections"], None)
    if not begins:
        count = OrderField(schemas["event_count"], "total")
        schema = schemas["data_collections"]
        collections = Cell(schema, Image.NEW, 0, Encoding.JSON, 0, json.loads)
    value = Struct(
        VALUE,
        (
            Constant(schemas["status"], "BEGIN" if begins else "END"),
            identifier,
            count,
            collections,
            TransactionField(schemas["ts_ms"], "commit_ms"),
        ),
    )
    return Shape(topic, Struct(KEY, (identifier,)), value)
