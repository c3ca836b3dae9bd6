"""Db2's stand-in under random workloads: with the peculiarities that a seed draws."""

from __future__ import annotations

import base64
import random
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

import ibm_db_dbi

from headrace.connectors.db2.lsn import parse_lsn, place_of
from headrace_demo.db2 import driver
from headrace_demo.db2.control_tables import SIMULATOR, TABLES
from headrace_demo.db2.derby import DerbyServer
from headrace_demo.db2.peculiarities import Peculiarities
from tests.chaos.workloads.database import KEY, MARK, Change, Place, RandomDatabase, Row
from tests.servers.db2 import SCHEMA, Db2Database

USERS = {
    "derby.connection.requireAuthentication": "true",
    "derby.authentication.provider": "BUILTIN",
    "derby.user.DB2INST1": "unused",
    "derby.user.READER": "secret-word",
    "derby.database.sqlAuthorization": "true",
}
"""Settings of a server that asks for passwords and grants."""
_COLUMNS = {
    "ITEMS": {
        "NAME": "VARCHAR(2000)", "AMOUNT": "DECIMAL(12,3)", "DIGEST": "VARCHAR(20) FOR BIT DATA",
    },
    "DOCS": {"NOTE": "VARCHAR(200)", "BODY": "CLOB"},
    "PLAIN": {},
}  # fmt: skip
_LARGE = ("BODY",)
"""Columns of large objects: SQL replication captures none."""
_WORDS = ("plain", "it's", "Größe", "a, b); --", "日本語", "\n", 'q"q', "x" * 200)
_AHEAD_S = 120.0
"""How far from this clock the time of a commit may be: machines stall."""


class _RolledBack(Exception):
    """Undoes a transaction."""


class _Client:
    """A transaction, see RandomDatabase.begin."""

    def __init__(self, database: Db2Database) -> None:
        self._context = database.transaction()
        self._execute = self._context.__enter__()

    def insert_all(self, table: str, rows: list[Row]) -> None:
        for row in rows:
            columns = ", ".join(row)
            cells = ", ".join("?" if name not in _LARGE else f"'{row[name]}'" for name in row)
            values = [value for name, value in row.items() if name not in _LARGE]
            self._execute(f"INSERT INTO {_path(table)} ({columns}) VALUES ({cells})", values)

    def update(self, table: str, key: int, values: Row) -> None:
        changes = ", ".join(
            f"{name} = ?" if name not in _LARGE else f"{name} = '{value}'"
            for name, value in values.items()
        )
        given = [value for name, value in values.items() if name not in _LARGE]
        self._execute(f"UPDATE {_path(table)} SET {changes} WHERE {KEY} = ?", [*given, key])

    def delete(self, table: str, key: int) -> None:
        self._execute(f"DELETE FROM {_path(table)} WHERE {KEY} = ?", [key])

    def savepoint(self, called: str) -> None:
        self._execute(f"SAVEPOINT {called} ON ROLLBACK RETAIN CURSORS", ())

    def rollback_to(self, called: str) -> None:
        self._execute(f"ROLLBACK TO SAVEPOINT {called}", ())

    def commit(self) -> int:
        ((number,),) = self._execute(f"SELECT NUMBER FROM {SIMULATOR}.COMMITS", ())
        self._context.__exit__(None, None, None)
        return int(number)

    def rollback(self) -> None:
        undo = _RolledBack()
        assert not self._context.__exit__(_RolledBack, undo, None)


