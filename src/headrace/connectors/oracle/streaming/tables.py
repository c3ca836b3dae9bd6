"""The captured tables of a stream: as they were when the redo that is read was written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.ddl.changes import DdlKind, TableDdl, Unstated
from headrace.connectors.oracle.ddl.statements import parse_ddl
from headrace.connectors.oracle.redo.statements import RedoStatements
from headrace.connectors.oracle.redo.tables import RedoTable
from headrace.connectors.oracle.schema_history import (
    described_table,
    history_table,
    stream_position,
)
from headrace.connectors.oracle.scn import behind_scn, place_of
from headrace.connectors.oracle.streaming.lobs.changes import LobTable
from headrace.errors import HeadraceError
from headrace.relational.history.history import SchemaHistory
from headrace.relational.history.records import ChangeType, TableChange
from headrace.relational.history.tables import HistoryTable, TableId
from headrace.relational.schema_changes import SchemaChangeFacts, schema_change_image
from headrace.relational.table import Table
from headrace.streaming.relations import RelationVersions

log = logging.getLogger(__name__)

Describe = Callable[[str, str], Table | None]
"""What the data dictionary says of a table now; None: there is none."""


class SchemaChange(NamedTuple):
    """The image of a schema change's record, the relation version that it has, and its place."""

    image: bytes
    relation: int
    place: int


class At(NamedTuple):
    """A row of redo: its SCN and its transaction's id."""

    scn: int
    xid: int

    @property
    def place(self) -> int:
        """Its place among commits."""
        return place_of(self.scn, self.xid)


class ToldTables:
    """The schema history of a stream that is mined from the SCN `mined` on, and has delivered
    everything below the place `delivered`: what is told again there is told to nobody."""

    def __init__(
        self,
        history: SchemaHistory,
        database: str,
        mined: int,
        delivered: int,
        told: Collection[tuple[str, str]] | None = None,
    ) -> None:
        """`told` are the tables (schema, name) that this process told of, where it began anew;
        None: another one may have told of any. Raises HeadraceError."""
        self._history, self._database = history, database
        self._delivered = delivered
        # A snapshot tells of tables where it is delivered, with redo before it to be mined.
        self._known = history.tables_before(behind_scn(mined)) or history.tables_before(delivered)
        # What was told before this process is not known: then tables are as they are now.
        self._is_told = told is None and not history.is_whole and not self._known
        self._told = {self._id(*path) for path in told or ()}

    def table(self, schema: str, name: str) -> Table | None:
        """A table as it was told of; None: it was not."""
        told = self._known.get(self._id(schema, name))
        return None if told is None else described_table(told)

    def knows(self, schema: str, name: str) -> bool:
        """Whether a table was told of, as far as is known."""
        identity = self._id(schema, name)
        return self._is_told or identity in self._known or identity in self._told

    @property
    def is_empty(self) -> bool:
        """Whether a history that outlives its process knows no table."""
        return not self._is_told and not self._known

    def change(
        self,
        kind: ChangeType,
        table: Table,
        at: At,
        us: int,
        ddl: str | None,
        previous: tuple[str, str] | None = None,
    ) -> bytes | None:
        """Write down what became of a table, unless that was done before; the image of its schema
        change. None: it is not told again. `previous`: the name that it had. Raises
        HeadraceError."""
        identity = self._id(*table.path)
        if at.place < self._delivered:
            self._again(identity, at)
            return None
        described = (
            HistoryTable(identity)
            if kind is ChangeType.DROP
            else history_table(table, self._database)
        )
        record = self._history.record(
            {**stream_position(*at), "ts_us": us},
            [TableChange(kind, described, None if previous is None else self._id(*previous))],
            database=self._database,
            schema=table.schema,
            ddl=ddl,
        )
        if previous is not None:
            self._known.pop(self._id(*previous), None)
        if kind is ChangeType.DROP:
            self._known.pop(identity, None)
            self._told.discard(identity)
        else:
            self._known[identity] = described
        return schema_change_image(record)

    def _again(self, identity: TableId, at: At) -> None:
        """The table is as it was told of up to here."""
        now: Mapping[TableId, HistoryTable] = self._history.tables_before(at.place + 1)
        if identity in now:
            self._known[identity] = now[identity]
        else:
            self._known.pop(identity, None)

    def _id(self, schema: str, name: str) -> TableId:
        return (self._database, schema, name)

    def close(self) -> None:
        """Let the history go; never raises."""
        self._history.close()


@dataclass(frozen=True)
class CapturedTable:
    """A captured table: as the rows that are read have it, the relation version of its records,
    that of its truncations, its number among the parser's tables, and whether the redo may hold
    values apart from its rows."""

    table: Table
    relation: int
    truncates: int
    model: int
    has_apart: bool


@dataclass(frozen=True)
class TextOptions:
    """How statements are read: the character sets of the database (Python's names), and
    internal.log.mining.sql.relaxed.quote.detection."""

    charset: str = "utf-8"
    national: str = "utf-16-be"
    relaxed: bool = False


