"""Rows of redo with statements that change tables: the members of their schema changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.connect.records import Struct
from headrace.connectors.oracle.ddl.changes import DdlKind
from headrace.connectors.oracle.ddl.statements import parse_ddl
from headrace.connectors.oracle.ddl.tokens import stated
from headrace.connectors.oracle.events import OracleSource
from headrace.connectors.oracle.position import ThreadCommit
from headrace.connectors.oracle.scn import format_xid, parse_scn, place_of
from headrace.errors import HeadraceError
from headrace.relational.events import RelationalSettings, RelationFacts
from headrace.relational.schema_changes import FIRST_OWN, SchemaChangeFacts

Path = tuple[str, str]
"""Schema and table."""


class At(NamedTuple):
    """A row of redo: its SCN and its transaction's id."""

    scn: int
    xid: int

    @property
    def place(self) -> int:
        """The statement's place among commits."""
        return place_of(self.scn, self.xid)


class DeliveredTransaction(NamedTuple):
    """The last transaction with changes that was committed before a row: its id, the SCN of its
    commit and its user; SCN and user are None if another process delivered it."""

    xid: int
    scn: int | None = None
    user: str | None = None


@dataclass(frozen=True)
class TableStatement:
    """A row of redo that describes tables. `us`: its time in events, in microseconds since 1970.
    `text` is None if a change of its rows describes a table. `last` is the last transaction
    delivered before it, `threads` are the last commits of each redo thread including its own, and
    redo of a larger SCN than `mined` has all of the transactions that are open then. Without
    `is_reported` the statement makes no event (log.mining.schema_changes.username.exclude.list)."""

    at: At
    us: int
    text: str | None = None
    thread: int | None = None
    sequence: int | None = None
    rs_id: str | None = None
    ssn: int | None = None
    user: str | None = None
    last: DeliveredTransaction | None = None
    threads: tuple[ThreadCommit, ...] = ()
    mined: int | None = None
    is_reported: bool = True

    @property
    def statement(self) -> str | None:
        """The statement without surrounding text, as events show it."""
        return None if self.text is None else stated(self.text)

    def position(self, snapshot_scn: str | None) -> dict[str, Any]:
        """Return the position by the names of Debezium's offsets, in Debezium's order.
        `snapshot_scn` is the SCN of the snapshot before it."""
        commits = (commit._replace(xids=tuple(sorted(commit.xids))) for commit in self.threads)
        members: dict[str, Any] = {"commit_scn": ",".join(map(str, commits)) or None}
        if self.last is not None:
            if self.sequence is not None:
                members["txSeq"] = self.sequence
            members["txId"] = format_xid(self.last.xid)
        mined = self.at.scn if self.mined is None else self.mined
        if snapshot_scn is not None:
            members["snapshot_scn"] = snapshot_scn
            mined = max(mined, parse_scn(snapshot_scn))
        members["scn"] = str(mined)
        return members

    def cells(self, *, is_debezium_compatible: bool) -> list[str | None]:
        """Return the cells of STATEMENT_CELLS. `is_debezium_compatible`: id, user and commit are
        those of the transaction that was delivered last, as Debezium 3.6 shows them."""
        transaction: DeliveredTransaction | None = self.last
        if not is_debezium_compatible:
            transaction = DeliveredTransaction(self.at.xid, user=self.user)
        xid = commit = user = None
        if transaction is not None:
            xid, commit, user = (
                format_xid(transaction.xid),
                _text(transaction.scn),
                transaction.user,
            )
        ssn, thread, sequence = map(_text, (self.ssn, self.thread, self.sequence))
        return [xid, commit, self.rs_id, ssn, thread, user, sequence]


def is_truncation(statement: str, schema: str) -> bool:
    """Whether a statement truncates a table; `schema` is that of names without one."""
    try:
        return any(change.kind is DdlKind.TRUNCATE for change in parse_ddl(statement, schema))
    except HeadraceError:
        return False


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


@dataclass(frozen=True)
class StatementFacts(SchemaChangeFacts):
    """Facts of the schema changes of statements, whose images have STATEMENT_CELLS."""

    @staticmethod
    def of(topic: str, *paths: Path) -> StatementFacts:
        """Return the facts of a topic; `paths` are the tables that the source block names."""
        schemas = dict.fromkeys(schema for schema, _ in paths)
        tables = [table for _, table in dict.fromkeys(paths)]
        return StatementFacts(topic, ",".join(schemas), ",".join(tables))

    def source(self, settings: RelationalSettings) -> Struct:
        """See SchemaChangeFacts."""
        assert isinstance(settings.source, OracleSource)
        facts = RelationFacts(self.schema, self.table, self.topic, (), ())
        return settings.source.statement_block(facts, settings, FIRST_OWN)
