"""Db2's stand-in under random workloads: with the peculiarities that a seed draws."""

from __future__ import annotations

import base64
import random
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
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
from tests.chaos.workloads import signals
from tests.chaos.workloads.database import (
    KEY,
    MARK,
    Change,
    Place,
    RandomDatabase,
    RolledBack,
    Row,
)
from tests.chaos.workloads.db2_registrations import Registrations, insist
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
"""Columns of large objects: SQL replication captures none, and this driver reads none."""
_SIGNALS = ", ".join(
    f"{name} VARCHAR({length}) NOT NULL" for name, length in signals.COLUMNS.items()
)
_WORDS = ("plain", "it's", "Größe", "a, b); --", "日本語", "\n", 'q"q', "x" * 200)
_HAPPENINGS = (
    *("column",) * 4, *("signal",) * 3, *("prune",) * 3, *("capture",) * 3, *("remove",) * 4,
)  # fmt: skip
"""Events other than transactions; their frequency here is their probability."""
_AHEAD_S = 120.0
"""The largest difference in seconds between this clock and the time of a commit: machines stall."""
_COMMIT = f"SELECT NUMBER FROM {SIMULATOR}.COMMITS"
_LOCKED = ("40001", "40XL1")
"""SQLSTATEs of Derby: a deadlock, and the end of a wait for a lock."""


