"""Oracle's stand-in under random workloads: with the peculiarities that a seed draws."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections import Counter
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any, ClassVar

from headrace.connectors.oracle.position import OraclePosition
from headrace.connectors.oracle.streaming.windows import pacing
from headrace_demo.oracle.server import OracleServer, Transaction
from headrace_demo.oracle.views.peculiarities import Peculiarities
from tests.chaos.workloads import signals
from tests.chaos.workloads.database import KEY, Change, Place, RandomDatabase, Row
from tests.servers.oracle import PDB, SCHEMA, OracleDatabase

_KEY_AND_VERSION = ("ID NUMBER(9,0) NOT NULL", "V NUMBER(12,0) NOT NULL")
_COLUMNS = {
    "ITEMS": (
        *_KEY_AND_VERSION, "NAME VARCHAR2(4000)", "AMOUNT NUMBER(12,3)",
        "GHOST NUMBER(5,0) INVISIBLE", "AT DATE", "DIGEST RAW(20)",
    ),
    "TEXTS": (*_KEY_AND_VERSION, "NOTE VARCHAR2(200)", "BODY CLOB", "IMAGE BLOB"),
    "PLAIN": _KEY_AND_VERSION,
}  # fmt: skip
_UNSUPPORTED_COLUMNS = (*_KEY_AND_VERSION, "SHAPE SDO_GEOMETRY")
"""The columns of a table with a column of an object type. LogMiner does not support such tables, so
their rows come from snapshots only."""
_SIGNALS = [f"{name} VARCHAR2({length}) NOT NULL" for name, length in signals.COLUMNS.items()]
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the database's clock
_WORDS = (
    "plain",
    "it's",
    "Größe",
    "a, b); --",
    "日本語",
    "𝄞 clef",
    "\n",
    'q"q',
    "x" * 700,
    "é" * 900,
)
_FAULTS = (
    (1291, "START_LOGMNR"), (1327, "START_LOGMNR"), (310, "START_LOGMNR"), (1284, "ADD_LOGFILE"),
    (308, "ADD_LOGFILE"), (310, "FETCH_REDO"), (1001, "FETCH_REDO"), (1013, "FETCH_REDO"),
    (3113, "FETCH_REDO"), (604, "FETCH_REDO"), (3113, "START_LOGMNR"),
)  # fmt: skip
"""ORA codes that servers sometimes raise, and the call that raises each."""
_HAPPENINGS = (
    *("switch",) * 8, *("signal",) * 3, *("ddl",) * 5, "thread", "delete", "delete", "shut",
    "sessions", "fault", "fault", "scn", "unsupported",
)  # fmt: skip
"""Events other than transactions; their frequency here is their probability."""


class _Client(Transaction):
    """A transaction on a table of the schema, by keys."""

    def insert_all(self, table: str, rows: Any) -> None:
        super().insert_all(_path(table), rows)

    def update(self, table: str, key: Any, values: Any = None, **_: Any) -> int:  # type: ignore[override]
        return super().update(_path(table), {KEY: key}, **values)

    def delete(self, table: str, key: Any = None, **_: Any) -> int:  # type: ignore[override]
        return super().delete(_path(table), **{KEY: key})


class RandomOracle(RandomDatabase):
    """See RandomDatabase. A place is an SCN and an XID."""

    name: ClassVar[str] = "oracle"
    tables = tuple(_COLUMNS)
    merged = frozenset({"TEXTS"})  # the redo writes large objects separately from their rows

    def __init__(self, server: OracleServer, seed: int) -> None:
        self._server, self._seed = server, seed
        self.prepare = _wait_less
        self.peculiarities = Peculiarities.drawn(seed)
        self._database = OracleDatabase.create(server)
        self._database.change(peculiarities=self.peculiarities)
        self._columns = {table: list(columns) for table, columns in _COLUMNS.items()}
        self._numbers = itertools.count(1)
        self._threads, self._is_shut = {1}, False
        for table, columns in _COLUMNS.items():
            self._database.create_table(table, *columns, key=[KEY])
        rows = [[number, number, "somewhere"] for number in range(1, 6)]
        self._database.create_table("PLACES", *_UNSUPPORTED_COLUMNS, key=[KEY], rows=rows)
        self._database.create_table(signals.TABLE, *_SIGNALS, key=[KEY])
        self.signals = signals.Signals(self._signal, lambda table: f"{PDB}.{_path(table)}")
        self.happened = Counter()

    def __str__(self) -> str:
        return str(self.peculiarities)

    def properties(self) -> dict[str, str]:
        chance = random.Random(self._seed)
        return self._database.properties() | {
            "topic.prefix": "random",
            "signal.data.collection": f"{PDB}.{_path(signals.TABLE)}",
            "incremental.snapshot.chunk.size": str(chance.choice((50, 200, 1024))),
            "poll.interval.ms": "20",
            "include.schema.changes": "false",
            "lob.enabled": "true",
            "skipped.operations": "none",
            "decimal.handling.mode": "string",
            "binary.handling.mode": "hex",
            "headrace.range.max.rows": str(chance.choice((50, 300, 100_000))),
            "headrace.snapshot.chunk.bytes": chance.choice(("4kB", "1MB")),
            "headrace.slices": str(chance.choice((1, 3))),
            "log.mining.log.count.min": str(chance.choice((0, 1, 2))),
            "retriable.restart.connector.wait.ms": "50",
            # Debezium's default leaves out what open transactions have done before a snapshot.
            "internal.log.mining.transaction.snapshot.boundary.mode": "transaction_view_only",
        }

    # -- transactions ---------------------------------------------------------------------------

    def values(
        self, table: str, chance: random.Random, *, is_new: bool = False, is_own: bool = False
    ) -> Row:
        row: Row = {}
        for column in self._columns[table][2:]:
            name, kind = column.split()[:2]
            if kind in ("CLOB", "BLOB") and is_own:
                continue  # it is not known how the redo describes a value that becomes shorter
            if chance.random() < (0.8 if is_new else 0.3):
                row[name] = None if chance.random() < 0.1 else _value(kind, chance)
        return row

    def begin(self, chance: random.Random) -> Any:
        thread = chance.choice(sorted(self._threads))
        return _Client(self._server, self._server.call("begin", "APP", None, thread))

    def commit(self, transactions: list[Any], chance: random.Random) -> list[Place]:
        xids = [transaction.xid for transaction in transactions]
        scns = self._server.call("commit_together", xids)
        return [Place(scn, xid) for scn, xid in zip(scns, xids, strict=True)]

    # -- what else happens ----------------------------------------------------------------------

    def happen(
        self, chance: random.Random, busy: Collection[str], offset: Mapping[str, Any] | None
    ) -> list[tuple[Place, list[Change]]]:
        if self._is_shut:
            self._open_again()
            return []
        kind = chance.choice(_HAPPENINGS)
        free = [table for table in self.tables if table not in busy]
        if (offset is None and kind in ("fault", "delete")) or (kind == "ddl" and not free):
            return []
        changes: list[tuple[Place, list[Change]]] = []
        if kind == "switch":
            self._server.apply([{"switch": chance.choice(sorted(self._threads))}])
        elif kind == "scn":
            self._server.apply([{"scn": self._server.call("scn") + chance.randint(1, 500)}])
        elif kind == "shut":
            self._server.call("shut")
            self._is_shut = True
        elif kind == "sessions":
            self._server.call("end_sessions")
        elif kind == "unsupported":
            self._write_unsupported()
        elif kind == "thread":
            self._open_or_close(chance)
        elif kind == "signal":
            self.signals.send(chance, self.tables)
        elif kind == "fault":
            code, when = chance.choice(_FAULTS)
            self._server.apply([{"error": code, "when": when, "times": 1}])
        elif kind == "ddl":
            # A snapshot reads an altered table as of a later SCN.
            self.reads_ahead |= offset is None
            changes = self._alter(chance, chance.choice(free))
        elif kind == "delete" and offset is not None:
            self._delete_old_logs(chance, offset)
        self.happened["ddl at first" if kind == "ddl" and offset is None else kind] += 1
        return changes

    def _open_or_close(self, chance: random.Random) -> None:
        used = self._server.call("open_threads")
        if 2 not in self._threads:
            self._server.apply([{"open_thread": 2}])
            self._threads.add(2)
        elif 2 not in used:
            self._server.apply([{"close_thread": 2}])
            self._threads.remove(2)

    def _write_unsupported(self) -> None:
        """A transaction of a table that LogMiner does not support."""
        xid = self._server.call("begin", "APP", None, 1)
        self._server.call("rollback", xid)
        line = {"xid": xid, "table": f"{SCHEMA}.PLACES"}
        self._server.apply(
            [
                {"redo": "START", "sql": "set transaction read write;", "xid": xid},
                {"redo": "UNSUPPORTED", "sql": "Unsupported", "status": 2, **line,
                 "info": "Object or Data type Unsupported"},
                {"redo": "COMMIT", "sql": "commit;", "xid": xid},
            ]
        )  # fmt: skip

    def _delete_old_logs(self, chance: random.Random, offset: Mapping[str, Any]) -> None:
        """Delete archived logs that the reader does not need any more, or only their files."""
        least = OraclePosition.from_json(dict(offset)).mined_from
        for thread, sequences in self._server.call("logs_before", least).items():
            kind = chance.choice(("delete_logs", "remove_logs"))
            self._server.apply([{kind: sequences, "thread": thread}])

    def _alter(self, chance: random.Random, table: str) -> list[tuple[Place, list[Change]]]:
        columns = self._columns[table]
        added = [column.split()[0] for column in columns if column.startswith("MORE_")]
        kind = chance.choice(("add", "drop" if added else "add", "truncate"))
        if kind == "truncate":
            self._server.ddl(f"TRUNCATE TABLE {_path(table)}")
            place = Place(self._server.call("last_ddl", _path(table)))
            return [(place, [Change(table, "t", 0, 0)])]
        if kind == "add":
            column = f"MORE_{next(self._numbers)} {chance.choice(('VARCHAR2(99)', 'NUMBER(9,0)'))}"
            self._server.ddl(f"ALTER TABLE {_path(table)} ADD ({column})")
            columns.append(column)
        else:
            name = chance.choice(added)
            self._server.ddl(f"ALTER TABLE {_path(table)} DROP COLUMN {name}")
            self._columns[table] = [column for column in columns if column.split()[0] != name]
        return []

    def _signal(self, *row: str) -> int:
        transaction = self._server.begin()
        transaction.insert(_path(signals.TABLE), **dict(zip(signals.COLUMNS, row, strict=True)))
        return transaction.commit()

    def settle(self) -> None:
        if self._is_shut:
            self._open_again()
        self.signals.settle()

    def _open_again(self) -> None:
        self._server.call("open_again")
        self._is_shut = False

    def now(self) -> int:
        return int(self._server.call("scn"))

    # -- what is there --------------------------------------------------------------------------

    def rows(self, table: str) -> dict[int, Row]:
        kinds = {name: kind for name, kind, *_ in map(str.split, self._columns[table])}
        rows = [
            {name: _as_in_events(kinds[name], text) for name, text in row.items() if name in kinds}
            for row in self._server.rows(_path(table))
        ]
        return {int(row[KEY]): row for row in rows}

    def begins_after(self, reads: list[Mapping[str, Any]], first: Mapping[str, Any]) -> int:
        return min(map(self.place_of, reads))

    def place_of(self, source: Mapping[str, Any]) -> int:
        return int(source["scn"])


def _wait_less() -> None:
    """Shorten the reader's waits for redo: the stand-in writes it at once."""
    pacing._SHORTEST_WAIT, pacing._LONGEST_WAIT, pacing._ARCHIVING_WAIT = 0.05, 0.2, 0.02


