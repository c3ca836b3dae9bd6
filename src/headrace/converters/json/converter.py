"""Kafka Connect's JsonConverter."""

from __future__ import annotations

import pyarrow as pa

from headrace.connect.records import Node
from headrace.connect.schema import Schema, Type
from headrace.converters.json.program import compile_json
from headrace.converters.json.values import JsonOptions, render
from headrace.converters.program import MadeColumns, Program


class JsonConverter:
    """JSON, with or without schemas (see `headrace.converters.converter`)."""

    column = pa.string()

    def __init__(self, options: JsonOptions) -> None:
        self.options = options

    def program(
        self,
        topic: str,  # noqa: ARG002
        node: Node,
        made_columns: MadeColumns,
        *,
        null_has_schema: bool,
    ) -> Program:
        return compile_json(node, self.options, made_columns, null_has_schema=null_has_schema)

    def constant(self, topic: str, schema: Schema, value: object) -> bytes | None:  # noqa: ARG002
        if value is None and schema.type is Type.ANY:  # neither a schema nor a value
            return None
        text = render(schema, value, self.options)
        if self.options.schemas_enable:
            text = f'{{"schema":{schema.json},"payload":{text}}}'
        return text.encode()
