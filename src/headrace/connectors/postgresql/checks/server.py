"""Checks that the server's settings and the role's privileges permit to read the log."""

from __future__ import annotations

from collections.abc import Callable

from headrace.connectors.postgresql.catalog.managed import DECODING, Managed
from headrace.connectors.postgresql.checks.state import Checked
from headrace.connectors.postgresql.connection import CHECK_LIMIT, connect, translated
from headrace.connectors.postgresql.replication.slot import system_identifier
from headrace.errors import HeadraceError

_NO_PRIVILEGE = "postgresql.no_replication_privilege"
_REFUSALS = (_NO_PRIVILEGE, "postgresql.not_allowed", "postgresql.authentication")
"""Codes of a refused replication login by a role that may otherwise log in."""


def wal_level_error(
    level: str, service: Callable[[], Managed | None] = lambda: None
) -> HeadraceError | None:
    """The error of a setting wal_level that is not logical (empty: unknown), else None. `service`
    finds the service that runs the server, for the remedy."""
    if level == "logical":
        return None
    managed = service()
    return HeadraceError(
        "postgresql.wal_level",
        f"wal_level is {level or 'unknown'}; logical is needed",
        DECODING if managed is None else managed.service.decoding,
    )


def check_server(checked: Checked) -> None:
    """Check whether the settings of the server, which may be a standby, permit logical decoding."""
    error = wal_level_error(checked.catalog.setting("wal_level"), lambda: checked.managed)
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
    limit = checked.catalog.setting("max_slot_wal_keep_size")
    if limit == "-1":
        managed = None if checked.is_start else checked.managed
        checked.warn(
            "wal_unlimited",
            "max_slot_wal_keep_size is -1: an inactive slot retains WAL until the disk is full",
            "Set a limit that covers your longest stop, and watch the slot's lag."
            if managed is None or managed.service.limits_wal
            else f"{managed.service.name} does not allow to set it: watch the slot's lag.",
        )
    elif limit:
        checked.ok(
            "wal_limit",
            f"A slot keeps at most {limit} MB of WAL (max_slot_wal_keep_size); a slot that lags "
            f"further back is lost",
        )
    timeout = int(checked.catalog.setting("wal_sender_timeout") or 0)
    if 0 < timeout < 5000:
        checked.warn(
            "wal_sender_timeout",
            f"wal_sender_timeout is {timeout} ms; a short pause ends the stream",
            "Set it to 10 s or more.",
        )


def check_managed(checked: Checked) -> None:
    """Report the service that runs the server, the facts that show it, and whether the connection
    suits it."""
    managed, config = checked.managed, checked.config
    if managed is None:
        return
    service, host = managed.service, config.database_hostname or ""
    checked.ok("managed", f"The server is {service.name}'s ({', '.join(managed.facts)})")
    if service.pooler and service.pooler in host:
        checked.refuse(
            "pooler",
            f"database.hostname is {host}, a connection pooler of {service.name}, which does not "
            "forward replication",
            f"Set database.hostname to the host of {service.name}'s direct connection.",
        )
    if str(config.database_sslmode) not in ("verify-ca", "verify-full"):
        checked.warn(
            "tls_unverified",
            f"database.sslmode is {config.database_sslmode}: anybody between this machine and "
            f"{service.name} can read the connection, including the password",
            "Set database.sslmode=verify-full, and database.sslrootcert to a file with "
            f"{service.certificates}.",
        )


def check_login(checked: Checked) -> None:
    """Log in as the stream will, which checks the privilege, pg_hba.conf and a free walsender."""
    config = checked.config
    try:
        with (
            connect(
                config, replication=True, application="headrace check", limit=CHECK_LIMIT
            ) as connection,
            translated(config, "Opening a replication connection", CHECK_LIMIT),
        ):
            system_identifier(connection)
    except HeadraceError as error:
        raise _as_managed(checked, error) from None
    checked.ok("replication", f"The role {config.database_user} may replicate")


def _as_managed(checked: Checked, error: HeadraceError) -> HeadraceError:
    """The error of a refused replication connection, with the remedy of the server's service."""
    if error.code not in _REFUSALS or checked.managed is None:
        return error
    service = checked.managed.service
    remedy = service.let_replicate(checked.config.database_user)
    if error.code != _NO_PRIVILEGE:
        remedy = f"{remedy} {service.iam}".rstrip()
    return HeadraceError(error.code, error.message, remedy)