def _path(table: str) -> str:
    return f"{SCHEMA}.{table}"


def _value(kind: str, chance: random.Random) -> Any:
    base = kind.partition("(")[0]
    if base == "NUMBER":
        digits = 3 if kind.endswith(",3)") else 0
        return str(Decimal(chance.randint(-99_999, 99_999)).scaleb(-digits))
    if base in ("RAW", "BLOB"):
        return chance.randbytes(chance.randint(1, 20 if base == "RAW" else 3000)).hex()
    if base == "DATE":
        return str(_EPOCH + dt.timedelta(seconds=chance.randint(0, 2**31)))
    most = {"CLOB": 4, "VARCHAR2(4000)": 3, "VARCHAR2(200)": 1, "VARCHAR2(99)": 1}[kind]
    words = _WORDS if most > 1 else _WORDS[:8]
    return " ".join(chance.choices(words, k=chance.randint(1, most)))


def _as_in_events(kind: str, text: str | None) -> Any:
    """Return a stored text in the form that events have."""
    if text is None:
        return None
    if kind in ("NUMBER(9,0)", "NUMBER(12,0)", "NUMBER(5,0)"):
        return text
    if kind.startswith("NUMBER"):
        return f"{Decimal(text):.3f}"
    if kind == "DATE":
        return int((dt.datetime.fromisoformat(text) - _EPOCH).total_seconds()) * 1000
    return text.lower() if kind.startswith(("RAW", "BLOB")) else text
