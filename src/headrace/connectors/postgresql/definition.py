"""The definition of the PostgreSQL connector. Importing it loads no driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from headrace.connectors.definition import ConnectorDefinition, Demo, Driver

if TYPE_CHECKING:
    from headrace.config.properties.common import ConnectorConfig
    from headrace.connectors.connector import Connector
    from headrace.connectors.definition import CheckResult
    from headrace.connectors.postgresql.config import PostgresConfig
    from headrace.offsets.offset import OffsetObject
    from headrace.signals.signal import Signal

# Log bytes between the last record and the head of the log that need not hold a record: what
# checkpoints and other databases write. A transaction of this size is decoded at once.
_QUIET_LOG_BYTES = 1 << 20


class PostgresDefinition:
    """Debezium's PostgreSQL connector."""

    name = "postgresql"
    classes: Sequence[str] = ("io.debezium.connector.postgresql.PostgresConnector", "postgres")
    driver: Driver | None = Driver("psycopg", "headrace[postgresql]")
    kernels: Mapping[str, Sequence[str]] = {
        "headrace.connectors.postgresql.reading.copy_text": ("image_bound", "transcode_rows"),
        "headrace.connectors.postgresql.replication.pgoutput": ("index_frames",),
    }
    worker_modules: Sequence[str] = (
        "headrace.connectors.postgresql.reading.snapshot_reader",
        "headrace.streaming.slices",
    )
    verbs: Mapping[str, str] = {}

    @property
    def demo(self) -> Demo | None:
        """A small shop in an embedded server."""
        from headrace.connectors.postgresql.demo import ShopDemo

        return ShopDemo()

    def configuration(self) -> type[ConnectorConfig]:
        """The properties of Debezium's connector, and headrace's own."""
        from headrace.connectors.postgresql.config import PostgresConfig

        return PostgresConfig

    def open(
        self,
        config: ConnectorConfig,
        *,
        cores: int,
        inline: bool,
        orphaned: Callable[[], bool],
    ) -> Connector:
        """A connector for one slot."""
        from headrace.connectors.postgresql.connector import open_connector

        return open_connector(_own(config), cores=cores, inline=inline, orphaned=orphaned)

    def check(self, config: ConnectorConfig) -> Sequence[CheckResult]:
        """Looks at server, role, tables, slot and publication."""
        from headrace.connectors.postgresql.checks.database import check

        return check(_own(config))

    def insert_signal(self, config: ConnectorConfig, collection: str, signal: Signal) -> None:
        """Writes a row into the signal table `schema.table`."""
        from headrace.connectors.postgresql.signal_table import insert_signal

        insert_signal(_own(config), collection, signal)

    def caught_up(self, latest: OffsetObject, end: OffsetObject) -> bool:
        """Whether less than 1 MiB of log lies between the positions (`lsn_commit`)."""
        head, delivered = latest.get("lsn_commit"), end.get("lsn_commit")
        if head is None or delivered is None:
            return False
        return int(head) - int(delivered) <= _QUIET_LOG_BYTES


def _own(config: ConnectorConfig) -> PostgresConfig:
    return cast("PostgresConfig", config)


DEFINITION: ConnectorDefinition = PostgresDefinition()
