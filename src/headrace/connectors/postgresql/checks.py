"""Whether a database is ready for this connector: findings with remedies, nothing is changed."""

from __future__ import annotations

from dataclasses import replace

from headrace.config.filters import NameFilter
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import (
    Catalog,
    CatalogColumn,
    CatalogReading,
    CatalogTable,
)
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import CHECK_LIMIT, connect
from headrace.connectors.postgresql.findings import Finding, Rights
from headrace.connectors.postgresql.log_checks import LogChecks
from headrace.connectors.postgresql.reading.overrides import check_overrides
from headrace.connectors.postgresql.replica_identity_rules import rules_for
from headrace.connectors.postgresql.replication.publication import named
from headrace.connectors.postgresql.source import CONNECTOR
from headrace.debezium.naming.clashes import name_clashes
from headrace.errors import HeadraceError
from headrace.relational.checks import too_many_tables
from headrace.relational.overrides import Overrides
from headrace.relational.types.column_type import ColumnName

OLDEST = 120000  # pg_attribute.attgenerated

_RIGHTS = """
SELECT c.oid,
  has_schema_privilege(c.relnamespace, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'),
  row_security_active(c.oid), pg_has_role(c.relowner, 'USAGE'),
  (SELECT array_agg(a.attname::text) FROM pg_index i
   JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
   WHERE i.indrelid = c.oid AND i.indisprimary),
  (SELECT array_agg(a.attname::text) FROM pg_index i
   JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
   WHERE i.indrelid = c.oid AND i.indisreplident)
FROM pg_class c WHERE c.oid = ANY (%s)
"""


def check(config: PostgresConfig) -> list[Finding]:
    """Looks at server, role, tables, slot and publication; never raises for what it finds.

    It only reads, so the role of the connector (LOGIN, REPLICATION, CONNECT, SELECT) suffices.
    """
    checks = _Checks(config)
    checks.run()
    return checks.findings


