"""What every connector of tables checks of what it captures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.config.filters import NameFilter
from headrace.config.properties.relational import RelationalConfig
from headrace.debezium.naming.clashes import NameClash, name_clashes
from headrace.errors import HeadraceError
from headrace.findings import Findings
from headrace.relational.capture import TableCapture
from headrace.relational.overrides import PROPERTY, Overrides
from headrace.relational.table import Table
from headrace.relational.types.column_type import ColumnName
from headrace.relational.types.options import TypeOptions

_NAMED = 5
"""Tables that a message names."""


def named(tables: Sequence[Table]) -> str:
    """The first tables' names, and how many more there are."""
    names = [table.name for table in tables[:_NAMED]]
    more = len(tables) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def too_many_tables(connector: str, config: RelationalConfig, count: int) -> HeadraceError | None:
    """guardrail.collections.max: what is wrong with capturing `count` tables. `connector` is what
    the connector's codes begin with."""
    limit = config.guardrail_collections_max
    if limit == 0 or count <= limit:
        return None
    return HeadraceError(
        f"{connector}.too_many_tables",
        f"{count} tables are captured; guardrail.collections.max is {limit}",
        "Narrow table.include.list, or raise guardrail.collections.max.",
    )


def clashes_of(tables: Iterable[Table], capture: TableCapture) -> list[NameClash]:
    """Tables whose events nobody could tell apart."""
    return name_clashes([table.path for table in tables], capture.topics, capture.names)


@dataclass(frozen=True)
class TableChecks:
    """Checks of the captured tables, whatever the database. `connector` is what its codes begin
    with, `database` how messages call the database."""

    connector: str
    database: str
    config: RelationalConfig
    capture: TableCapture
    findings: Findings

    def check_captured(self, captured: Sequence[Table], names: Sequence[str]) -> None:
        """How many tables are captured of those whose names are given, and whether every
        expression names one."""
        if captured:
            self.findings.add(
                f"{self.connector}.tables",
                "ok",
                f"{len(captured)} of {len(names)} tables are captured: {named(captured)}",
            )
        else:
            self.findings.add(
                f"{self.connector}.no_tables",
                "error",
                f"No table of {self.database} is captured",
                "Check table.include.list and schema.include.list (schema.table, regular "
                "expressions that match the whole name).",
            )
        error = too_many_tables(self.connector, self.config, len(captured))
        if error is not None:
            fails = self.config.guardrail_collections_limit_action == "fail"
            self.findings.add_error(error, "error" if fails else "warning")
        if captured:
            self._check_expressions(
                "table.include.list", self.config.table_include_list, names, "table"
            )

    def _check_expressions(
        self, name: str, expressions: Iterable[str], tables: Sequence[str], kind: str
    ) -> None:
        for expression in expressions:
            matches = NameFilter((expression,))
            if not any(matches.accepts(table) for table in tables):
                self.findings.add(
                    f"{self.connector}.unmatched_expression",
                    "warning",
                    f"{name}: {expression} matches no {kind}",
                    "Check the spelling: schema.table, as a regular expression.",
                )

    def check_types(self, tables: Sequence[Table], options: TypeOptions) -> None:
        """Whether events show every captured column, and what the connector itself will refuse:
        columns that differ by case, unknown keys."""
        before = len(self.findings)
        for table in tables:
            known = len(self.findings)
            for column in table.columns:
                place = ColumnName(table.name, column.name)
                if not self.capture.takes_column(f"{table.name}.{column.name}"):
                    continue
                shown = column.type.resolve(options, optional=True, default=None, column=place)
                if shown is None:
                    self.findings.add(
                        f"{self.connector}.type_left_out",
                        "warning",
                        f"{place} has the type {column.type}, which events leave out",
                        "Nothing, if that is well; otherwise set include.unknown.datatypes=true.",
                    )
            if len(self.findings) == known:
                self.findings.guard(lambda table=table: self._check_relation(table))  # type: ignore[misc]
        if tables and len(self.findings) == before:
            self.findings.add(
                f"{self.connector}.types", "ok", "Every captured column has a supported type"
            )

    def _check_relation(self, table: Table) -> None:
        self.capture.relation(table, table)

    def check_names(self, tables: Iterable[Table]) -> None:
        """Whether events of all tables can be told apart."""
        for clash in clashes_of(tables, self.capture):
            self.findings.add(f"{self.connector}.shared_name", "warning", str(clash), clash.remedy)

    def check_snapshot(self, tables: Iterable[Table]) -> None:
        """Whether the snapshot's lists name captured tables, and its statements are there."""
        names = [table.name for table in tables]
        expressions = self.config.snapshot_include_collection_list
        self._check_expressions(
            "snapshot.include.collection.list", expressions, names, "captured table"
        )
        for name in Overrides.of(self.config).without:
            self.findings.add(
                f"{self.connector}.override_missing",
                "warning",
                f"{PROPERTY} names {name}, but has no statement for it",
                f"Set {PROPERTY}.{name}; otherwise all rows are read.",
            )