class RandomDb2(RandomDatabase):
    """See RandomDatabase. A place is the number of a commit. One transaction is open at a time, and
    only changes are read: rows of a snapshot may be newer than the log."""

    name: ClassVar[str] = "db2"
    tables = tuple(_COLUMNS)
    most_clients = most_savepoints = 1
    reads_rows = False
    large = 250

    def __init__(self, server: DerbyServer, seed: int) -> None:
        """A server with the settings USERS, and the zone that the seed draws."""
        self.peculiarities = own = Peculiarities.drawn(seed)
        self._seed, self._began = seed, time.time()
        self.prepare = partial(driver.install, own)
        self._database = Db2Database.create(server, own.width, peculiarities=own)
        self._capture = self._database.capture
        for table, columns in _COLUMNS.items():
            described = "".join(f", {name} {kind}" for name, kind in columns.items())
            own_columns = f"{KEY} INTEGER NOT NULL PRIMARY KEY, {MARK} BIGINT NOT NULL"
            self._database.create_table(table, own_columns + described)
            if own.has_views:
                self._register_view(table)
        if own.is_restrictive:
            self._grant()
        self._capture.start()
        self._capture.await_captured()

    def __str__(self) -> str:
        return str(self.peculiarities)

    def _register_view(self, table: str) -> None:
        change_table = self._capture.add_table(SCHEMA, table, f"CDC_VIEW_{table}")
        for control, column in (
            ("IBMSNAP_REGISTER", "CD_TABLE"), ("IBMSNAP_PRUNCNTL", "PHYS_CHANGE_TABLE"),
        ):  # fmt: skip
            self._database.execute(
                f"UPDATE ASNCDC.{control} SET SOURCE_VIEW_QUAL = 1 WHERE {column} = ?",
                (change_table,),
            )

    def _grant(self) -> None:
        granted = [f"ASNCDC.{table}" for table in TABLES]
        granted += [_path(table) for table in self.tables]
        granted += [f"ASNCDC.CDC_{SCHEMA}_{table}" for table in self.tables]
        for table in [*granted, f"{SIMULATOR}.DBCFG"]:
            self._database.execute(f"GRANT SELECT ON {table} TO READER")

    def properties(self) -> dict[str, str]:
        chance, own = random.Random(self._seed), self.peculiarities
        user = {"database.user": "READER", "database.password": "secret-word"}
        return self._database.properties() | {
            "topic.prefix": "random",
            "snapshot.mode": "no_data",
            "poll.interval.ms": "20",
            "include.schema.changes": "false",
            "decimal.handling.mode": "string",
            "headrace.range.max.rows": str(chance.choice((20, 300, 100_000))),
            "headrace.slices": str(chance.choice((1, 3))),
            "retriable.restart.connector.wait.ms": "50",
            **(user if own.is_restrictive else {}),
        }

    # -- transactions ---------------------------------------------------------------------------

    def values(
        self, table: str, chance: random.Random, *, is_new: bool = False, is_own: bool = False
    ) -> Row:
        made: Row = {}
        for name, kind in _COLUMNS[table].items():
            if chance.random() < (0.8 if is_new else 0.4):
                made[name] = _value(kind, chance)
                if name not in _LARGE and chance.random() < 0.1:
                    made[name] = None
        return made

    def begin(self, chance: random.Random) -> Any:
        return _Client(self._database)

    def commit(self, transactions: list[Any], chance: random.Random) -> list[Place]:
        return [Place(one.commit()) for one in transactions]

    def told(self, changes: list[Change]) -> list[Change]:
        """In a change table, an insert right after a delete is one change with it."""
        told: list[list[Change]] = []
        last: dict[str, list[Change]] = {}
        for change in changes:
            before = last.get(change.table, [])
            if change.op == "c" and [one.op for one in before] == ["d"]:
                before.append(change)
                continue
            told.append([change])
            last[change.table] = told[-1]
        return [change for group in told for change in group]

    # -- what else happens ----------------------------------------------------------------------

    def happen(
        self, chance: random.Random, busy: Collection[str], offset: Mapping[str, Any] | None
    ) -> list[tuple[Place, list[Change]]]:
        if busy or offset is None:  # whoever writes the control tables would wait for them
            return []
        kind = chance.choice(("prune", "prune", "stop", "start"))
        if kind == "prune" and "commit_lsn" in offset:
            through = place_of(parse_lsn(str(offset["commit_lsn"]))) - (
                offset.get("change_lsn") is not None
            )
            with suppress(ibm_db_dbi.Error):  # a reader holds locks: it is tried another time
                self._capture.prune(through.to_bytes(self.peculiarities.width))
        elif kind == "stop" and self._capture.is_running:
            self._capture.stop()
        elif kind == "start":
            self.settle()
        return []

    def settle(self) -> None:
        if not self._capture.is_running:
            self._capture.start()

    # -- what is there --------------------------------------------------------------------------

    def rows(self, table: str) -> dict[int, Row]:
        names = [KEY, MARK, *_COLUMNS[table]]
        read = [name for name in names if name not in _LARGE]
        found = self._database.execute(f"SELECT {', '.join(read)} FROM {_path(table)}")
        rows = [dict.fromkeys(names) | _shown(zip(read, row, strict=True)) for row in found]
        return {int(str(row[KEY])): row for row in rows}

    def begins_after(self, reads: list[Mapping[str, Any]], first: Mapping[str, Any]) -> int:
        assert not reads
        return place_of(parse_lsn(str(first["commit_lsn"])))

    def check_source(self, source: Mapping[str, Any]) -> None:
        at = source["ts_ms"] / 1000
        begun, now = self._began, time.time()
        assert begun - _AHEAD_S < at < now + _AHEAD_S, f"a commit at {at}, {begun} to {now}"

    def close(self) -> None:
        self._database.close()


def _path(table: str) -> str:
    return f"{SCHEMA}.{table}"


def _value(kind: str, chance: random.Random) -> Any:
    if kind.startswith("DECIMAL"):
        return str(Decimal(chance.randint(-99_999, 99_999)).scaleb(-3))
    if "BIT DATA" in kind:
        return chance.randbytes(chance.randint(1, 20))
    if kind == "CLOB":
        return "large " * chance.randint(1, 50)
    return " ".join(chance.choices(_WORDS[:5] if "(200)" in kind else _WORDS, k=3))


def _shown(cells: Iterator[tuple[str, Any]]) -> Row:
    """A row as events have it."""
    row: Row = {}
    for name, value in cells:
        if name == "AMOUNT" and value is not None:
            row[name] = f"{Decimal(value):.3f}"
        else:
            is_binary = isinstance(value, bytes | bytearray)
            row[name] = base64.b64encode(value).decode() if is_binary else value
    return row
