"""Checks of captured tables, common to all relational connectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic

from headrace.config.filters import NameFilter
from headrace.config.properties.relational import RelationalConfig
from headrace.debezium.naming.clashes import name_clashes
from headrace.errors import HeadraceError
from headrace.findings import ConnectorChecks, Findings, named
from headrace.relational.capture import TableCapture
from headrace.relational.catalog import T, TableCatalog
from headrace.relational.overrides import PROPERTY, Overrides
from headrace.relational.reselection import unmatched
from headrace.relational.table import Table
from headrace.relational.types.column_type import ColumnName
from headrace.relational.types.options import TypeOptions

_SIGNAL_COLUMNS = 3


def named_tables(tables: Sequence[Table]) -> str:
    """The names of the first tables, and the number of further ones."""
    return named([table.name for table in tables])


def include_lists(config: RelationalConfig) -> str:
    """The properties of a connector that select the captured tables."""
    return " and ".join(filter(config.supports, ("table.include.list", "schema.include.list")))


def no_tables(connector: str, database: str, config: RelationalConfig) -> HeadraceError:
    """The error if no table of `database` is captured."""
    include = config.table_include_list
    condition = f"matches table.include.list ({', '.join(include)})" if include else "is captured"
    return HeadraceError(
        f"{connector}.no_tables",
        f"No table of {database} {condition}",
        f"Check {include_lists(config)} (schema.table, regular expressions that match the whole "
        "name).",
    )


def names_tables(config: RelationalConfig) -> bool:
    """Whether the configuration includes tables by name: then a start without any is refused.
    Without names, tables may be created later."""
    return bool(config.table_include_list)


def too_many_tables(connector: str, config: RelationalConfig, count: int) -> HeadraceError | None:
    """The error if capturing `count` tables exceeds guardrail.collections.max, otherwise None.
    `connector` is the prefix of the connector's error codes."""
    limit = config.guardrail_collections_max
    if limit == 0 or count <= limit:
        return None
    return HeadraceError(
        f"{connector}.too_many_tables",
        f"{count} tables are captured; guardrail.collections.max is {limit}",
        "Narrow table.include.list, or raise guardrail.collections.max.",
    )


def signal_table_error(connector: str, tables: Iterable[Table], name: str) -> HeadraceError | None:
    """The error of the signal table `name`, looked up among `tables`; None if it is valid."""
    table = next((table for table in tables if table.name == name), None)
    if table is None:
        defect = "does not exist"
    elif len(table.columns) != _SIGNAL_COLUMNS:
        defect = f"has {len(table.columns)} columns instead of three"
    else:
        return None
    return HeadraceError(
        f"{connector}.signal_table",
        f"The signal table {name} (signal.data.collection) {defect}",
        f"CREATE TABLE {name} (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, "
        "data varchar(2048)); and grant the connector's user SELECT, INSERT and DELETE on it. Its "
        "changes have to be in the log, as those of captured tables.",
    )


def shared_names(
    connector: str, tables: Iterable[Table], capture: TableCapture
) -> list[HeadraceError]:
    """Warnings for tables whose events cannot be distinguished. `connector` is the prefix of
    codes."""
    paths = sorted(table.path for table in tables)  # a catalog has no order
    clashes = name_clashes(paths, capture.topics, capture.names)
    return [
        HeadraceError(f"{connector}.shared_name", str(clash), clash.remedy) for clash in clashes
    ]


def missing_overrides(connector: str, config: RelationalConfig) -> list[HeadraceError]:
    """Warnings for tables that are listed but have no statement of their own. `connector` is the
    prefix of codes."""
    return [
        HeadraceError(
            f"{connector}.override_missing",
            f"{PROPERTY} names {name}, but has no statement for it",
            f"Set {PROPERTY}.{name}; otherwise all rows are read.",
        )
        for name in Overrides.of(config).without_statement
    ]


def key_warnings(capture: TableCapture, tables: Iterable[Table]) -> list[HeadraceError]:
    """Warnings for columns of `message.key.columns` that none of these tables has."""
    names = [(table.name, [column.name for column in table.columns]) for table in tables]
    return [
        HeadraceError(
            "debezium.key_column_missing",
            f"message.key.columns has {text}, which matches no column of a captured table",
            "Check the spelling: schema.table:column, as regular expressions. A table without a "
            "match has its primary key.",
        )
        for text in capture.keys.unmatched(names)
    ]


def reselection_warnings(
    connector: str, config: RelationalConfig, tables: Iterable[Table]
) -> list[HeadraceError]:
    """Warnings for expressions of post-processors that match no column of these tables."""
    columns = {f"{table.name}:{column.name}" for table in tables for column in table.columns}
    return list(unmatched(connector, config, columns))


