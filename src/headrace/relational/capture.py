"""What is captured: tables, columns and keys, as the configuration says."""

from __future__ import annotations

from dataclasses import replace

from headrace.config.filters import NameFilter
from headrace.relational.column_rules import column_rules
from headrace.connectors.naming import name_adjustment, topic_names
from headrace.connectors.postgresql.catalog.relations import (
    TableCatalog,
    TableDescription,
    relation_facts,
)
from headrace.connectors.postgresql.types.type_facts import TypeOptions
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.relational.events import RelationFacts
from headrace.connectors.postgresql.key_columns import KeyRendering
from headrace.connectors.postgresql.replication.pgoutput_messages import RelationMessage
from headrace.relational.reselection import reselections
from headrace.debezium.events import field_names
from headrace.debezium.keys import KeyRules
from headrace.errors import HeadraceError

_BUILT_IN = ("pg_catalog", "information_schema")


def too_many_tables(config: PostgresConfig, count: int) -> HeadraceError | None:
    """guardrail.collections.max: what is wrong with capturing `count` tables."""
    most = config.guardrail_collections_max
    if most == 0 or count <= most:
        return None
    return HeadraceError(
        "postgresql.too_many_tables",
        f"{count} tables are captured; guardrail.collections.max is {most}",
        "Narrow table.include.list, or raise guardrail.collections.max.",
    )


class Capture:
    """The configuration's filters, key rules and topic names, compiled."""

    def __init__(self, config: PostgresConfig) -> None:
        self._schemas = NameFilter(config.schema_include_list, config.schema_exclude_list)
        self._tables = NameFilter(config.table_include_list, config.table_exclude_list)
        self._columns = NameFilter(config.column_include_list, config.column_exclude_list)
        self._messages = NameFilter(
            config.message_prefix_include_list, config.message_prefix_exclude_list
        )
        self.keys = KeyRules.of(config.message_key_columns)
        self.topics = topic_names(config)
        self.names = name_adjustment(config)
        self._rules = column_rules(config)
        self._reselections = reselections(config)
        self._comments = config.include_schema_comments
        self.types = TypeOptions.of(config)
        self.key_rendering = KeyRendering.of(self.types, config)
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

    def takes_message(self, prefix: str) -> bool:
        """Whether logical messages with this prefix are captured."""
        return self._messages.accepts(prefix)

    def relation(self, message: RelationMessage, catalog: TableCatalog) -> RelationFacts:
        """Facts of a relation version; those of tables that are not captured stay empty."""
        name = f"{message.schema}.{message.table}"
        if not self.takes(name):
            return RelationFacts(message.schema, message.table, "", (), ())
        described = catalog.describe(message.oid)
        facts = relation_facts(
            message,
            described,
            catalog,
            self.topics,
            self.keys,
            self.takes_column,
            self._rules,
            comments=self._comments,
        )
        field_names(name, (column.name for column in facts.columns if column.captured), self.names)
        return self._with_lookup(facts, described)

    def _with_lookup(
        self, facts: RelationFacts, described: TableDescription | None
    ) -> RelationFacts:
        if not self._reselections or described is None:
            return facts
        names = [column.name for column in facts.columns]
        captured = [column.captured for column in facts.columns]
        primary = [name for name in described.key if name in names]
        for reselection in self._reselections:
            lookup = reselection.lookup(facts.name, names, captured, facts.key, primary)
            if lookup is not None:
                return replace(facts, lookup=lookup)
        return facts
