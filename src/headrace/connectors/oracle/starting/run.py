"""The common objects of one run of the connector."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.clock import current_scn
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, connect
from headrace.connectors.oracle.errors import translate
from headrace.connectors.oracle.events import OracleSettings
from headrace.connectors.oracle.position import OracleOffset, OraclePosition
from headrace.connectors.oracle.reading.snapshot_source import OracleSnapshotSource
from headrace.connectors.oracle.schema_history import oracle_history
from headrace.connectors.oracle.streaming.tables import RecordedTables
from headrace.connectors.oracle.streaming.windows.redo import Redo
from headrace.connectors.run import Run
from headrace.errors import HeadraceError
from headrace.relational.history.store import MemoryStore
from headrace.streaming.changes.key_columns import KeyRendering


@dataclass(frozen=True)
class OracleRun(Run[OracleConfig, OracleSettings]):
    """A run of the Oracle connector; see Run."""

    capture: Capture
    memory: MemoryStore = field(default_factory=MemoryStore)
    """The schema history if the configuration stores none."""
    removed_logs: set[str] = field(default_factory=set)
    """Files of archived logs that could not be opened."""

    @property
    def key_rendering(self) -> KeyRendering:
        """How keys are rendered; an error of a value is reported with its record."""
        return self.capture.key_rendering

    @property
    def is_debezium_compatible(self) -> bool:
        """Whether to do as Debezium 3.6 does, where headrace's own behaviour differs
        (headrace.compatibility)."""
        return self.config.headrace_compatibility != "none"

    def snapshot_source(self, *, reads_rows: bool = True) -> OracleSnapshotSource:
        """Return the source of a snapshot; see OracleSnapshotSource."""
        return OracleSnapshotSource(
            self.config, self.capture, reads_rows=reads_rows, memory=self.memory
        )

    def connect(self) -> Connection:
        """Return a connection of its own, in the root, which the caller closes."""
        return connect(self.config)

    def database(self) -> Connection:
        """Return a connection of its own where the tables are, which the caller closes."""
        return connect(self.config, container=self.config.container)

    def log_end(self) -> int:
        """Return the place after the newest redo that is written."""
        with self.connect() as connection:
            return OraclePosition.after_scn(Redo(self.config).written(connection)).committed

    @staticmethod
    def scn(connection: Connection) -> int:
        """Return the current SCN: later commits have a larger one."""
        return current_scn(connection)

    def recorded_tables(
        self, position: OraclePosition, described: Collection[tuple[str, str]] | None = None
    ) -> RecordedTables:
        """Return the tables that were recorded up to a position; see RecordedTables. The caller
        closes it."""
        history = oracle_history(self.config, self.memory)
        mined, delivered = position.mined_from, position.committed
        return RecordedTables(
            history,
            self.capture.database,
            mined,
            delivered,
            described,
            is_debezium_compatible=self.is_debezium_compatible,
        )

    def offset(self, position: OraclePosition, epoch: int) -> OracleOffset:
        """Return the first offset of an epoch."""
        return OracleOffset(self.config.topic_prefix, position, epoch, order=self.plan.order)

    def translate(self, error: Exception) -> HeadraceError | None:
        """Return an error of the driver as a HeadraceError; None: it is not the driver's."""
        return translate(error, self.config)