class _Checks(LogChecks):
    _reading: CatalogReading

    def run(self) -> None:
        try:
            connection = connect(
                self._config,
                application="headrace check",
                limit=CHECK_LIMIT,
            )
        except HeadraceError as error:
            self._error(error)
            return
        with connection:
            self._connection = connection
            version = connection.info.server_version
            name = f"PostgreSQL {version // 10000}.{version % 10000}"
            if version < OLDEST:
                self._add(
                    "postgresql.version", "error", f"{name} is too old", "Use version 12 or later."
                )
                return
            self._add("postgresql.version", "ok", f"{name} answers")
            self._catalog = Catalog(self._config, connection, CHECK_LIMIT)
            try:
                self._capture = Capture(self._config)
            except HeadraceError as error:
                self._error(error)
                return
            rows = [self._find_tables, self._table_rights, self._types, self._names]
            if self._rule.at_first:
                rows.append(self._snapshot)
            if self._rule.streams:
                log = [self._identities, self._slot, self._publication]
                parts = [self._server, self._replication, *rows, *log, self._channels]
            else:
                self._add("postgresql.rows_only", "ok", "Rows are read, the log is not")
                parts = rows
            for part in parts:
                self._guarded(part)

    # -- tables ---------------------------------------------------------------------------------

    def _find_tables(self) -> None:
        everything = self._catalog.tables()
        names = [table.name for table in everything]
        self._tables = [t for t in everything if self._capture.takes(t.name)]
        self._tables.sort(key=lambda t: self._capture.order(t.name))
        if self._tables:
            self._add(
                "postgresql.tables",
                "ok",
                f"{len(self._tables)} of {len(names)} tables are captured: {named(self._tables)}",
            )
        else:
            self._add(
                "postgresql.no_tables",
                "error",
                f"No table of {self._config.database_dbname} is captured",
                "Check table.include.list and schema.include.list (schema.table, regular "
                "expressions that match the whole name).",
            )
        error = too_many_tables(CONNECTOR, self._config, len(self._tables))
        if error is not None:
            fails = self._config.guardrail_collections_limit_action == "fail"
            self._add(error.code, "error" if fails else "warning", error.message, error.remedy)
        for expression in self._config.table_include_list:
            matches = NameFilter((expression,))
            if self._tables and not any(matches.accepts(name) for name in names):
                self._add(
                    "postgresql.unmatched_expression",
                    "warning",
                    f"table.include.list: {expression} matches no table",
                    "Check the spelling: schema.table, as a regular expression.",
                )

    def _table_rights(self) -> None:
        rows = self._rows(_RIGHTS, ([t.oid for t in self._tables],))
        self._rights = {
            row[0]: Rights(row[1], row[2], row[3], tuple(row[4] or ()), tuple(row[5] or ()))
            for row in rows
        }
        # A table may have been dropped since; it is left out from here on.
        self._tables = [t for t in self._tables if t.oid in self._rights]
        hidden = [t for t in self._tables if not self._rights[t.oid].readable]
        for table in hidden:
            name = self._quoted(table.schema, table.table)
            self._add(
                "postgresql.no_privilege",
                "error",
                f"The role {self._config.database_user} may not read {table.name}",
                f"GRANT USAGE ON SCHEMA {self._quoted(table.schema)} TO {self._role}; "
                f"GRANT SELECT ON {name} TO {self._role};",
            )
        if self._tables and not hidden:
            self._add("postgresql.select", "ok", "Every captured table may be read")
        for table in self._tables:
            if self._rights[table.oid].row_security:
                self._add(
                    "postgresql.row_security",
                    "warning",
                    f"Row security of {table.name} applies to the role: the snapshot reads some "
                    "rows, the log holds all",
                    f"ALTER ROLE {self._role} BYPASSRLS;",
                )

    def _types(self) -> None:
        before = len(self.findings)
        self._reading = self._catalog.read([table.oid for table in self._tables])
        described = [self._reading.describe(table.oid) or table for table in self._tables]
        self._tables = described
        for table in described:
            known = len(self.findings)
            for column in table.columns:
                if self._capture.takes_column(f"{table.name}.{column.name}"):
                    self._type(table, column)
            if len(self.findings) == known:
                self._guarded(lambda table=table: self._relation(table))  # type: ignore[misc]
        if described and len(self.findings) == before:
            self._add("postgresql.types", "ok", "Every captured column has a supported type")

    def _type(self, table: CatalogTable, column: CatalogColumn) -> None:
        place = ColumnName(table.name, column.name)
        shown = column.type.resolve(self._capture.types, optional=True, default=None, column=place)
        if shown is None:
            facts = column.type.facts
            self._add(
                "postgresql.type_left_out",
                "warning",
                f"{place} has the type {facts.schema}.{facts.name}, which events leave out",
                "Nothing, if that is well; otherwise set include.unknown.datatypes=true.",
            )

    def _relation(self, table: CatalogTable) -> None:
        """What the connector itself will refuse: columns that differ by case, unknown keys."""
        self._capture.relation(table, table)

    def _names(self) -> None:
        names = [(table.schema, table.table) for table in self._tables]
        for clash in name_clashes(names, self._capture.topics, self._capture.names):
            self._add("postgresql.shared_name", "warning", str(clash), clash.remedy)

    def _identities(self) -> None:
        unidentified, partial, full = [], [], []
        for table in map(self._with_identity_set, self._tables):
            rights = self._rights[table.oid]
            if table.identity == "f":
                full.append(table)
                continue
            identity = {"d": rights.primary, "i": rights.identity_index}.get(table.identity, ())
            if not identity:
                unidentified.append(table)
                continue
            names = [c.name for c in table.columns]
            if set(self._capture.keys.key_columns(table.name, names, table.key)) - set(identity):
                partial.append(table)
        if unidentified:
            self._add(
                "postgresql.no_replica_identity",
                "warning",
                "PostgreSQL refuses UPDATE and DELETE, once they are published, on tables without "
                f"primary key or other replica identity: {named(unidentified)}",
                self._make_full(unidentified[0]),
            )
        if partial:
            self._add(
                "postgresql.key_not_in_identity",
                "warning",
                "The replica identity lacks columns of the events' key, so deletes have no full "
                f"key: {named(partial)}",
                self._make_full(partial[0]),
            )
        if full:
            self._add(
                "postgresql.replica_identity_full",
                "ok",
                f"`before` is complete, and WAL is larger, for {named(full)}",
            )
        others = len(self._tables) - len(unidentified) - len(partial) - len(full)
        if others:
            self._add(
                "postgresql.replica_identity",
                "ok",
                f"{others} tables are identified by a key: `before` holds it alone, and an "
                "unchanged large value is replaced by unavailable.value.placeholder",
            )

    def _with_identity_set(self, table: CatalogTable) -> CatalogTable:
        """As replica.identity.autoset.values will leave it."""
        wanted = rules_for(self._config.replica_identity_autoset_values, table.name)
        if len(wanted) != 1 or wanted[0].letter == table.identity:
            return table
        if wanted[0].index is None and self._rights[table.oid].owned:
            return replace(table, identity=wanted[0].letter)
        if not self._rights[table.oid].owned:
            name = self._quoted(table.schema, table.table)
            self._add(
                "postgresql.identity_not_owned",
                "warning",
                f"The role {self._config.database_user} does not own {table.name}, so "
                f"replica.identity.autoset.values cannot set its replica identity to {wanted[0]}",
                f"As its owner: ALTER TABLE {name} REPLICA IDENTITY {wanted[0].statement};",
            )
        return table

    def _make_full(self, table: CatalogTable) -> str:
        name = self._quoted(table.schema, table.table)
        return f"Add a primary key, or ALTER TABLE {name} REPLICA IDENTITY FULL;"

    def _snapshot(self) -> None:
        check_overrides(self._config)
        names = [table.name for table in self._tables]
        for expression in self._config.snapshot_include_collection_list:
            matches = NameFilter((expression,))
            if not any(matches.accepts(name) for name in names):
                self._add(
                    "postgresql.unmatched_expression",
                    "warning",
                    f"snapshot.include.collection.list: {expression} matches no captured table",
                    "Check the spelling: schema.table, as a regular expression.",
                )
        for name in Overrides.of(self._config).without:
            self._add(
                "postgresql.override_missing",
                "warning",
                f"snapshot.select.statement.overrides names {name}, but has no statement for it",
                f"Set snapshot.select.statement.overrides.{name}; otherwise all rows are read.",
            )
