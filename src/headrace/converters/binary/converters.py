"""Kafka Connect's StringConverter, SimpleHeaderConverter and ByteArrayConverter (see
`headrace.converters.converter`)."""

from __future__ import annotations

import pyarrow as pa

from headrace.connect.records import Guarded, Node, Struct
from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.converters.binary.layout import Layout
from headrace.converters.binary.program import compile_binary
from headrace.converters.binary.texts import (
    CONNECT_TEXT,
    EMBEDDED_TEXT,
    JAVA_TEXT,
    RAW_BYTES,
)
from headrace.converters.converter import Converter
from headrace.converters.program import MadeColumns, Program
from headrace.errors import HeadraceError


class StringConverter:
    """Java's text of a value."""

    column = pa.string()

    def program(
        self,
        topic: str,  # noqa: ARG002
        node: Node,
        made_columns: MadeColumns,
        *,
        null_has_schema: bool,  # noqa: ARG002
    ) -> Program:
        return compile_binary(node, JAVA_TEXT, made_columns)

    def constant(self, topic: str, schema: Schema, value: object) -> bytes | None:  # noqa: ARG002
        return JAVA_TEXT.constant(schema, value)


class SimpleConverter:
    """SimpleHeaderConverter: writes texts as they are, structs like JSON."""

    column = pa.string()

    def program(
        self,
        topic: str,  # noqa: ARG002
        node: Node,
        made_columns: MadeColumns,
        *,
        null_has_schema: bool,  # noqa: ARG002
    ) -> Program:
        layout: Layout = EMBEDDED_TEXT if _is_struct(node) else CONNECT_TEXT
        return compile_binary(node, layout, made_columns)

    def constant(self, topic: str, schema: Schema, value: object) -> bytes | None:  # noqa: ARG002
        return CONNECT_TEXT.constant(schema, value)


class BytesConverter:
    """Bytes as they are: ByteArrayConverter, which accepts nothing else, and Debezium's converter,
    which leaves all other values to `delegate`."""

    column = pa.binary()

    def __init__(self, delegate: Converter | None = None) -> None:
        self._delegate = delegate

    def program(
        self,
        topic: str,
        node: Node,
        made_columns: MadeColumns,
        *,
        null_has_schema: bool,
    ) -> Program:
        if self._delegate is not None and not _are_bytes(node.schema):
            return self._delegate.program(
                topic, node, made_columns, null_has_schema=null_has_schema
            )
        _check_bytes(node.schema)
        return compile_binary(node, RAW_BYTES, made_columns)

    def constant(self, topic: str, schema: Schema, value: object) -> bytes | None:
        if self._delegate is not None and not _are_bytes(schema):
            return self._delegate.constant(topic, schema, value)
        _check_bytes(schema)
        return RAW_BYTES.constant(schema, value)


def _is_struct(node: Node) -> bool:
    return isinstance(node, Struct) or (isinstance(node, Guarded) and _is_struct(node.node))


def _are_bytes(schema: Schema) -> bool:
    return schema.type is Type.BYTES and schema.name != DECIMAL


def _check_bytes(schema: Schema) -> None:
    if _are_bytes(schema):
        return
    type_name = schema.name or schema.type.value
    if schema.type is Type.ANY:
        type_name = "value without a schema"
    raise HeadraceError(
        "converters.not_bytes",
        f"the converter bytes does not accept {type_name}",
        "It accepts only bytes: set its delegate.converter.type, or use json, avro or string.",
    )
