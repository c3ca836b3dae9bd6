"""Watches the replication slot: the log that it retains, and whether it may be lost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import psycopg

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import KeptConnection
from headrace.connectors.retention_watch import RetentionWatch

_NOW = """\
WITH now AS (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()
                         ELSE pg_current_wal_lsn() END AS lsn)
"""
_FIGURES = """\
active, pg_wal_lsn_diff(now.lsn, confirmed_flush_lsn)::bigint,
       pg_wal_lsn_diff(now.lsn, restart_lsn)::bigint, to_jsonb(s)->>'wal_status',
       (to_jsonb(s)->>'safe_wal_size')::bigint, (to_jsonb(s)->>'failover')::boolean,
       (to_jsonb(s)->>'synced')::boolean,
       (SELECT greatest(-1, setting::bigint * 1048576) FROM pg_settings
        WHERE name = 'max_slot_wal_keep_size')
"""
_ONE = f"{_NOW}SELECT {_FIGURES} FROM pg_replication_slots s, now WHERE slot_name = %s".encode()
_ALL = f"""{_NOW}SELECT slot_name, coalesce(plugin, slot_type), database, active_pid,
(SELECT application_name FROM pg_stat_activity WHERE pid = active_pid), {_FIGURES}
FROM pg_replication_slots s, now ORDER BY slot_name""".encode()
_SMALL_SHARE = 4  # a quarter of max_slot_wal_keep_size


@dataclass(frozen=True)
class SlotMetrics:
    """The state of the slot on the server. Bytes are of log; None: this server does not report
    it."""

    active: bool
    lag_bytes: int | None
    """Bytes that are not acknowledged yet."""
    retained_bytes: int | None
    """Bytes kept on the server's disk because of the slot."""
    wal_status: str | None
    safe_wal_size: int | None
    """Bytes that may still be written before the slot can be lost; None: no limit is set."""
    failover: bool | None
    synced: bool | None
    keep_size: int | None
    """max_slot_wal_keep_size; -1: no limit."""

    @property
    def danger(self) -> str | None:
        """The reason why the slot may be lost soon; None if it is safe."""
        if self.wal_status in ("unreserved", "lost"):
            return f"wal_status is {self.wal_status}"
        if self.safe_wal_size is None or not self.keep_size or self.keep_size < 0:
            return None
        if self.safe_wal_size * _SMALL_SHARE <= self.keep_size:
            return f"only {max(0, self.safe_wal_size):,} bytes of log may still be written"
        return None

    def to_json(self) -> dict[str, Any]:
        """The values by field name."""
        return asdict(self)


@dataclass(frozen=True)
class ListedSlot:
    """A slot of the server. `plugin` is `physical` for a physical slot; `database`, `pid` and
    `application` (its reader) are None if the slot has none, or if the role may not see it."""

    name: str
    plugin: str
    database: str | None
    pid: int | None
    application: str | None
    metrics: SlotMetrics


def read_slot(connection: psycopg.Connection, name: str) -> SlotMetrics | None:
    """The slot's state now; None if it does not exist."""
    row = connection.execute(_ONE, (name,)).fetchone()
    return None if row is None else SlotMetrics(*row)


def read_slots(connection: psycopg.Connection) -> list[ListedSlot]:
    """All slots of the server, ordered by name."""
    rows = connection.execute(_ALL).fetchall()
    return [
        ListedSlot(name, plugin, database, pid, application, SlotMetrics(*figures))
        for name, plugin, database, pid, application, *figures in rows
    ]


def watch_slot(config: PostgresConfig) -> RetentionWatch[SlotMetrics] | None:
    """A watch at the interval headrace.slot.watch.interval; None if that is 0."""
    session = KeptConnection(config, "headrace slot watch")
    name = config.slot_name

    def look() -> SlotMetrics | None:
        connection = session.get()
        connection.execute("SET statement_timeout = '5s'")
        return read_slot(connection, name)

    def warning(slot: SlotMetrics) -> str | None:
        if slot.danger is None:
            return None
        held_back = "some" if slot.retained_bytes is None else f"{slot.retained_bytes:,}"
        return (
            f"the slot {name} may be lost soon: {slot.danger} (it holds back {held_back} bytes). "
            "Let the query catch up, or raise max_slot_wal_keep_size"
        )

    seconds = config.headrace_slot_watch_interval / 1000
    return RetentionWatch(look, warning, session.close, seconds) if seconds else None
