"""The replication slot: its state, creation with an exported snapshot, checks at start."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

import psycopg

from headrace.connect.deadline import Deadline
from headrace.connectors.postgresql.catalog.managed import DECODING, find_service
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import answer_text, translate
from headrace.connectors.postgresql.position import PostgresOffset, format_lsn, parse_lsn
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

SLOT_MISSING, SLOT_LOST, SLOT_MOVED, POSITION_AHEAD = LOST = (
    "postgresql.slot_missing",
    "postgresql.slot_lost",
    "postgresql.slot_moved",
    "postgresql.position_ahead",
)
"""Codes of errors that mean that the log from the stored position on is gone."""


@dataclass(frozen=True)
class SlotState:
    """A row of pg_replication_slots; LSNs as integers, None where the server has none. `log_end` is
    the end of the server's log; None on a standby, which may not have replayed it yet."""

    plugin: str | None
    slot_type: str
    database: str | None
    active_pid: int | None
    confirmed_flush_lsn: int | None
    wal_status: str | None
    log_end: int | None


@dataclass(frozen=True)
class CreatedSlot:
    """A newly created slot: its first LSN, and the exported snapshot of that moment."""

    consistent_point: int
    snapshot: str


def find_slot(connection: psycopg.Connection, name: str) -> SlotState | None:
    """The slot's state, or None when there is no such slot."""
    row = connection.execute(
        "SELECT plugin, slot_type, database, active_pid, confirmed_flush_lsn::text,"
        " to_jsonb(s)->>'wal_status', CASE WHEN NOT pg_is_in_recovery() THEN"
        " pg_current_wal_insert_lsn()::text END FROM pg_replication_slots s WHERE slot_name = %s",
        (name,),
    ).fetchone()
    if row is None:
        return None
    confirmed, log_end = (None if lsn is None else parse_lsn(lsn) for lsn in (row[4], row[6]))
    return SlotState(row[0], row[1], row[2], row[3], confirmed, row[5], log_end)


def lost_wal(message: str, drop: str = "Drop the slot") -> HeadraceError:
    """The error of a slot whose log is gone; its remedy begins with `drop`."""
    return HeadraceError(
        SLOT_LOST,
        message,
        f"{drop} and start with a new checkpoint, which takes a new snapshot; raise "
        "max_slot_wal_keep_size.",
    )


def slot_in_use(message: str, *, retriable: bool = False) -> HeadraceError:
    """The error of a slot that another connection uses."""
    return HeadraceError(
        "postgresql.slot_in_use",
        message,
        "Give every query its own slot.name, or stop the other consumer. One query can feed "
        "several sinks with foreachBatch.",
        retriable=retriable,
    )


def check_slot(state: SlotState, config: PostgresConfig) -> None:
    """Refuse a slot that cannot be used. Raises HeadraceError `postgresql.slot_lost`,
    `postgresql.slot_unsuitable`."""
    name, problem = config.slot_name, ""
    if state.wal_status == "lost":
        raise lost_wal(
            f"The slot {name} is lost: the server removed WAL that it needs (wal_status=lost)",
            f"Drop it (SELECT pg_drop_replication_slot('{name}'))",
        )
    if state.slot_type != "logical" or state.plugin != "pgoutput":
        plugin = state.plugin or "none"
        problem = f"it is {state.slot_type} with plug-in {plugin}; pgoutput is needed"
    elif state.database != config.database_dbname:
        problem = f"it belongs to the database {state.database}, not to {config.database_dbname}"
    if problem:
        raise HeadraceError(
            "postgresql.slot_unsuitable",
            f"The slot {name} cannot be used: {problem}",
            "Choose another slot.name, or drop the slot.",
        )


def lost_position(
    state: SlotState | None, stored: PostgresOffset, config: PostgresConfig
) -> HeadraceError | None:
    """The error if the log from `stored` on is gone, else None: the slot is missing, lost, or
    beyond the position, because another consumer advanced it (Invariant 1; always checked); or the
    server's log ends before the position, because it is an earlier state of the server.

    Raises HeadraceError("postgresql.slot_unsuitable").
    """
    name, position = config.slot_name, stored.position.lsn_commit
    if state is None:
        return HeadraceError(
            SLOT_MISSING,
            f"The slot {name} no longer exists, but the checkpoint is at {format_lsn(position)}",
            "The changes since then are lost: start with a new checkpoint, or set "
            "snapshot.mode=when_needed (either takes a new snapshot).",
        )
    try:
        check_slot(state, config)
    except HeadraceError as error:
        if error.code == SLOT_LOST:
            return error
        raise
    confirmed, end = state.confirmed_flush_lsn, state.log_end
    if end is not None and end < position:
        return HeadraceError(
            POSITION_AHEAD,
            f"The checkpoint is at {format_lsn(position)}, and the server's log ends at "
            f"{format_lsn(end)}: the server was restored from a backup, or a standby without the "
            "end of the log was promoted",
            "Some changes that were read do not exist at the source any more: start with a new "
            "checkpoint, or set snapshot.mode=when_needed (either takes a new snapshot).",
        )
    if confirmed is None or confirmed <= position:
        return None
    return HeadraceError(
        SLOT_MOVED,
        f"The slot {name} is at {format_lsn(confirmed)}, beyond the checkpoint's "
        f"{format_lsn(position)}: a second query or an older copy of the checkpoint moved it, or "
        "the slot was created again; the changes in between are lost",
        "Give each query its own slot.name; to go on, drop the slot and start with a new "
        "checkpoint (a new snapshot).",
    )


