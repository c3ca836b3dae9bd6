"""Watches the replication slot: how much log it holds back, and whether it will be lost.

A thread of its own, because that matters most while Spark is busy or stuck.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import asdict, dataclass
from typing import Any

import psycopg

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_QUERY = """\
WITH now AS (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()
                         ELSE pg_current_wal_lsn() END AS lsn)
SELECT active, pg_wal_lsn_diff(now.lsn, confirmed_flush_lsn)::bigint,
       pg_wal_lsn_diff(now.lsn, restart_lsn)::bigint, {status}, {safe}, {failover}, {synced},
       (SELECT setting::bigint * 1048576 FROM pg_settings WHERE name = 'max_slot_wal_keep_size')
FROM pg_replication_slots, now WHERE slot_name = %s"""
_SMALL_SHARE = 4  # a quarter of max_slot_wal_keep_size


@dataclass(frozen=True)
class SlotMetrics:
    """The slot as the server shows it. Bytes are of log; None: this server does not say."""

    active: bool
    lag_bytes: int | None
    """Not acknowledged yet."""
    retained_bytes: int | None
    """Kept on the server's disk because of the slot."""
    wal_status: str | None
    safe_wal_size: int | None
    """How much may still be written before the slot can be lost; None: no limit is set."""
    failover: bool | None
    synced: bool | None
    keep_size: int | None
    """max_slot_wal_keep_size; negative: no limit."""

    @property
    def danger(self) -> str | None:
        """Why the slot may be lost soon; None when it is safe."""
        if self.wal_status in ("unreserved", "lost"):
            return f"wal_status is {self.wal_status}"
        if self.safe_wal_size is None or not self.keep_size or self.keep_size < 0:
            return None
        if self.safe_wal_size * _SMALL_SHARE <= self.keep_size:
            return f"only {max(0, self.safe_wal_size):,} bytes of log may still be written"
        return None

    def to_json(self) -> dict[str, Any]:
        """By the names of the fields."""
        return asdict(self)


def read_slot(connection: psycopg.Connection, name: str) -> SlotMetrics | None:
    """The slot now; None when it does not exist."""
    version = connection.info.server_version
    query = _QUERY.format(
        status="wal_status" if version >= 130000 else "NULL",
        safe="safe_wal_size" if version >= 130000 else "NULL",
        failover="failover" if version >= 170000 else "NULL",
        synced="synced" if version >= 170000 else "NULL",
    )
    row = connection.execute(query.encode(), (name,)).fetchone()
    return None if row is None else SlotMetrics(*row)


class SlotWatch:
    """Reads the slot at an interval, and warns when it begins to be in danger."""

    def __init__(self, config: PostgresConfig, seconds: float) -> None:
        self._config, self._seconds = config, seconds
        self.slot: SlotMetrics | None = None
        self._warned = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-slot-watch", daemon=True)
        self._thread.start()

    @staticmethod
    def of(config: PostgresConfig) -> SlotWatch | None:
        """A watch as often as headrace.slot.watch.interval says; None: never."""
        seconds = config.headrace_slot_watch_interval / 1000
        return SlotWatch(config, seconds) if seconds else None

    def to_json(self) -> dict[str, Any] | None:
        """The slot as it was read last; None: not yet, or it does not exist."""
        slot = self.slot
        return None if slot is None else slot.to_json()

    def close(self) -> None:
        """Stop watching; never raises."""
        self._stop.set()
        self._thread.join(2)

    def _run(self) -> None:
        connection: psycopg.Connection | None = None
        while True:
            try:
                if connection is None:
                    connection = connect(self._config, application="headrace slot watch")
                    connection.execute("SET statement_timeout = '5s'")
                self._look(read_slot(connection, self._config.slot_name))
            except (psycopg.Error, HeadraceError) as error:
                # The stream reports what is wrong with the server; this only looks.
                log.debug("the slot cannot be watched: %s", error)
                if connection is not None:
                    connection.close()
                    connection = None
            if self._stop.wait(self._seconds):
                break
        if connection is not None:
            connection.close()

    def _look(self, slot: SlotMetrics | None) -> None:
        self.slot = slot
        danger = None if slot is None else slot.danger
        if danger is not None and not self._warned:
            log.warning(
                "the slot %s may be lost soon: %s (it holds back %s bytes). Let the query catch "
                "up, or raise max_slot_wal_keep_size",
                self._config.slot_name,
                danger,
                f"{slot.retained_bytes:,}" if slot and slot.retained_bytes is not None else "some",
            )
        self._warned = danger is not None
