"""The definition of the PostgreSQL connector. Importing it loads no driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.connectors.definition import (
    CheckResult,
    ConnectorDefinition,
    DatabaseMetric,
    Driver,
    NamedDefinition,
)

if TYPE_CHECKING:
    from headrace.config.properties.connector import ConnectorConfig
    from headrace.offsets.offset import OffsetObject

# Log bytes between the last record and the end of the log that may hold no record, because
# checkpoints and other databases write them. A transaction of this size is decoded at once.
_QUIET_LOG_BYTES = 1 << 20


class PostgresDefinition(NamedDefinition):
    """Debezium's PostgreSQL connector."""

    name = "postgresql"
    classes: Sequence[str] = ("io.debezium.connector.postgresql.PostgresConnector", "postgres")
    driver: Driver | None = Driver("psycopg", "headrace[postgresql]")
    metrics_plugin = "postgres"
    database_metrics: Sequence[DatabaseMetric] = (
        DatabaseMetric("active", "slot_active", "Whether the replication slot is active."),
        DatabaseMetric(
            "retained_bytes",
            "slot_retained_bytes",
            "WAL that the server keeps because of the slot.",
        ),
        DatabaseMetric(
            "safe_wal_size",
            "slot_safe_bytes",
            "WAL that may still be written before the slot can be lost; absent without "
            "max_slot_wal_keep_size.",
        ),
        DatabaseMetric(
            "keep_size", "slot_limit_bytes", "max_slot_wal_keep_size; -1 without a limit."
        ),
        DatabaseMetric(
            "wal_status",
            "slot_wal_status",
            "1 for the state of the WAL that the slot needs (wal_status of pg_replication_slots).",
            ("reserved", "extended", "unreserved", "lost"),
        ),
        DatabaseMetric("failover", "slot_failover", "Whether the slot is a failover slot."),
        DatabaseMetric("synced", "slot_synced", "Whether the slot came from the primary server."),
    )
    change_order: Sequence[str] = ("lsn",)
    kernels: Mapping[str, Sequence[str]] = {
        "headrace.connectors.postgresql.reading.copy_text": ("image_bound", "transcode_rows"),
        "headrace.connectors.postgresql.replication.pgoutput": ("index_frames",),
        "headrace.relational.row_lookup": ("_mark_lacking",),
    }
    worker_modules: Sequence[str] = (
        "headrace.connectors.postgresql.reading.snapshot_reader",
        "headrace.streaming.slices",
    )

    verbs: Mapping[str, str] = {"slots": "headrace.connectors.postgresql.slots"}

    configuration_class = "headrace.connectors.postgresql.config:PostgresConfig"
    open_function = "headrace.connectors.postgresql.connector:open_connector"
    shapes_function = "headrace.connectors.postgresql.catalog.event_shapes:event_shapes"
    comments_function = "headrace.connectors.postgresql.catalog.table_comments:table_comments"
    signal_function = "headrace.connectors.postgresql.signal_table:insert_signal"
    targets_function = "headrace.connectors.postgresql.signal_table:signal_targets"
    rows_function = "headrace.connectors.postgresql.reading.current_rows:current_rows"
    trial_function = "headrace.connectors.postgresql.trial:trial"
    demo_class = "headrace.connectors.postgresql.demo:ShopDemo"

    def check(
        self, config: ConnectorConfig, stored: OffsetObject | None = None
    ) -> Sequence[CheckResult]:
        """See ConnectorDefinition."""
        from headrace.connectors.postgresql.checks.database import check

        assert isinstance(config, self.configuration())
        return check(config, stored)  # type: ignore[arg-type]

    def caught_up(self, latest: OffsetObject, end: OffsetObject) -> bool:
        """Whether less than 1 MiB of log lies between the positions (`lsn_commit`)."""
        head, delivered = latest.get("lsn_commit"), end.get("lsn_commit")
        if head is None or delivered is None:
            return False
        return int(head) - int(delivered) <= _QUIET_LOG_BYTES


DEFINITION: ConnectorDefinition = PostgresDefinition()
