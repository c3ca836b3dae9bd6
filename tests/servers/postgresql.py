"""One database of a shared PostgreSQL server, empty for every test."""

from __future__ import annotations

import itertools
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import psycopg

from headrace.testing.embedded import PostgresServer

_numbers = itertools.count(1)
_SLOT_SECONDS = 300.0


@dataclass(frozen=True)
class Database:
    """A database name on a running server, with the usual ways to use it."""

    server: PostgresServer
    name: str

    @classmethod
    def create(cls, server: PostgresServer) -> Database:
        name = f"test_{os.getpid()}_{next(_numbers)}"
        SpareDatabases.of(server).take(name)
        return cls(server, name)

    def drop(self) -> None:
        """Drops the database; also ends its sessions and drops its replication slots."""
        if not SpareDatabases.of(self.server).give(self.name):
            self.server.drop_database(self.name)

    @property
    def dsn(self) -> str:
        return self.server.dsn(self.name)

    def connect(self, user: str | None = None) -> psycopg.Connection[tuple[Any, ...]]:
        """A new connection in autocommit mode."""
        return self.server.connect(self.name, user)

    def execute(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """Several statements are one transaction; the rows of the last one."""
        return self.server.execute(sql, parameters, database=self.name)

    def drop_slot(self, name: str | None = None) -> None:
        """Drop the slot, by default that of `properties`, once its walsender has left it."""
        name = name or self.name
        await_free_slot(self.server, name)
        self.execute("SELECT pg_drop_replication_slot(%s)", (name,))

    def advance_slot(self, lsn: str | None = None) -> None:
        """Another consumer takes everything up to `lsn`, by default up to now."""
        await_free_slot(self.server, self.name)
        query = "SELECT pg_replication_slot_advance(%s, coalesce(%s, pg_current_wal_lsn()))"
        self.execute(query, (self.name, lsn))

    def properties(self, **more: str) -> dict[str, str]:
        """Debezium's connection properties; `more` uses `_` for `.` in property names."""
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "headrace",
            "database.hostname": self.server.host,
            "database.port": str(self.server.port),
            "database.user": self.server.user,
            "database.password": "unused",
            "database.dbname": self.name,
            "plugin.name": "pgoutput",
            "slot.name": self.name,
            "publication.name": self.name,
        } | {name.replace("_", "."): value for name, value in more.items()}


def await_free_slot(server: PostgresServer, name: str) -> None:
    """Wait until nobody uses the slot: a walsender outlives its client for a moment."""
    query = "SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s"
    deadline = time.monotonic() + _SLOT_SECONDS
    while any(pid for (pid,) in server.execute(query, (name,))):
        assert time.monotonic() < deadline, f"the slot {name} stays in use"
        time.sleep(0.02)


_USES = 20  # catalogues keep the places of the rows that were dropped
_MAX_RELATIONS = 60  # to drop many takes as long as a database, and more locks than there are
_OWN = 16384
"""Objects from this number on are not the server's own."""