class StreamTables:
    """The captured tables by name. One thread uses it. Methods raise DriverError and
    HeadraceError."""

    def __init__(
        self,
        capture: Capture,
        versions: RelationVersions,
        told: ToldTables,
        describe: Describe,
        texts: TextOptions,
        *,
        tells: bool,
    ) -> None:
        """`tells`: schema changes make records (include.schema.changes)."""
        self._capture, self._versions, self._told = capture, versions, told
        self._describe, self._texts, self._tells = describe, texts, tells
        self._tables: dict[tuple[str, str], CapturedTable | None] = {}
        self.statements = RedoStatements()
        self.lobs: dict[int, LobTable] = {}
        """By relation version, the captured tables that were found."""
        self.charset = texts.charset
        self.real_name: Callable[[str], tuple[str, str] | None] | None = None
        """Finds the table behind a name that LogMiner made up (log.mining.strategy=hybrid)."""
        self.changes: list[tuple[SchemaChange, int]] = []
        """What became of tables since it was taken away, in the order of the redo, and when, in
        microseconds since 1970."""

    def find(self, schema: str, name: str, at: At, us: int) -> CapturedTable | None:
        """The captured table of a row of redo; None: it is not captured, or gone. A table that was
        not told of yet is told of at this row."""
        path = (schema, name)
        if self.real_name is not None:
            path = self.real_name(name) or path
        if path not in self._tables:
            self._tables[path] = self._made(*path, at, us)
        return self._tables[path]

    def _made(self, schema: str, name: str, at: At, us: int) -> CapturedTable | None:
        if not self._capture.takes(f"{schema}.{name}"):
            return None
        told = self._told.table(schema, name)
        if told is not None:
            return self._captured(told)
        table = self._describe(schema, name)
        if table is None:
            log.warning("The table %s.%s is gone: its changes are left out", schema, name)
            return None
        if not self._told.knows(schema, name):
            self._tell(ChangeType.CREATE, table, at, us, None)
        return self._captured(table)

    def _captured(self, table: Table) -> CapturedTable:
        facts = self._capture.relation(table, table)
        texts = self._texts
        model = self.statements.add(
            RedoTable.of(
                table, charset=texts.charset, national=texts.national, relaxed=texts.relaxed
            )
        )
        redo = self.statements.tables[model]
        version = self._versions.version_of(facts)
        self.lobs[version] = LobTable.of(table, redo, facts.key)
        truncates = self._versions.version_of(facts.as_truncates())
        has_apart = bool(self.lobs[version].apart)
        return CapturedTable(table, version, truncates, model, has_apart)

    def changed(self, schema: str, name: str, at: At, us: int, ddl: str) -> None:
        """A statement changed tables; `schema` and `name` are what LogMiner says of it. From here
        on rows have the columns that the statement leaves, or, where it does not say, those of the
        data dictionary."""
        try:
            statements = parse_ddl(ddl, schema)
        except HeadraceError as error:
            log.warning("%s: the data dictionary is asked", error.message)
            statements = (TableDdl(DdlKind.ALTER, (schema, name), steps=(Unstated("?"),)),)
        for one in statements:
            if one.kind is not DdlKind.TRUNCATE:
                self._change(one, at, us, ddl)

    def _change(self, statement: TableDdl, at: At, us: int, ddl: str) -> None:
        path, previous = statement.path, statement.previous
        is_captured = self._capture.takes(".".join(path))
        was_captured = previous is not None and self._told.knows(*previous)
        if not is_captured and not was_captured:
            return
        before = self._before(previous or path)
        for one in filter(None, (path, previous)):
            self._tables.pop(one, None)
        if previous is not None and not is_captured:
            self._tell(ChangeType.DROP, Table(*previous), at, us, ddl)
            return
        after = self._after(statement, before)
        if after is not None:
            is_known = self._told.knows(*(previous or path))
            is_made = statement.kind is DdlKind.CREATE or not is_known
            kind = ChangeType.CREATE if is_made else ChangeType.ALTER
            self._tell(kind, after, at, us, ddl, previous if was_captured else None)
            self._tables[path] = self._captured(after)
        elif self._told.knows(*path):
            self._tell(ChangeType.DROP, Table(*path), at, us, ddl)

    def _before(self, path: tuple[str, str]) -> Table | None:
        """A table as it is known so far."""
        if not self._told.knows(*path):
            return None
        captured = self._tables.get(path)
        return self._told.table(*path) if captured is None else captured.table

    def _after(self, statement: TableDdl, before: Table | None) -> Table | None:
        """A table as a statement leaves it; None: it is gone."""
        if statement.kind is DdlKind.DROP:
            return None
        try:
            return statement.applied(before)
        except HeadraceError:
            return self._describe(*statement.path)

    def _tell(
        self,
        kind: ChangeType,
        table: Table,
        at: At,
        us: int,
        ddl: str | None,
        previous: tuple[str, str] | None = None,
    ) -> None:
        image = self._told.change(kind, table, at, us, ddl, previous)
        if image is None or not self._tells:
            return
        topic = self._capture.topics.schema_changes
        relation = self._versions.version_of(SchemaChangeFacts(topic, *table.path))
        self.changes.append((SchemaChange(image, relation, at.place), us))

    def close(self) -> None:
        """Let the history go; never raises."""
        self._told.close()