class _Client:
    """A transaction, see RandomDatabase.begin. Methods raise RolledBack for one that others could
    not wait for."""

    def __init__(self, database: Db2Database) -> None:
        self._context = database.transaction()
        self._run = self._context.__enter__()
        self.is_open = True

    def _execute(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            return self._run(statement, values)
        except ibm_db_dbi.Error as error:
            self.rollback()
            if any(state in str(error) for state in _LOCKED):
                raise RolledBack from error
            raise

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
        bound_values = [value for name, value in values.items() if name not in _LARGE]
        self._execute(f"UPDATE {_path(table)} SET {changes} WHERE {KEY} = ?", [*bound_values, key])

    def delete(self, table: str, key: int) -> None:
        self._execute(f"DELETE FROM {_path(table)} WHERE {KEY} = ?", [key])

    def savepoint(self, called: str) -> None:
        self._execute(f"SAVEPOINT {called} ON ROLLBACK RETAIN CURSORS", ())

    def rollback_to(self, called: str) -> None:
        self._execute(f"ROLLBACK TO SAVEPOINT {called}", ())

    def commit(self) -> int:
        ((number,),) = self._execute(_COMMIT, ())
        self.is_open = False
        self._context.__exit__(None, None, None)
        return int(number)

    def rollback(self) -> None:
        self.is_open = False
        assert not self._context.__exit__(RolledBack, RolledBack(), None)


class RandomDb2(RandomDatabase):
    """See RandomDatabase. A place is the number of a commit. One transaction is open at a time.
    Rows of a snapshot may be newer than the place where the log begins. The driver reads no large
    objects from the stand-in, so events that a snapshot may have leave them out."""

    name: ClassVar[str] = "db2"
    tables = tuple(_COLUMNS)
    most_clients = most_savepoints = 1
    reads_ahead = described_now = True
    large = 250

    def __init__(self, server: DerbyServer, seed: int) -> None:
        """A server with the settings USERS, and the zone that the seed draws."""
        self.peculiarities = peculiarities = Peculiarities.drawn(seed)
        self._seed, self._began = seed, time.time()
        reading = random.Random(f"{seed} reading")
        self._has_snapshots = reading.random() < 0.8
        self.reads_rows = self._has_snapshots and reading.random() < 0.8
        self.happened = Counter()
        self.prepare = partial(driver.install, peculiarities)
        self._database = Db2Database.create(
            server, peculiarities.width, peculiarities=peculiarities
        )
        self._capture = self._database.capture
        self._client: _Client | None = None
        for table, columns in _COLUMNS.items():
            described = "".join(f", {name} {kind}" for name, kind in columns.items())
            own_columns = f"{KEY} INTEGER NOT NULL PRIMARY KEY, {MARK} BIGINT NOT NULL"
            self._database.create_table(table, own_columns + described)
            if peculiarities.has_views:
                self._register_view(table)
        self._database.create_table(signals.TABLE, f"{_SIGNALS}, PRIMARY KEY (ID)")
        # What ends a statement of a window ends the window, too: there are not many of them then.
        most = 3 if peculiarities.lock_waits > 0.01 else 9
        self.signals = signals.Signals(self._signal, _path, most)
        self._registrations = Registrations(self._database, _COLUMNS)
        if peculiarities.is_restrictive:
            self._grant()
        self._capture.start()
        self._capture.await_captured()

    def __str__(self) -> str:
        first = "rows are read at first" if self.reads_rows else "no rows are read at first"
        return f"{first}, {self.peculiarities}"

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
        captured = (*self.tables, signals.TABLE)
        granted = [f"ASNCDC.{table}" for table in TABLES]
        granted += [_path(table) for table in captured]
        granted += [f"ASNCDC.CDC_{SCHEMA}_{table}" for table in captured]
        for table in [*granted, f"{SIMULATOR}.DBCFG"]:
            self._database.execute(f"GRANT SELECT ON {table} TO READER")
        self._database.execute(f"GRANT INSERT, DELETE ON {_path(signals.TABLE)} TO READER")

    def properties(self) -> dict[str, str]:
        chance, peculiarities = random.Random(self._seed), self.peculiarities
        user = {"database.user": "READER", "database.password": "secret-word"}
        large = {"column.exclude.list": ",".join(rf"{SCHEMA}\.DOCS\.{name}" for name in _LARGE)}
        return self._database.properties() | {
            "topic.prefix": "random",
            "table.include.list": rf"{SCHEMA}\.({'|'.join(self.tables)})",
            "signal.data.collection": _path(signals.TABLE),
            "snapshot.mode": "initial" if self.reads_rows else "no_data",
            "headrace.snapshot.chunk.bytes": chance.choice(("4kB", "4kB", "1MB")),
            "incremental.snapshot.chunk.size": str(chance.choice((50, 200, 1024))),
            "poll.interval.ms": "20",
            "include.schema.changes": "false",
            "decimal.handling.mode": "string",
            "headrace.range.max.rows": str(chance.choice((20, 300, 100_000))),
            "headrace.slices": str(chance.choice((1, 3))),
            "retriable.restart.connector.wait.ms": "50",
            **(user if peculiarities.is_restrictive else {}),
            **(large if self._has_snapshots else {}),
        }

    # -- transactions ---------------------------------------------------------------------------

    def values(
        self, table: str, chance: random.Random, *, is_new: bool = False, is_own: bool = False
    ) -> Row:
        row: Row = {}
        for name, kind in self._registrations.columns[table].items():
            if chance.random() < (0.8 if is_new else 0.4):
                row[name] = _value(kind, chance)
                if name not in _LARGE and chance.random() < 0.1:
                    row[name] = None
        return row

    def begin(self, chance: random.Random) -> Any:
        self._client = _Client(self._database)
        return self._client

    def commit(self, transactions: list[Any], chance: random.Random) -> list[Place]:
        return [Place(transaction.commit()) for transaction in transactions]

    def logged(self, changes: list[Change]) -> list[Change]:
        """The changes of a transaction as change tables have them: an insert right after a delete
        is one change with it."""
        groups: list[list[Change]] = []
        last: dict[str, list[Change]] = {}
        for change in changes:
            before = last.get(change.table, [])
            if change.op == "c" and [earlier.op for earlier in before] == ["d"]:
                before.append(change)
                continue
            groups.append([change])
            last[change.table] = groups[-1]
        return [change for group in groups for change in group]

    # -- what else happens ----------------------------------------------------------------------

    @property
    def is_free(self) -> bool:
        """Whether no transaction is open: a writer of the control tables, or an ALTER, would wait
        for it."""
        return self._client is None or not self._client.is_open

    def happen(
        self, chance: random.Random, busy: Collection[str], offset: Mapping[str, Any] | None
    ) -> list[tuple[Place, list[Change]]]:
        kind = chance.choice(_HAPPENINGS)
        table = chance.choice(self.tables)
        read = None if offset is None else _read_until(offset)
        self.happened[kind] += self._do(kind, table, chance, read)
        return []

    def _do(self, kind: str, table: str, chance: random.Random, read: int | None) -> bool:
        """Does something of a kind; False if it cannot be done now. `read` is the place up to which
        everything was read; None: the reader takes a snapshot."""
        registrations = self._registrations
        if kind == "signal" and self._has_snapshots:
            return self.signals.send(chance, self.tables)
        if kind == "capture" and self._capture.is_running:
            self._capture.stop()
        elif kind == "capture":
            self._capture.start()
        elif kind == "column" and not registrations.has_two(table):
            if chance.random() < 0.5 or self.peculiarities.is_restrictive:
                registrations.add_column(table, chance)
            else:  # who must grant the new change table would be too late for the reader
                registrations.register_again(table, chance)
        elif read is not None and kind == "remove":
            return registrations.remove_former(read)
        elif read is not None and kind == "prune":
            return self._prune(read)
        else:
            return False
        return True

    def _prune(self, through: int) -> bool:
        with suppress(ibm_db_dbi.Error):  # a reader holds locks: it is tried another time
            self._capture.prune(through.to_bytes(self.peculiarities.width))
            return True
        return False

    def _signal(self, *row: str) -> int:
        places: list[int] = []

        def written() -> None:
            with self._database.transaction() as execute:
                execute(f"INSERT INTO {_path(signals.TABLE)} VALUES (?, ?, ?)", row)
                places.extend(int(number) for (number,) in execute(_COMMIT, ()))

        insist(written)
        return places[-1]

    def settle(self) -> None:
        if not self._capture.is_running:
            self._capture.start()
        self.signals.settle()

    def now(self) -> int:
        ((number,),) = self._database.execute(f"{_COMMIT} WITH UR")
        return int(number)

    # -- what is there --------------------------------------------------------------------------

    def rows(self, table: str) -> dict[int, Row]:
        kinds = {KEY: "INTEGER", MARK: "BIGINT", **self._registrations.columns[table]}
        read = [name for name in kinds if name not in _LARGE]
        table_rows = self._database.execute(f"SELECT {', '.join(read)} FROM {_path(table)}")
        rows = [
            dict.fromkeys(kinds)
            | {name: _shown(kinds[name], cell) for name, cell in zip(read, row, strict=True)}
            for row in table_rows
        ]
        return {int(str(row[KEY])): row for row in rows}

    def begins_after(self, reads: list[Mapping[str, Any]], first: Mapping[str, Any]) -> int:
        return place_of(parse_lsn(str(first["commit_lsn"])))

    def place_of(self, source: Mapping[str, Any]) -> int:
        return place_of(parse_lsn(str(source["commit_lsn"])))

    def check_source(self, source: Mapping[str, Any]) -> None:
        at = source["ts_ms"] / 1000
        begun, now = self._began, time.time()
        assert begun - _AHEAD_S < at < now + _AHEAD_S, f"a commit at {at}, {begun} to {now}"

    def close(self) -> None:
        self._database.close()


def _read_until(offset: Mapping[str, Any]) -> int:
    """The place of the last commit that is wholly delivered at an offset."""
    is_within = offset.get("change_lsn") is not None
    return place_of(parse_lsn(str(offset["commit_lsn"]))) - is_within


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


def _shown(kind: str, value: Any) -> Any:
    """A value as events have it."""
    if value is None:
        return None
    if kind.startswith("DECIMAL"):
        return f"{Decimal(value):.3f}"
    return base64.b64encode(value).decode() if "BIT DATA" in kind else value
