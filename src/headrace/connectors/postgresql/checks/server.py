"""Whether the server's settings let the log be read, and whether the role may."""

from __future__ import annotations

from headrace.connectors.postgresql.checks.state import Checked
from headrace.connectors.postgresql.connection import CHECK_LIMIT, connect, translated
from headrace.connectors.postgresql.replication.slot import system_identifier
from headrace.errors import HeadraceError


def wal_level_error(level: str) -> HeadraceError | None:
    """What is wrong with the setting wal_level; empty: nobody knows it."""
    if level == "logical":
        return None
    return HeadraceError(
        "postgresql.wal_level",
        f"wal_level is {level or 'unknown'}; logical is needed",
        "As a superuser: ALTER SYSTEM SET wal_level = logical; then restart the server.",
    )


def check_server(checked: Checked) -> None:
    """Whether the settings of the server, a standby too, serve logical decoding."""
    error = wal_level_error(checked.catalog.setting("wal_level"))
    if error is None:
        checked.ok("wal_level", "wal_level is logical")
    else:
        checked.findings.add_error(error)
    standby = checked.is_standby()
    if standby and checked.catalog.setting("hot_standby_feedback") != "on":
        checked.warn(
            "standby_feedback",
            "hot_standby_feedback is off: the primary may remove rows of the catalogue that "
            "the slot needs, and the slot is lost",
            "Set hot_standby_feedback = on, and give the standby a physical slot.",
        )
    if standby and checked.version < 160000:
        checked.refuse(
            "standby",
            "The server is a standby, which decodes its log since PostgreSQL 16 only",
            "Connect to the primary.",
        )
    kept = checked.catalog.setting("max_slot_wal_keep_size")
    if kept == "-1":
        checked.warn(
            "wal_unlimited",
            "max_slot_wal_keep_size is -1: a slot that nobody reads keeps WAL until the disk "
            "is full",
            "Set a limit that covers your longest stop, and watch the slot's lag.",
        )
    elif kept:
        checked.ok(
            "wal_limit",
            f"A slot keeps at most {kept} MB of WAL (max_slot_wal_keep_size); one that falls "
            "further behind is lost",
        )
    timeout = int(checked.catalog.setting("wal_sender_timeout") or 0)
    if 0 < timeout < 5000:
        checked.warn(
            "wal_sender_timeout",
            f"wal_sender_timeout is {timeout} ms; a short pause ends the stream",
            "Set it to 10 s or more.",
        )


def check_login(checked: Checked) -> None:
    """Logs in as the stream will: privilege, pg_hba.conf and a free walsender in one."""
    config = checked.config
    with (
        connect(
            config, replication=True, application="headrace check", limit=CHECK_LIMIT
        ) as connection,
        translated(config, "Opening a replication connection", CHECK_LIMIT),
    ):
        system_identifier(connection)
    checked.ok("replication", f"The role {config.database_user} may replicate")
