"""The captured tables of a stream, as they were when its redo was written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.ddl.changes import DdlKind, TableDdl, Unstated
from headrace.connectors.oracle.ddl.statements import parse_ddl
from headrace.connectors.oracle.redo.statements import RedoStatements
from headrace.connectors.oracle.redo.tables import RedoTable
from headrace.connectors.oracle.schema_history import (
    described_table,
    history_table,
)
from headrace.connectors.oracle.scn import after_scn
from headrace.connectors.oracle.streaming.lobs.changes import LobTable
from headrace.connectors.oracle.streaming.table_statements import (
    At,
    Path,
    StatementFacts,
    TableStatement,
)
from headrace.connectors.oracle.types.charsets import codec_of
from headrace.errors import HeadraceError
from headrace.relational.history.history import SchemaHistory
from headrace.relational.history.records import ChangeType, TableChange
from headrace.relational.history.tables import HistoryTable, TableId
from headrace.relational.schema_changes import schema_change_image
from headrace.relational.table import Table
from headrace.streaming.relations import RelationVersions

log = logging.getLogger(__name__)

Describe = Callable[[str, str], Table | None]
"""Returns the current description of a table in the data dictionary; None if it does not exist."""


class SchemaChange(NamedTuple):
    """The image of a schema change's record, the record's relation version, and its place."""

    image: bytes
    relation: int
    place: int


class RecordedTables:
    """The schema history of a stream that is mined from the SCN `mined` on, and has delivered
    everything below the place `delivered`: schema changes below it that are read again make no
    records."""

    def __init__(
        self,
        history: SchemaHistory,
        database: str,
        mined: int,
        delivered: int,
        described: Collection[Path] | None = None,
        *,
        is_debezium_compatible: bool = False,
    ) -> None:
        """`described` are the tables that this process recorded when it started from the beginning;
        None: another process may have recorded tables. `is_debezium_compatible`: see
        TableStatement.cells. Raises HeadraceError."""
        self._history, self._database = history, database
        self._delivered, self._is_debezium_compatible = delivered, is_debezium_compatible
        newest = history.newest_position()
        self._snapshot_scn = None if newest is None else newest.get("snapshot_scn")
        # A snapshot describes tables when it is delivered, and redo before it may be mined.
        self._known = history.tables_before(after_scn(mined)) or history.tables_before(delivered)
        # Earlier descriptions are not known to this process: it takes the current tables.
        self._takes_all = described is None and not history.is_whole and not self._known
        self._described = {self._id(*path) for path in described or ()}

    def table(self, schema: str, name: str) -> Table | None:
        """Return a table as it was recorded; None: it was not."""
        recorded = self._known.get(self._id(schema, name))
        return None if recorded is None else described_table(recorded)

    def knows(self, schema: str, name: str) -> bool:
        """Whether a table was recorded, as far as this process knows."""
        identity = self._id(schema, name)
        return self._takes_all or identity in self._known or identity in self._described

    @property
    def is_empty(self) -> bool:
        """Whether a history that outlives its process has no table."""
        return not self._takes_all and not self._known

    def change(
        self,
        kind: ChangeType,
        table: Table,
        statement: TableStatement,
        schema: str,
        previous: Path | None = None,
    ) -> bytes | None:
        """Record the change of a table, unless that was done before, and return the image of its
        schema change. None: it was recorded before. `schema` is the statement's, `previous` the
        name that the table had. Raises HeadraceError."""
        identity = self._id(*table.path)
        if statement.at.place < self._delivered:
            self._again(identity, statement.at)
            return None
        described = (
            HistoryTable(identity)
            if kind is ChangeType.DROP
            else history_table(table, self._database)
        )
        before = None if previous is None else self._id(*previous)
        image = self._record(statement, schema, [TableChange(kind, described, before)])
        if before is not None:
            self._known.pop(before, None)
        if kind is ChangeType.DROP:
            self._known.pop(identity, None)
            self._described.discard(identity)
        else:
            self._known[identity] = described
        return image

    def mention(self, change: TableDdl, statement: TableStatement, schema: str) -> bytes | None:
        """Record a statement of a table that is not captured, which the history has without tables,
        and return the image of its schema change. None: it is not recorded (again). Raises
        HeadraceError."""
        before, identity = self._id(*(change.previous or change.path)), self._id(*change.path)
        is_drop = change.kind is DdlKind.DROP
        is_known = self._takes_all or before in self._known or before in self._described
        if not is_drop and not is_known:
            return None
        moved = self._known.pop(before, None)
        self._described.discard(before)
        if moved is not None and not is_drop:
            self._known[identity] = replace(moved, id=identity)
        elif not is_drop:
            self._described.add(identity)
        if statement.at.place < self._delivered:
            return None
        return self._record(statement, schema, [])

    def _record(
        self, statement: TableStatement, schema: str, changes: Sequence[TableChange]
    ) -> bytes:
        record = self._history.record(
            statement.position(self._snapshot_scn),
            changes,
            database=self._database,
            schema=schema,
            ddl=statement.statement,
        )
        return schema_change_image(
            record, statement.cells(is_debezium_compatible=self._is_debezium_compatible)
        )

    def _again(self, identity: TableId, at: At) -> None:
        """Set the table to its record as of this place."""
        now: Mapping[TableId, HistoryTable] = self._history.tables_before(at.place + 1)
        if identity in now:
            self._known[identity] = now[identity]
        else:
            self._known.pop(identity, None)

    def _id(self, schema: str, name: str) -> TableId:
        return (self._database, schema, name)

    def close(self) -> None:
        """Close the history; never raises."""
        self._history.close()


@dataclass(frozen=True)
class CapturedTable:
    """A captured table: as the rows that are read have it, the relation version of its records,
    that of its truncates, its number among the parser's tables, and whether the redo may store
    values apart from its rows."""

    table: Table
    relation: int
    truncates: int
    model: int
    has_apart: bool

    @property
    def path(self) -> Path:
        """The table's schema and name."""
        return self.table.path


