"""What is captured: tables, columns and keys, as the configuration says."""

from __future__ import annotations

from headrace.config.filters import NameFilter
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.events import RelationFacts
from headrace.connectors.postgresql.messages import RelationMessage
from headrace.connectors.postgresql.relations import TableCatalog, check_types, relation_facts
from headrace.connectors.postgresql.type_facts import TypeOptions
from headrace.debezium.keys import KeyRules
from headrace.debezium.topics import TopicNames

_BUILT_IN = ("pg_catalog", "information_schema")


class Capture:
    """The configuration's filters, key rules and topic names, compiled."""

    def __init__(self, config: PostgresConfig) -> None:
        self._schemas = NameFilter(config.schema_include_list, config.schema_exclude_list)
        self._tables = NameFilter(config.table_include_list, config.table_exclude_list)
        self._columns = NameFilter(config.column_include_list, config.column_exclude_list)
        self.keys = KeyRules.of(config.message_key_columns)
        self.topics = TopicNames(config.topic_prefix, config.topic_delimiter)
        self.types = TypeOptions.of(config)
        self.signal_table = config.signal_table()

    def takes(self, table: str) -> bool:
        """Whether events of `schema.table` are captured; those of the signal table always are."""
        return table == self.signal_table or self.reads(table)

    def reads(self, table: str) -> bool:
        """Whether `schema.table` is captured and snapshots read its rows too."""
        if table == self.signal_table:
            return False
        schema, _, name = table.partition(".")
        if schema in _BUILT_IN or schema.startswith("pg_temp") or name == "spatial_ref_sys":
            return False
        return self._schemas.accepts(schema) and self._tables.accepts(table)

    def order(self, table: str) -> tuple[int, str]:
        """Where the snapshot reads a table: by the include list, then by name."""
        return self._tables.position(table), table

    def takes_column(self, column: str) -> bool:
        """Whether `schema.table.column` is captured."""
        return self._columns.accepts(column)

    def relation(self, message: RelationMessage, catalog: TableCatalog) -> RelationFacts:
        """Facts of a relation version; those of tables that are not captured stay empty.

        Raises HeadraceError("postgresql.type_not_supported").
        """
        name = f"{message.schema}.{message.table}"
        if not self.takes(name):
            return RelationFacts(message.schema, message.table, "", (), ())
        facts = relation_facts(
            message,
            catalog.describe(message.oid),
            catalog,
            self.topics,
            self.keys,
            self.takes_column,
        )
        check_types(facts, self.types)
        return facts
