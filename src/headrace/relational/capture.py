"""The captured tables, columns and keys, as configured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.config.filters import NameFilter
from headrace.config.properties.modes import CaseTwins
from headrace.config.properties.relational import RelationalConfig
from headrace.config.regex.expression import compile_java_regex
from headrace.debezium.events import field_names
from headrace.debezium.keys import KeyRule, KeyRules
from headrace.debezium.naming.names import NameAdjustment
from headrace.debezium.naming.topics import TopicNames
from headrace.errors import HeadraceError
from headrace.relational.column_rules import column_rules
from headrace.relational.events import ColumnFacts, RelationFacts
from headrace.relational.reselection import reselections
from headrace.relational.table import Table


class TableCapture:
    """The configuration's filters, key rules and names, compiled."""

    def __init__(self, config: RelationalConfig, topics: TopicNames, names: NameAdjustment) -> None:
        self._schemas = NameFilter(config.schema_include_list, config.schema_exclude_list)
        self._tables = NameFilter(config.table_include_list, config.table_exclude_list)
        self._columns = NameFilter(config.column_include_list, config.column_exclude_list)
        self.keys = _key_rules(config)
        self.topics = topics
        self.names = names
        self._rules = column_rules(config)
        self._reselections = reselections(config)
        self._comments = config.include_schema_comments
        self._refuses_twins = config.headrace_case_twins is CaseTwins.FAIL
        self.signal_table = config.signal_table()

    def is_system(self, schema: str, table: str) -> bool:  # noqa: ARG002
        """Whether a table is a system table of the database, which is never captured."""
        return False

    def takes(self, table: str) -> bool:
        """Whether events of `schema.table` are captured; those of the signal table always are."""
        return table == self.signal_table or self.reads(table)

    def reads(self, table: str) -> bool:
        """Whether `schema.table` is captured and snapshots read its rows too."""
        if table == self.signal_table:
            return False
        schema, _, name = table.partition(".")
        if self.is_system(schema, name):
            return False
        return self._schemas.accepts(schema) and self._tables.accepts(table)

    def order(self, table: str) -> tuple[int, str]:
        """The sort key of a table in the snapshot's order: by the include list, then by name."""
        return self._tables.position(table), table

    def takes_column(self, column: str) -> bool:
        """Whether `schema.table.column` is captured."""
        return self._columns.accepts(column)

    def relation(self, table: Table, present: Table | None) -> RelationFacts:
        """Return the facts of a captured table. `present` is the current table, by whose key
        columns rows are read again; None: it no longer exists.

        Raises HeadraceError: `debezium.case_twins`, `debezium.field_name_twice`.
        """
        columns = [column.name for column in table.columns]
        if self._refuses_twins:
            _refuse_case_twins(table.name, columns)
        key = self.keys.key_columns(table.name, columns, table.key)
        in_deletes = key if table.identity_columns is None else table.identity_columns
        facts = RelationFacts(
            table.schema,
            table.table,
            self.topics.data(*table.path),
            tuple(self._columns_of(table)),
            key,
            key_fields=self.topics.key_fields(*table.path),
            own_id=table.own_id,
            not_in_deletes=tuple(name for name in key if name not in in_deletes),
            key_doubt=present.key_doubt if present and {*key} == {*present.key} else "",
        )
        captured = (column.name for column in facts.columns if column.captured)
        field_names(table.name, captured, self.names)
        return self._with_lookup(facts, present)

    def _columns_of(self, table: Table) -> Iterable[ColumnFacts]:
        for column in table.columns:
            name = f"{table.name}.{column.name}"
            yield ColumnFacts(
                column.name,
                column.type,
                nullable=not column.not_null,
                default=column.default,
                captured=self.takes_column(name),
                rule=self._rules.rule_for(name, f"{table.name}.{column.type.name}"),
                comment=column.comment if self._comments else None,
                id=column.id,
                filler=column.filler,
            )

    def _with_lookup(self, facts: RelationFacts, present: Table | None) -> RelationFacts:
        if not self._reselections or present is None:
            return facts
        names = facts.cell_names
        captured = [column.captured for column in facts.columns]
        primary = [name for name in present.key if name in names]
        for reselection in self._reselections:
            lookup = reselection.lookup(facts.name, names, captured, facts.key, primary)
            if lookup is not None:
                return replace(facts, lookup=lookup)
        return facts


def _key_rules(config: RelationalConfig) -> KeyRules:
    return KeyRules(
        tuple(
            KeyRule(f"{entry.table}:{column}", compile_java_regex(f"{entry.table}.{column}"))
            for entry in config.message_key_columns
            for column in entry.columns
        )
    )


def _refuse_case_twins(table: str, columns: Iterable[str]) -> None:
    folded: dict[str, str] = {}
    for column in columns:
        twin = folded.setdefault(column.lower(), column)
        if twin != column:
            raise HeadraceError(
                "debezium.case_twins",
                f"{table} has the columns {twin} and {column}, which differ by case only",
                "Rename one of them, or exclude the table.",
            )
