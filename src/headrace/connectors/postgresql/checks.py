"""Whether a database is ready for this connector: findings with remedies, nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import psycopg
from psycopg import sql

from headrace.config.filters import NameFilter
from headrace.connectors.postgresql.capture import Capture, too_many_tables
from headrace.connectors.postgresql.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.messages import RelationColumn, RelationMessage
from headrace.connectors.postgresql.publication import (
    add_tables,
    misnamed,
    named,
    published_oids,
    unpublished,
)
from headrace.connectors.postgresql.replica_identity import wanted_rules
from headrace.connectors.postgresql.slot import check_slot, find_slot, system_identifier
from headrace.connectors.postgresql.snapshot_mode import SnapshotRule
from headrace.connectors.postgresql.type_facts import Column
from headrace.connectors.postgresql.types import resolve
from headrace.errors import HeadraceError

Level = Literal["ok", "warning", "error"]

OLDEST = 120000  # pg_attribute.attgenerated


@dataclass(frozen=True)
class Finding:
    """What was looked at. `level` error: the connector will not start, or will miss changes.

    `code` is dotted and stable; `remedy` is empty for `ok`.
    """

    code: str
    level: Level
    message: str
    remedy: str = ""


@dataclass(frozen=True)
class _Rights:
    """What the role may do with a table, and what the log will hold of its old rows."""

    readable: bool
    row_security: bool
    owned: bool
    primary: tuple[str, ...]
    identity_index: tuple[str, ...]


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


class _Checks:
    def __init__(self, config: PostgresConfig) -> None:
        self.findings: list[Finding] = []
        self._config = config
        self._connection: psycopg.Connection | None = None
        self._tables: list[CatalogTable] = []
        self._rights: dict[int, _Rights] = {}

    def run(self) -> None:
        try:
            connection = connect(self._config, application="headrace check")
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
            self._catalog = Catalog(self._config, connection)
            try:
                self._capture = Capture(self._config)
            except HeadraceError as error:
                self._error(error)
                return
            rows = [self._find_tables, self._table_rights, self._types]
            if SnapshotRule.of(self._config).streams:
                log = [self._identities, self._slot, self._publication]
                parts = [self._server, self._replication, *rows, *log]
            else:
                self._add("postgresql.rows_only", "ok", "Rows are read, the log is not")
                parts = rows
            for part in parts:
                self._guarded(part)

    def _guarded(self, part: Callable[[], None]) -> None:
        try:
            part()
        except HeadraceError as error:
            self._error(error)

    def _add(self, code: str, level: Level, message: str, remedy: str = "") -> None:
        self.findings.append(Finding(code, level, message, remedy))

    def _error(self, error: HeadraceError) -> None:
        self._add(error.code, "error", error.message, error.remedy)

    def _rows(
        self, query: str, values: Sequence[object] | Mapping[str, object] | None = None
    ) -> list[tuple[Any, ...]]:
        assert self._connection is not None
        try:
            return self._connection.execute(query.encode(), values).fetchall()
        except psycopg.Error as error:
            raise translate(error, self._config, "Checking the database") from None

    def _quoted(self, *names: str) -> str:
        return sql.Identifier(*names).as_string(self._connection)

    @property
    def _role(self) -> str:
        return self._quoted(self._config.database_user)

    # -- server ---------------------------------------------------------------------------------

    def _server(self) -> None:
        level = self._catalog.setting("wal_level")
        if level == "logical":
            self._add("postgresql.wal_level", "ok", "wal_level is logical")
        else:
            self._add(
                "postgresql.wal_level",
                "error",
                f"wal_level is {level}; logical is needed",
                "Set wal_level = logical and restart the server.",
            )
        standby = self._is_standby()
        if standby and self._catalog.setting("hot_standby_feedback") != "on":
            self._add(
                "postgresql.standby_feedback",
                "warning",
                "hot_standby_feedback is off: the primary may remove rows of the catalogue that "
                "the slot needs, and the slot is lost",
                "Set hot_standby_feedback = on, and give the standby a physical slot.",
            )
        if standby and self._version < 160000:
            self._add(
                "postgresql.standby",
                "error",
                "The server is a standby, which decodes its log since PostgreSQL 16 only",
                "Connect to the primary.",
            )
        kept = self._catalog.setting("max_slot_wal_keep_size")
        if kept == "-1":
            self._add(
                "postgresql.wal_unlimited",
                "warning",
                "max_slot_wal_keep_size is -1: a slot that nobody reads keeps WAL until the disk "
                "is full",
                "Set a limit that covers your longest stop, and watch the slot's lag.",
            )
        elif kept:
            self._add(
                "postgresql.wal_limit",
                "ok",
                f"A slot keeps at most {kept} MB of WAL (max_slot_wal_keep_size); one that falls "
                "further behind is lost",
            )
        timeout = int(self._catalog.setting("wal_sender_timeout") or 0)
        if 0 < timeout < 5000:
            self._add(
                "postgresql.wal_sender_timeout",
                "warning",
                f"wal_sender_timeout is {timeout} ms; a short pause ends the stream",
                "Set it to 10 s or more.",
            )

    def _is_standby(self) -> bool:
        return bool(self._rows("SELECT pg_is_in_recovery()")[0][0])

    @property
    def _version(self) -> int:
        assert self._connection is not None
        return self._connection.info.server_version

    def _replication(self) -> None:
        """Logs in as the stream will: privilege, pg_hba.conf and a free walsender in one."""
        with connect(self._config, replication=True, application="headrace check") as connection:
            try:
                system_identifier(connection)
            except psycopg.Error as error:
                raise translate(error, self._config, "Opening a replication connection") from None
        user = self._config.database_user
        self._add("postgresql.replication", "ok", f"The role {user} may replicate")

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
        error = too_many_tables(self._config, len(self._tables))
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
            row[0]: _Rights(row[1], row[2], row[3], tuple(row[4] or ()), tuple(row[5] or ()))
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
        described = [self._catalog.describe(t.oid) or t for t in self._tables]
        self._tables = described
        for table in described:
            known = len(self.findings)
            for column in table.columns:
                if self._capture.takes_column(f"{table.name}.{column.name}"):
                    self._type(table, column.name, column.type_oid, column.typmod)
            if len(self.findings) == known:
                self._guarded(lambda table=table: self._relation(table))  # type: ignore[misc]
        if described and len(self.findings) == before:
            self._add("postgresql.types", "ok", "Every captured column has a supported type")

    def _type(self, table: CatalogTable, name: str, oid: int, typmod: int) -> None:
        facts = self._catalog.type_facts(oid)
        place = Column(table.name, name)
        if resolve(facts, typmod, options=self._capture.types, column=place) is None:
            self._add(
                "postgresql.type_left_out",
                "warning",
                f"{place} has the type {facts.schema}.{facts.name}, which events leave out",
                "Nothing, if that is well; otherwise set include.unknown.datatypes=true.",
            )

    def _relation(self, table: CatalogTable) -> None:
        """What the connector itself will refuse: columns that differ by case, unknown keys."""
        columns = tuple(
            RelationColumn(c.name, c.type_oid, c.typmod, c.name in table.key) for c in table.columns
        )
        message = RelationMessage(table.oid, table.schema, table.table, "d", columns)
        self._capture.relation(message, self._catalog)

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
        wanted = wanted_rules(self._config.replica_identity_autoset_values, table.name)
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

    # -- slot -----------------------------------------------------------------------------------

    def _slot(self) -> None:
        assert self._connection is not None
        name = self._config.slot_name
        try:
            state = find_slot(self._connection, name)
        except psycopg.Error as error:
            raise translate(error, self._config, "Looking at the slot") from None
        if state is None:
            most = int(self._catalog.setting("max_replication_slots") or 0)
            used = int(self._rows("SELECT count(*) FROM pg_replication_slots")[0][0])
            if used >= most:
                self._add(
                    "postgresql.limit_reached",
                    "error",
                    f"The slot {name} cannot be made: {used} of {most} slots are in use",
                    "Raise max_replication_slots, or drop unused slots.",
                )
            else:
                self._add("postgresql.slot", "ok", f"The slot {name} will be made at the start")
            return
        check_slot(state, self._config)
        if state.active_pid is not None:
            self._add(
                "postgresql.slot_in_use",
                "warning",
                f"The slot {name} is active for PID {state.active_pid}",
                "Nothing, if that is this pipeline; otherwise choose another slot.name.",
            )
        elif state.wal_status in ("unreserved", "extended"):
            self._add(
                "postgresql.slot_behind",
                "warning",
                f"The slot {name} is far behind (wal_status={state.wal_status})",
                "Start the pipeline soon, or raise max_slot_wal_keep_size.",
            )
        else:
            self._add("postgresql.slot", "ok", f"The slot {name} is there and free")

    # -- publication ----------------------------------------------------------------------------

    def _publication(self) -> None:
        name = self._config.publication_name
        mode = str(self._config.publication_autocreate_mode)
        rows = self._rows(
            "SELECT puballtables, pubinsert, pubupdate, pubdelete, pubtruncate,"
            " coalesce((to_jsonb(p)->>'pubviaroot')::boolean, false),"
            " pg_has_role(pubowner, 'USAGE') FROM pg_publication p WHERE pubname = %s",
            (name,),
        )
        if not rows:
            self._missing_publication(name, mode)
            return
        for_all, inserts, updates, deletes, truncates, via_root, owned = rows[0]
        if mode == "filtered" and for_all:
            self._add(
                "postgresql.publication_unsuitable",
                "error",
                f"The publication {name} is FOR ALL TABLES, which "
                "publication.autocreate.mode=filtered cannot narrow",
                "Drop it, choose another publication.name, or use all_tables.",
            )
            return
        assert self._connection is not None
        published = published_oids(self._connection, name)
        absent = (
            [] if for_all else unpublished(self._tables, published, self._catalog.partition_roots())
        )
        if absent and mode == "filtered":
            foreign = [t for t in absent if not self._rights[t.oid].owned]
            if not owned or foreign:
                self._add(
                    "postgresql.publication_privilege",
                    "error",
                    f"The role {self._config.database_user} may not add {named(foreign or absent)} "
                    f"to the publication {name}",
                    add_tables(self._connection, name, absent),
                )
            else:
                self._add(
                    "postgresql.publication",
                    "ok",
                    f"{named(absent)} will be added to the publication {name}",
                )
        elif absent:
            self._add(
                "postgresql.not_published",
                "error",
                f"The publication {name} lacks {named(absent)}: their changes never arrive",
                add_tables(self._connection, name, absent),
            )
        else:
            self._add("postgresql.publication", "ok", f"The publication {name} has every table")
        self._partitions(name, published, via_root=via_root)
        operations = {"c": inserts, "u": updates, "d": deletes, "t": truncates}
        words = {"c": "insert", "u": "update", "d": "delete", "t": "truncate"}
        skipped = set(self._config.skipped_operations)
        silent = [words[x] for x, there in operations.items() if not there and x not in skipped]
        if silent:
            self._add(
                "postgresql.operations_not_published",
                "warning",
                f"The publication {name} leaves out {', '.join(silent)}",
                f"ALTER PUBLICATION {self._quoted(name)} SET (publish = 'insert, update, delete, "
                "truncate');",
            )

    def _partitions(self, name: str, published: set[int] | None, *, via_root: bool) -> None:
        """A partition's changes carry its own name, or its root's: one that is not captured
        loses them. `published` None: everything."""
        roots = self._catalog.partition_roots()
        lost = misnamed(self._tables, published, roots, via_root=via_root)
        if via_root:
            said, remedy = "root", "Capture the partitioned table instead of its partitions."
        else:
            said = "partition"
            remedy = (
                f"ALTER PUBLICATION {self._quoted(name)} SET (publish_via_partition_root = true); "
                "or capture the partitions."
            )
            if published is None:
                remedy = "Set publish.via.partition.root=true, or capture the partitions."
        if lost:
            self._add(
                "postgresql.partitions_not_captured",
                "error",
                f"The publication {name} names changes by their {said}, which is not captured: "
                f"{named(lost)}",
                remedy,
            )

    def _missing_publication(self, name: str, mode: str) -> None:
        make = f"As a superuser: CREATE PUBLICATION {self._quoted(name)} FOR TABLE …;"
        if mode == "disabled":
            self._add(
                "postgresql.publication_missing",
                "error",
                f"The publication {name} does not exist, and publication.autocreate.mode is "
                "disabled",
                make,
            )
            return
        if self._is_standby():
            self._add(
                "postgresql.publication_missing",
                "error",
                f"The publication {name} does not exist, and a standby cannot make it",
                "Make it on the primary.",
            )
            return
        creates, superuser = self._rows(
            "SELECT has_database_privilege(current_database(), 'CREATE'), EXISTS (SELECT FROM"
            " pg_roles r WHERE (r.rolsuper OR r.rolname = 'rds_superuser')"
            " AND pg_has_role(r.oid, 'MEMBER'))"
        )[0]
        foreign = [t for t in self._tables if not self._rights[t.oid].owned]
        allowed = creates and (
            superuser or mode == "no_tables" or (mode == "filtered" and not foreign)
        )
        if not allowed:
            self._add(
                "postgresql.publication_privilege",
                "error",
                f"The role {self._config.database_user} may not make the publication {name} "
                f"(publication.autocreate.mode={mode})",
                f"{make} Then set publication.autocreate.mode=disabled.",
            )
        elif mode == "no_tables":
            self._add(
                "postgresql.not_published",
                "error",
                f"The publication {name} will be made without tables: no change arrives until "
                "somebody adds them",
                f"{make} Or choose another publication.autocreate.mode.",
            )
        else:
            self._add(
                "postgresql.publication", "ok", f"The publication {name} will be made at the start"
            )
            self._partitions(name, None, via_root=self._config.publish_via_partition_root)
