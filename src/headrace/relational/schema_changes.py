"""Schema change events: records of the topic topic.prefix, which describe a table and its columns.

A schema change is a row of the log like any other (decision 14): it comes before the changes that
have the new columns, refers to its own relation version (`SchemaChangeFacts`), and its text is its
new image (`schema_change_image`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connect.encoding import Encoding
from headrace.connect.images import make_image
from headrace.connect.records import Cell, Image, Node, ProcessingTime, Shape, Struct
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.naming.names import NameAdjustment
from headrace.relational.events import RelationalSettings, RelationFacts
from headrace.relational.history.records import HistoryRecord, TableChange
from headrace.streaming.facts import EventSettings, TopicFacts

OPERATION = ord("s")
"""The operation of a schema change's row. It is not shown; any value but 0 is not a tombstone."""

_TEXT = Schema(Type.STRING)
_OPTIONAL_TEXT = Schema(Type.STRING, optional=True)
_INT32 = Schema(Type.INT32)
_OPTIONAL_INT32 = Schema(Type.INT32, optional=True)
_OPTIONAL_BOOLEAN = Schema(Type.BOOLEAN, optional=True)
_OPTIONAL_TEXTS = Schema(Type.ARRAY, optional=True, values=_TEXT)

_DATABASE, _SCHEMA, _DDL, _CHANGES = range(4)
FIRST_OWN = _CHANGES + 1


def _column_schema(names: NameAdjustment) -> Schema:
    fields = {
        "name": _TEXT,
        "jdbcType": _INT32,
        "nativeType": _OPTIONAL_INT32,
        "typeName": _TEXT,
        "typeExpression": _OPTIONAL_TEXT,
        "charsetName": _OPTIONAL_TEXT,
        "length": _OPTIONAL_INT32,
        "scale": _OPTIONAL_INT32,
        "position": _INT32,
        "optional": _OPTIONAL_BOOLEAN,
        "autoIncremented": _OPTIONAL_BOOLEAN,
        "generated": _OPTIONAL_BOOLEAN,
        "comment": _OPTIONAL_TEXT,
        "defaultValueExpression": _OPTIONAL_TEXT,
        "enumValues": _OPTIONAL_TEXTS,
    }
    return _struct(names.schema("io.debezium.connector.schema.Column"), fields)


def _struct(name: str, fields: dict[str, Schema], *, optional: bool = False) -> Schema:
    described = tuple(Field(field, schema) for field, schema in fields.items())
    return Schema(Type.STRUCT, name=name, version=1, optional=optional, fields=described)


def changes_schema(names: NameAdjustment) -> Schema:
    """The schema of `tableChanges`."""
    columns = Schema(Type.ARRAY, values=_column_schema(names))
    table = {
        "defaultCharsetName": _OPTIONAL_TEXT,
        "primaryKeyColumnNames": _OPTIONAL_TEXTS,
        "columns": columns,
        "comment": _OPTIONAL_TEXT,
    }
    change = {
        "type": _TEXT,
        "id": _TEXT,
        "table": _struct(names.schema("io.debezium.connector.schema.Table"), table, optional=True),
    }
    return Schema(
        Type.ARRAY, values=_struct(names.schema("io.debezium.connector.schema.Change"), change)
    )


@dataclass(frozen=True)
class SchemaChangeFacts(TopicFacts):
    """Facts of the schema changes of one table, shown by `source`. `schema_change_image` creates
    their images."""

    schema: str = ""
    table: str = ""

    def source(self, settings: RelationalSettings) -> Struct:
        """The source block."""
        facts = RelationFacts(self.schema, self.table, self.topic, (), ())
        return settings.source.block(facts, settings)

    def shape(self, settings: EventSettings) -> Shape:
        """Debezium's schema change record."""
        assert isinstance(settings, RelationalSettings)
        names, connector = settings.names, settings.source.connector
        prefix = f"io.debezium.connector.{connector}"
        source = self.source(settings)
        key = {"databaseName": _cell(_TEXT, _DATABASE, null="")}
        changes = changes_schema(names)
        value: dict[str, Node] = {
            "source": source,
            "ts_ms": ProcessingTime(Schema(Type.INT64), "ms"),
            "databaseName": _cell(_OPTIONAL_TEXT, _DATABASE),
            "schemaName": _cell(_OPTIONAL_TEXT, _SCHEMA),
            "ddl": _cell(_OPTIONAL_TEXT, _DDL),
            "tableChanges": Cell(changes, Image.NEW, _CHANGES, Encoding.PYTHON, 0, json.loads),
        }
        return Shape(
            self.topic,
            Struct(
                _struct(names.schema(f"{prefix}.SchemaChangeKey"), {"databaseName": _TEXT}),
                tuple(key.values()),
            ),
            Struct(
                _struct(
                    names.schema(f"{prefix}.SchemaChangeValue"),
                    {name: node.schema for name, node in value.items()},
                ),
                tuple(value.values()),
            ),
            settings.headers(),
        )


def _cell(schema: Schema, column: int, null: str | None = None) -> Cell:
    return Cell(schema, Image.NEW, column, Encoding.STRING, 0, bytes.decode, null=null)


def schema_change_image(record: HistoryRecord, own_cells: Sequence[str | None] = ()) -> bytes:
    """Return the image of the event of a history record. `own_cells` are the cells of the
    connector's source block, from the column FIRST_OWN on."""
    changes = json.dumps([_event_change(change) for change in record.changes or ()])
    return make_image([record.database, record.schema, record.ddl, changes, *own_cells])


def _event_change(change: TableChange) -> dict[str, Any]:
    """The content of a change's event: its table includes the comment, and only the members of
    Debezium's schema."""
    members = change.to_json()
    head = {"type": members["type"], "id": members["id"]}
    table = members.get("table")
    if table is None:
        return {**head, "table": None}
    columns = [
        {name: value for name, value in column.items() if name != "hasDefaultValue"}
        | {"enumValues": column["enumValues"] or None}
        for column in table["columns"]
    ]
    return {
        **head,
        "table": {
            "defaultCharsetName": table["defaultCharsetName"],
            "primaryKeyColumnNames": table["primaryKeyColumnNames"],
            "columns": columns,
            "comment": members["comment"],
        },
    }