@dataclass(frozen=True)
class TextOptions:
    """Options of reading statements: the character sets of the database (Python's names),
    internal.log.mining.sql.relaxed.quote.detection and event.converting.failure.handling.mode."""

    charset: str = "utf-8"
    national: str = "utf-16-be"
    relaxed: bool = False
    converting: str = "warn"

    @staticmethod
    def of(config: OracleConfig, charset: str, national: str) -> TextOptions:
        """Return the options of a configuration. `charset` and `national` are the database's names
        of its character sets."""
        return TextOptions(
            codec_of(charset),
            codec_of(national),
            config.internal_log_mining_sql_relaxed_quote_detection,
            str(config.event_converting_failure_handling_mode),
        )


@dataclass(frozen=True)
class SchemaChangeOptions:
    """`emits`: schema changes make records (include.schema.changes). `has_comments`: so do comments
    of tables (include.schema.comments)."""

    emits: bool
    has_comments: bool


class StreamTables:
    """The captured tables by name. One thread uses it. Methods raise DriverError and
    HeadraceError."""

    def __init__(
        self,
        capture: Capture,
        versions: RelationVersions,
        recorded: RecordedTables,
        describe: Describe,
        texts: TextOptions,
        options: SchemaChangeOptions,
    ) -> None:
        self._capture, self._versions, self._recorded = capture, versions, recorded
        self._describe, self._texts, self._options = describe, texts, options
        self._tables: dict[Path, CapturedTable | None] = {}
        self.statements = RedoStatements()
        self.lobs: dict[int, LobTable] = {}
        """The captured tables that were found, by relation version."""
        self.charset = texts.charset
        self.real_name: Callable[[str], Path | None] | None = None
        """Returns the table for a name that LogMiner made up (log.mining.strategy=hybrid)."""
        self.list_tables: Callable[[], Sequence[tuple[str, str, int]]] = tuple
        """Returns schema, name and object number of every table that exists now."""
        self.identifies = False
        """Whether facts of tables identify the object (headrace.table.identity)."""
        self._objects: dict[int, Path] = {}
        self._newest_object = 0
        self.changes: list[tuple[SchemaChange, int]] = []
        """The schema changes since this list was last taken, in the order of the redo, with their
        times in microseconds since 1970."""

    def find(
        self, schema: str, name: str, at: Callable[[], TableStatement]
    ) -> CapturedTable | None:
        """Return the captured table of a row of redo; None: it is not captured, or no longer
        exists. A table that was not recorded yet is recorded at this row, which `at` returns."""
        path = self._path(schema, name)
        if path not in self._tables:
            self._tables[path] = self._made(*path, at())
        return self._tables[path]

    def is_new(self, schema: str, name: str) -> bool:
        """Whether a captured table was not looked for yet."""
        path = self._path(schema, name)
        return path not in self._tables and self._capture.takes(".".join(path))

    def _path(self, schema: str, name: str) -> Path:
        real = None if self.real_name is None else self.real_name(name)
        return real or (schema, name)

    def captured_object(self, number: int) -> Path | None:
        """Return the captured table that has an object number now; None if there is no such
        table."""
        if number > self._newest_object:
            self._list_objects()
            self._newest_object = max([number, *self._objects])
        path = self._objects.get(number)
        return path if path is not None and self._capture.takes(".".join(path)) else None

    def _list_objects(self) -> None:
        self._objects = {
            object_id: (schema, name) for schema, name, object_id in self.list_tables()
        }

    def _identified(self, table: Table, before: Table | None, otherwise: str) -> Table:
        """Return a table with its identity: that of the table `before`, else the number of the
        object that has its name now, which may be later than the redo's object, and never earlier.
        `otherwise` is the identity of a table that is gone; empty: no statement created it."""
        if not self.identifies:
            return table
        own_id = "" if before is None else before.own_id
        if not own_id:
            if otherwise or table.path not in self._objects.values():
                self._list_objects()
            numbers = (str(number) for number, path in self._objects.items() if path == table.path)
            own_id = next(numbers, otherwise)
        return replace(table, own_id=own_id)

    def may_have(self, schema: str) -> bool:
        """See Capture.takes_schema."""
        return self._capture.takes_schema(schema)

    def _made(self, schema: str, name: str, at: TableStatement) -> CapturedTable | None:
        if not self._capture.takes(f"{schema}.{name}"):
            return None
        recorded = self._recorded.table(schema, name)
        if recorded is not None:
            return self._captured(self._identified(recorded, None, ""))
        table = self._describe(schema, name)
        if table is None:
            log.warning("The table %s.%s no longer exists: its changes are left out", schema, name)
            return None
        if not self._recorded.knows(schema, name):
            self._record_change(ChangeType.CREATE, table, at, table.path)
        return self._captured(self._identified(table, None, ""))

    def _captured(self, table: Table) -> CapturedTable:
        facts = self._capture.relation(table, table)
        texts = self._texts
        model = self.statements.add(
            RedoTable.of(
                table,
                charset=texts.charset,
                national=texts.national,
                relaxed=texts.relaxed,
                converting=texts.converting,
            )
        )
        redo = self.statements.tables[model]
        version = self._versions.version_of(facts)
        self.lobs[version] = LobTable.of(table, redo, facts.key)
        truncates = self._versions.version_of(facts.as_truncates())
        has_apart = bool(self.lobs[version].apart)
        return CapturedTable(table, version, truncates, model, has_apart)

    def changed(self, schema: str, name: str, statement: TableStatement) -> None:
        """Apply a statement that changed tables; `schema` and `name` are LogMiner's for it. From
        now on rows have the columns that the statement leaves, or, if it does not state them, those
        of the data dictionary."""
        try:
            changes = parse_ddl(statement.text or "", schema)
        except HeadraceError as error:
            log.warning("%s: headrace reads the data dictionary instead", error.message)
            changes = (TableDdl(DdlKind.ALTER, (schema, name), steps=(Unstated("?"),)),)
        for change in changes:
            is_silent = change.kind is DdlKind.COMMENT and not self._options.has_comments
            if change.kind is not DdlKind.TRUNCATE and not is_silent:
                self._change(change, (schema, name), statement)

    def _change(self, change: TableDdl, named: Path, statement: TableStatement) -> None:
        path, previous = change.path, change.previous
        is_captured = self._capture.takes(".".join(path))
        was_captured = (
            previous is not None
            and self._capture.takes(".".join(previous))
            and self._recorded.knows(*previous)
        )
        if not is_captured and not was_captured:
            self._mention(change, named, statement)
            return
        before = self._before(previous or path) if was_captured or previous is None else None
        for name in filter(None, (path, previous)):
            self._tables.pop(name, None)
        if previous is not None and not is_captured:
            self._record_change(ChangeType.DROP, Table(*previous), statement, named)
            return
        after = self._after(change, before)
        if after is not None:
            is_known = self._recorded.knows(*(previous or path)) and (was_captured or not previous)
            is_made = change.kind in (DdlKind.CREATE, DdlKind.COMMENT) or not is_known
            kind = ChangeType.CREATE if is_made else ChangeType.ALTER
            self._record_change(
                kind, after, statement, named, None if is_made else previous or path
            )
            # The identity of a name does not apply to a later table with the name.
            former = before if change.kind in (DdlKind.ALTER, DdlKind.COMMENT) else None
            after = self._identified(after, former, f"since {statement.at.place}")
            self._tables[path] = self._captured(after)
        elif self._recorded.knows(*path) and change.kind is not DdlKind.COMMENT:
            self._record_change(ChangeType.DROP, Table(*path), statement, named)

    def _mention(self, change: TableDdl, named: Path, statement: TableStatement) -> None:
        """Record a statement of a table that is not captured. Of the statements that the schema
        history keeps, Debezium knows those of tables that a snapshot read."""
        if not self._capture.mentions(named[0]) or not statement.is_reported:
            return
        if change.kind in (DdlKind.ALTER, DdlKind.RENAME, DdlKind.DROP):
            image = self._recorded.mention(change, statement, named[0])
            is_drop = change.kind is DdlKind.DROP
            self._show(image, statement, named, *(() if is_drop else (change.path,)))

    def _before(self, path: Path) -> Table | None:
        """Return a table as it is known so far."""
        if not self._recorded.knows(*path):
            return None
        captured = self._tables.get(path)
        return self._recorded.table(*path) if captured is None else captured.table

    def _after(self, statement: TableDdl, before: Table | None) -> Table | None:
        """Return a table as a statement leaves it; None: it is gone."""
        if statement.kind is DdlKind.DROP:
            return None
        try:
            return statement.applied(before)
        except HeadraceError:
            return self._describe(*statement.path)

    def _record_change(
        self,
        kind: ChangeType,
        table: Table,
        statement: TableStatement,
        named: Path,
        previous: Path | None = None,
    ) -> None:
        """Record a schema change; `named` is the table that the row of redo names."""
        image = self._recorded.change(kind, table, statement, named[0], previous)
        self._show(image, statement, named, *(() if previous is None else (table.path,)))

    def _show(self, image: bytes | None, statement: TableStatement, *paths: Path) -> None:
        """Add the record of a schema change, whose source block names `paths`."""
        if image is None or not self._options.emits or not statement.is_reported:
            return
        facts = StatementFacts.of(self._capture.topics.schema_changes, *paths)
        change = SchemaChange(image, self._versions.version_of(facts), statement.at.place)
        self.changes.append((change, statement.us))

    def close(self) -> None:
        """Close the history; never raises."""
        self._recorded.close()