@dataclass
class TableChecks(ConnectorChecks, Generic[T]):
    """Checks of the captured tables of any database. `connector` is the prefix of error codes,
    `database` the name of the database in messages; `tables` are the captured tables after
    `find_tables`, with their columns after `check_types`."""

    connector: str
    database: str
    config: RelationalConfig
    capture: TableCapture
    findings: Findings
    catalog: TableCatalog[T]
    types: TypeOptions
    tables: list[T] = field(default_factory=list)

    def find_tables(self) -> None:
        """Count the captured tables, and check that every expression matches a table."""
        everything = self.catalog.tables()
        names = [table.name for table in everything]
        self.tables = [table for table in everything if self.capture.takes(table.name)]
        self.tables.sort(key=lambda table: self.capture.order(table.name))
        count = len(self.tables)
        if self.tables:
            self.ok(
                "tables",
                f"{count} of {len(names)} tables are captured: {named_tables(self.tables)}",
            )
        else:
            nothing = no_tables(self.connector, self.database, self.config)
            self.findings.add_error(nothing, "error" if names_tables(self.config) else "warning")
        error = too_many_tables(self.connector, self.config, count)
        if error is not None:
            fails = self.config.guardrail_collections_limit_action == "fail"
            self.findings.add_error(error, "error" if fails else "warning")
        if self.tables:
            self._check_expressions(
                "table.include.list", self.config.table_include_list, names, "table"
            )

    def check_signal_table(self) -> None:
        """Check that the signal table, if configured, exists and has three columns."""
        name = self.capture.signal_table
        if name is None:
            return
        ids = [table.id for table in self.catalog.tables() if table.name == name]
        reading = self.catalog.read(ids)
        described = [reading.describe(identity) for identity in ids]
        error = signal_table_error(self.connector, [column for column in described if column], name)
        if error is None:
            self.ok("signal_table", f"The signal table {name} exists")
        else:
            remedy = self.where_tables_are(error.remedy)
            self.findings.add_error(HeadraceError(error.code, error.message, remedy))

    def where_tables_are(self, remedy: str) -> str:
        """Return the remedy, extended if necessary so that its statements run where the tables are:
        a session may start elsewhere."""
        return remedy

    def _check_expressions(
        self, name: str, expressions: Iterable[str], tables: Sequence[str], kind: str
    ) -> None:
        for expression in expressions:
            matches = NameFilter((expression,))
            if not any(matches.accepts(table) for table in tables):
                self.warn(
                    "unmatched_expression",
                    f"{name}: {expression} matches no {kind}",
                    "Check the spelling: schema.table, as a regular expression.",
                )

    def check_types(self) -> None:
        """Check that events show every captured column, and report errors that the connector raises
        at its start: columns that differ by case, fields of one name."""
        reading = self.catalog.read([table.id for table in self.tables])
        self.tables = [reading.describe(table.id) or table for table in self.tables]
        before = len(self.findings)
        for table in self.tables:
            for column in table.columns:
                place = ColumnName(table.name, column.name)
                if not self.capture.takes_column(f"{table.name}.{column.name}"):
                    continue
                column_type = column.type.resolve(
                    self.types, optional=True, default=None, column=place
                )
                if column_type is None:
                    self.warn(
                        "type_left_out",
                        f"{place} has the type {column.type}, which events leave out",
                        f"Nothing, if this is intended; otherwise {self._other_type()}.",
                    )
            self.findings.guard(lambda table=table: self._check_relation(table))  # type: ignore[misc]
        for error in (
            *key_warnings(self.capture, self.tables),
            *reselection_warnings(self.connector, self.config, self.tables),
        ):
            self.findings.add_error(error, "warning")
        if self.tables and len(self.findings) == before:
            self.ok("types", "Every captured column has a supported type")

    def _other_type(self) -> str:
        unknown = "include.unknown.datatypes"
        return f"set {unknown}=true" if self.config.supports(unknown) else "alter the column"

    def _check_relation(self, table: Table) -> None:
        self.capture.relation(table, table)

    def check_names(self) -> None:
        """Check that the events of all tables can be distinguished."""
        for error in shared_names(self.connector, self.tables, self.capture):
            self.findings.add_error(error, "warning")

    def check_snapshot(self) -> None:
        """Check that the snapshot's lists match captured tables, and that their statements
        exist."""
        names = [table.name for table in self.tables]
        expressions = self.config.snapshot_include_collection_list
        self._check_expressions(
            "snapshot.include.collection.list", expressions, names, "captured table"
        )
        for error in missing_overrides(self.connector, self.config):
            self.findings.add_error(error, "warning")
