"""The common objects of one run of the connector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.connectors.db2.capture import Capture
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection, connect
from headrace.connectors.db2.errors import translate
from headrace.connectors.db2.events import Db2Settings
from headrace.connectors.db2.lsn import place_of
from headrace.connectors.db2.position import Db2Offset, Db2Position
from headrace.connectors.db2.reading.snapshot_source import Db2SnapshotSource
from headrace.connectors.db2.schema_history import open_tables
from headrace.connectors.db2.streaming.recorded_tables import RecordedTables
from headrace.connectors.db2.streaming.windows import newest_lsn
from headrace.connectors.run import Run
from headrace.errors import HeadraceError
from headrace.relational.history.store import MemoryStore
from headrace.relational.table import Table
from headrace.streaming.changes.key_columns import KeyRendering


@dataclass(frozen=True)
class Db2Run(Run[Db2Config, Db2Settings]):
    """A run of the Db2 connector; see Run."""

    capture: Capture
    memory: MemoryStore = field(default_factory=MemoryStore)
    """The schema history if the configuration stores none."""

    @property
    def key_rendering(self) -> KeyRendering:
        """How keys are rendered; an error of a value is reported with its record."""
        return self.capture.key_rendering

    def snapshot_source(self, *, reads_rows: bool = True) -> Db2SnapshotSource:
        """Return the source of a snapshot; see Db2SnapshotSource."""
        return Db2SnapshotSource(
            self.config, self.capture, reads_rows=reads_rows, memory=self.memory
        )

    def connect(self) -> Connection:
        """Return a connection of its own, which the caller closes."""
        return connect(self.config)

    def now(self, connection: Connection) -> Db2Position:
        """Return the position after everything that Capture has written."""
        lsn = newest_lsn(connection, self.config)
        return Db2Position() if lsn is None else Db2Position.after_commit(lsn)

    def log_end(self) -> int:
        """Return the place after the newest commit."""
        with self.connect() as connection:
            lsn = newest_lsn(connection, self.config)
            return 0 if lsn is None else place_of(lsn) + 1

    def recorded_tables(
        self, position: Db2Position, relation: Callable[[Table], int] | None = None
    ) -> RecordedTables:
        """Return the tables that were recorded up to a position; see RecordedTables. The caller
        closes it."""
        return RecordedTables(open_tables(self.config, position, self.memory), relation)

    def offset(self, position: Db2Position, epoch: int) -> Db2Offset:
        """Return the first offset of an epoch."""
        return Db2Offset(self.config.topic_prefix, position, epoch, order=self.plan.order)

    def translate(self, error: Exception) -> HeadraceError | None:
        """Return an error of the driver as a HeadraceError; None: it is not the driver's."""
        return translate(error, self.config)