_EMPTY = """
DO $$
DECLARE name text;
BEGIN
  FOR name IN SELECT pubname FROM pg_publication LOOP
    EXECUTE format('DROP PUBLICATION %I', name);
  END LOOP;
  FOR name IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_|^information_schema$' LOOP
    EXECUTE format('DROP SCHEMA %I CASCADE', name);
  END LOOP;
END $$;
CREATE SCHEMA public AUTHORIZATION pg_database_owner;
GRANT USAGE ON SCHEMA public TO PUBLIC;
COMMENT ON SCHEMA public IS 'standard public schema'
"""
_USED = """
SELECT slot_name::text, active_pid FROM pg_replication_slots WHERE database = current_database()
UNION ALL
SELECT NULL, pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_FREE_SECONDS = 5.0
_RELATIONS = f"SELECT count(*) FROM pg_class WHERE oid >= {_OWN}"
_CATALOGUES = (
    "pg_am", "pg_cast", "pg_class", "pg_collation", "pg_constraint", "pg_conversion",
    "pg_default_acl", "pg_event_trigger", "pg_extension", "pg_foreign_data_wrapper",
    "pg_foreign_server", "pg_language", "pg_largeobject_metadata", "pg_operator", "pg_opclass",
    "pg_opfamily", "pg_policy", "pg_proc", "pg_publication", "pg_rewrite", "pg_statistic_ext",
    "pg_transform", "pg_trigger", "pg_ts_config", "pg_ts_dict", "pg_type",
)  # fmt: skip
# The server's own objects, as they were when the database was made, and nothing of anybody else.
_IS_EMPTY = (
    "SELECT "
    + " AND ".join(f"NOT EXISTS (SELECT FROM {name} WHERE oid >= {_OWN})" for name in _CATALOGUES)
    + " AND "
    + " AND ".join(
        f"NOT EXISTS (SELECT FROM {name} WHERE xmin::text::bigint >= %(made)s)"
        for name in ("pg_class", "pg_proc", "pg_type")
    )
    + " AND (SELECT array_agg(nspname::text) FROM pg_namespace WHERE xmin::text::bigint >="
    " %(made)s) = ARRAY['public']"
    + " AND EXISTS (SELECT FROM pg_database WHERE datname = current_database() AND datacl IS NULL"
    " AND datconnlimit = -1 AND datallowconn AND datdba = 10)"
    + " AND NOT EXISTS (SELECT FROM pg_db_role_setting, pg_database WHERE setdatabase ="
    " pg_database.oid AND datname = current_database())"
    + " AND NOT EXISTS (SELECT FROM pg_prepared_xacts WHERE database = current_database())"
)


class SpareDatabases:
    """Databases of a shared server that a test has left empty: the next one takes them over.

    CREATE DATABASE writes seven megabytes in three hundred files; to drop what a test made and to
    give the database another name takes a fraction of that."""

    _of: ClassVar[WeakKeyDictionary[PostgresServer, SpareDatabases]] = WeakKeyDictionary()

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._made: dict[str, tuple[int, int]] = {}  # the transaction that made it, and its uses
        self._spare: list[str] = []

    @classmethod
    def of(cls, server: PostgresServer) -> SpareDatabases:
        """The spare databases of that server."""
        return cls._of.setdefault(server, cls(server))

    def take(self, name: str) -> None:
        """Makes an empty database of that name available."""
        with self._server.connect() as admin:
            while self._spare:
                spare = self._spare.pop()
                creation_xid, uses = self._made.pop(spare)
                # A session may outlive its client for longer than the server waits.
                with suppress(psycopg.errors.ObjectInUse):
                    admin.execute(f'ALTER DATABASE "{spare}" RENAME TO "{name}"'.encode())
                    self._made[name] = creation_xid, uses + 1
                    return
            admin.execute(f'CREATE DATABASE "{name}"'.encode())
            row = admin.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()
            assert row is not None
            self._made[name] = int(row[0]), 1

    def give(self, name: str) -> bool:
        """The database of that name, whose test is over, is emptied for the next one; False: it is
        to be dropped."""
        creation_xid, uses = self._made.get(name, (0, _USES))
        if uses >= _USES or not self._is_emptied(name, creation_xid):
            self._made.pop(name, None)
            return False
        self._spare.append(name)
        return True

    def _is_emptied(self, name: str, creation_xid: int) -> bool:
        try:
            with self._server.connect(name) as connection:
                connection.execute("SET lock_timeout = '5s'; SET client_min_messages = 'error'")
                (count,) = connection.execute(_RELATIONS.encode()).fetchone() or (0,)
                if count > _MAX_RELATIONS or not _is_free(connection):
                    return False
                connection.execute(_EMPTY.encode())
                row = connection.execute(_IS_EMPTY.encode(), {"made": creation_xid}).fetchone()
                return row == (True,)
        except psycopg.Error:
            return False


def _is_free(connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
    """End the other sessions of a connection's database, and drop its replication slots."""
    deadline = time.monotonic() + _FREE_SECONDS
    while used := connection.execute(_USED.encode()).fetchall():
        for slot, pid in used:
            if pid is None:
                connection.execute("SELECT pg_drop_replication_slot(%s)", (slot,))
            else:
                connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
        if time.monotonic() > deadline:
            return False
        if any(pid is not None for _, pid in used):
            time.sleep(0.005)
    return True