def wait_until_free(connection: psycopg.Connection, config: PostgresConfig) -> SlotState | None:
    """Return the slot, None if it does not exist, once no other connection uses it; waits for that
    slot.max.retries times slot.retry.delay.ms. Raises HeadraceError("postgresql.slot_in_use")."""
    deadline = Deadline(config.slot_max_retries * config.slot_retry_delay_ms / 1000)
    silence = Deadline(3)
    while True:
        state = find_slot(connection, config.slot_name)
        if state is None or state.active_pid is None:
            return state
        text = f"The slot {config.slot_name} is active for PID {state.active_pid}"
        if deadline.is_over:
            raise slot_in_use(text)
        if silence.is_over:
            log.warning("%s; waiting for it", text)
            silence.restart(30)
        time.sleep(0.1)


def create_slot(replication: psycopg.Connection, config: PostgresConfig) -> CreatedSlot:
    """Create the slot on a replication connection, which exports the snapshot until its next
    command. Raises HeadraceError, and then leaves no slot."""
    name = config.slot_name
    if replication.info.server_version >= 150000:
        failover = ", FAILOVER" if _makes_failover(replication, config) else ""
        options = f"(SNAPSHOT 'export'{failover})"
    else:
        options = "EXPORT_SNAPSHOT"
    command = f'CREATE_REPLICATION_SLOT "{name}" LOGICAL pgoutput {options}'
    seconds = config.internal_create_slot_command_timeout / 1000
    # The server waits for every open transaction, and has no timeout for this.
    alarm = threading.Timer(seconds, replication.cancel) if seconds else None
    if alarm is not None:
        alarm.daemon = True
        alarm.start()
    try:
        row = replication.execute(command.encode()).fetchone()
    except psycopg.Error as error:
        if error.sqlstate == "57014":
            raise HeadraceError(
                "postgresql.slot_timeout",
                f"The slot {name} could not be created within {seconds:g} s: the server waits for "
                f"a transaction that was already open; a standby also waits for a record from its "
                f"primary",
                "End it (SELECT pid, xact_start, query FROM pg_stat_activity WHERE backend_xid IS "
                "NOT NULL); on the primary of a standby: SELECT pg_log_standby_snapshot(); "
                "headrace tries again.",
                retriable=True,
            ) from None
        if error.sqlstate == "55000":
            managed = find_service(replication, config.database_hostname)
            raise HeadraceError(
                "postgresql.wal_level",
                f"The server does not decode its log: {answer_text(error, config, '')}",
                DECODING if managed is None else managed.service.decoding,
            ) from None
        raise translate(error, config, f"Creating the replication slot {name}") from None
    finally:
        if alarm is not None:
            alarm.cancel()
    assert row is not None
    return CreatedSlot(parse_lsn(row[1]), row[2])


def _makes_failover(replication: psycopg.Connection, config: PostgresConfig) -> bool:
    """Whether to create the slot with slot.failover, if the server supports that."""
    if not config.slot_failover:
        return False
    if replication.info.server_version < 170000:
        why = "the server is older than PostgreSQL 17"
    elif is_standby(replication):
        why = "the server is a standby"
    else:
        return True
    log.warning("slot.failover: %s; headrace creates a slot without failover", why)
    return False


def is_standby(connection: psycopg.Connection) -> bool:
    """Whether the server replays the log of another server."""
    row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
    return row is not None and bool(row[0])


def drop_when_free(connection: psycopg.Connection, name: str) -> bool:
    """Drop the slot when it is no longer used; False if another session uses it for three
    seconds."""
    deadline = Deadline(3)
    while True:
        state = find_slot(connection, name)
        if state is None:
            return True
        if state.active_pid is None:
            drop_slot(connection, name)
        elif deadline.is_over:
            return False
        time.sleep(0.05)


def advance_slot(
    connection: psycopg.Connection, stored: PostgresOffset, config: PostgresConfig
) -> None:
    """Advance a slot that is before `stored`, the checkpoint's position, to it (Invariant 1)."""
    state = find_slot(connection, config.slot_name)
    if state is None or (state.confirmed_flush_lsn or 0) >= stored.position.lsn_commit:
        return
    try:
        connection.execute(
            "SELECT pg_replication_slot_advance(%s, %s)",
            (config.slot_name, format_lsn(stored.position.lsn_commit)),
        )
    except psycopg.Error as error:
        log.warning(
            "offset.mismatch.strategy: the slot %s is not advanced: %s", config.slot_name, error
        )


def drop_slot(connection: psycopg.Connection, name: str) -> None:
    """Drop the slot if it exists and is not active."""
    connection.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
        " WHERE slot_name = %s AND active_pid IS NULL",
        (name,),
    )


def system_identifier(replication: psycopg.Connection) -> str:
    """The cluster's system identifier, from IDENTIFY_SYSTEM."""
    row = replication.execute("IDENTIFY_SYSTEM").fetchone()
    assert row is not None
    return str(row[0])


def cluster_identifier(connection: psycopg.Connection) -> str:
    """The cluster's system identifier, on a normal connection."""
    row = connection.execute("SELECT system_identifier FROM pg_control_system()").fetchone()
    assert row is not None
    return str(row[0])
