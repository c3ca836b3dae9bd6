"""Connections to PostgreSQL: the settings of every session, and errors in plain words."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import psycopg
from psycopg.pq.abc import PGconn

from headrace.config.credentials.login import logged_in
from headrace.config.kinds import INT_MAX
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.errors import HeadraceError

# The text format of values depends on these settings, and COPY and the stream must agree.
_SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "extra_float_digits": "3",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
_KEEPALIVE = {
    "keepalives": 1,
    "keepalives_idle": 60,
    "keepalives_interval": 10,
    "keepalives_count": 6,
    "tcp_user_timeout": 120_000,
}
"""A connection that a firewall or a dead host has cut fails after two minutes: by default the
operating system finds out after two hours, or a quarter of an hour if bytes are on their way."""
_NAME_BYTES = 63  # the longest application_name
QUERY_LIMIT = "database.query.timeout.ms"
CHECK_LIMIT = "connection.validation.timeout.ms"
LOCK_TIMEOUT = "55P03"
"""SQLSTATE of a statement that was cancelled after snapshot.lock.timeout.ms."""
END_LIMIT_MS = 5_000
"""Milliseconds that a login, and a statement, may take when a query ends or a failed start is
undone."""
# Settings since PostgreSQL 14 and 17; set after the login because older servers refuse unknown
# settings.
_LATER_SETTINGS = ((140000, "idle_session_timeout"), (170000, "transaction_timeout"))


# headrace's own SQL finds only PostgreSQL's functions and operators, never those that another user
# created in a schema of the search path; and its literals mean the same on every server.
_OURS = {"search_path": "pg_catalog,pg_temp", "standard_conforming_strings": "on"}


def parameters(config: PostgresConfig, *, replication: bool, application: str) -> dict[str, object]:
    """The libpq connection parameters."""
    options = dict(_SETTINGS)
    if replication:
        options |= _OURS
    if not replication or config.snapshot_locking_mode == "shared":
        # No statement waits forever for another session's lock. A new slot waits for transactions,
        # not for tables: it has its own limit, unless locks of this run keep one of them open.
        options["lock_timeout"] = str(min(config.snapshot_lock_timeout_ms, INT_MAX))
    settings = " ".join(f"-c {name}={value}" for name, value in options.items())
    password, key_password = config.database_password, config.database_sslpassword
    parameters: dict[str, object] = {
        "host": config.database_hostname,
        "port": config.database_port,
        "user": config.database_user,
        "password": None if password is None else password.reveal(),
        "dbname": config.database_dbname,
        "sslmode": str(config.database_sslmode),
        "sslcert": config.database_sslcert,
        "sslkey": config.database_sslkey,
        "sslrootcert": config.database_sslrootcert,
        "sslpassword": None if key_password is None else key_password.reveal(),
        # libpq prefers GSS encryption whenever it has a ticket; the stream is read faster without
        # libpq.
        "gssencmode": "disable",
        **(_KEEPALIVE if config.database_tcpKeepAlive else {"keepalives": 0}),
        "connect_timeout": 30,
        "application_name": application,
        "options": settings,
    }
    if replication:
        parameters["replication"] = "database"
    parameters.update(dict(config.driver))
    if config.mark and not replication:
        # synchronous_standby_names may list walsenders by application_name.
        room = _NAME_BYTES - len(config.mark) - 1
        name = str(parameters["application_name"]).encode()[:room].decode(errors="ignore")
        parameters["application_name"] = f"{name} {config.mark}"
    return {name: value for name, value in parameters.items() if value is not None}


def connect(
    config: PostgresConfig,
    *,
    replication: bool = False,
    application: str = "headrace",
    limit: str | None = None,
    at_most_ms: int | None = None,
    users_sql: bool = False,
) -> psycopg.Connection:
    """Return an open connection in autocommit mode. `limit` is the property that limits the time of
    a statement (0: no limit): QUERY_LIMIT, or CHECK_LIMIT, which also limits the login; otherwise a
    login may take 30 s. `at_most_ms` is an upper bound of CHECK_LIMIT. `users_sql`: the connection
    runs statements that users wrote, under the settings of their database; on other connections,
    `settings_of_users` permits that temporarily.

    Raises HeadraceError with a code of `translate`, and `config.secret_unreadable`.
    """
    limits_of_login: dict[str, object] = {}
    password, limit_ms = config.database_password, config.database_query_timeout_ms
    if limit == CHECK_LIMIT:
        limit_ms = config.connection_validation_timeout_ms
        if at_most_ms is not None:
            limit_ms = min(limit_ms or at_most_ms, at_most_ms)
        if "connect_timeout" not in config.driver:
            limits_of_login["connect_timeout"] = -(-limit_ms // 1000)

    def log_in() -> psycopg.Connection:
        arguments = parameters(config, replication=replication, application=application)
        return psycopg.connect(**(arguments | limits_of_login), autocommit=True)  # type: ignore[arg-type]

    try:
        connection: psycopg.Connection = logged_in(
            [password], log_in, psycopg.Error, lambda e: _state(e) == "28P01"
        )
    except psycopg.Error as error:
        raise translate(error, config, about="") from None
    connection.prepare_threshold = None
    limits = [] if limit is None else [f"SET statement_timeout = {min(limit_ms, INT_MAX)}"]
    statements = [*limits]
    if not replication and config.database_initial_statements:
        statements += [*config.database_initial_statements, *limits]
    try:
        for version, name in _LATER_SETTINGS:
            if connection.info.server_version >= version:
                connection.execute(f"SET {name} = 0")
        for statement in statements:
            connection.execute(statement.encode())
        if not replication and not users_sql:
            _set_ours(connection)
    except psycopg.Error as error:
        connection.close()
        raise translate(error, config, limit=limit or QUERY_LIMIT) from None
    return connection


class KeptConnection:
    """A connection that is opened at its first use, and again after it was lost or closed.
    Parameters are those of `connect`."""

    def __init__(
        self,
        config: PostgresConfig,
        application: str,
        *,
        limit: str | None = None,
        users_sql: bool = False,
    ) -> None:
        self._open = partial(
            connect, config, application=application, limit=limit, users_sql=users_sql
        )
        self._connection: psycopg.Connection | None = None

    def get(self) -> psycopg.Connection:
        """Return the open connection. Raises as `connect`."""
        if self._connection is None or self._connection.closed:
            self._connection = self._open()
        return self._connection

    def close(self) -> None:
        """Close the connection; never raises."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _set_ours(connection: psycopg.Connection) -> None:
    """Set `_OURS` and save the former values as settings of the session."""
    calls = []
    for name, value in _OURS.items():
        before = f"pg_catalog.current_setting('{name}')"
        calls.append(f"pg_catalog.set_config('headrace.{name}', {before}, false)")
        calls.append(f"pg_catalog.set_config('{name}', '{value}', false)")
    connection.execute(f"SELECT {', '.join(calls)}".encode())


@contextmanager
def settings_of_users(connection: psycopg.Connection) -> Iterator[None]:
    """Restore the users' settings for statements that users wrote, inside of a transaction."""
    now = [f"pg_catalog.current_setting('{name}')" for name in _OURS]
    theirs = [
        f"pg_catalog.set_config('{name}', pg_catalog.current_setting('headrace.{name}'), true)"
        for name in _OURS
    ]
    row = connection.execute(f"SELECT {', '.join([*now, *theirs])}".encode()).fetchone()
    assert row is not None
    yield
    before = [f"pg_catalog.set_config('{name}', %s, true)" for name in _OURS]
    connection.execute(f"SELECT {', '.join(before)}".encode(), row[: len(before)])


class Refusal(NamedTuple):
    """The meaning of an SQLSTATE; the message is the server's own. `remedy` may contain
    `{limit}`."""

    code: str
    remedy: str
    retriable: bool


_BY_STATE = {
    "28P01": Refusal("authentication", "Check database.user and database.password.", False),
    "28000": Refusal(
        "not_allowed",
        "Allow the role, host and database in pg_hba.conf (also for replication).",
        False,
    ),
    "3D000": Refusal("unknown_database", "Check database.dbname.", False),
    "42501": Refusal("no_privilege", "Grant the role what it needs (headrace check FILE).", False),
    "53300": Refusal("too_many_connections", "Raise max_connections or max_wal_senders.", True),
    "53400": Refusal("limit_reached", "Raise max_replication_slots, or drop unused slots.", False),
    "57P03": Refusal("not_ready", "Wait until the server has started.", True),
    "57P01": Refusal("connection_lost", "The server shut down; headrace tries again.", True),
    "57P02": Refusal("connection_lost", "The server crashed; headrace tries again.", True),
    "57014": Refusal(
        "query_timeout",
        "Raise {limit}, or end the sessions that hold locks on the catalogue (SELECT pid, "
        "query FROM pg_stat_activity WHERE wait_event_type = 'Lock').",
        True,
    ),
    "55006": Refusal(
        "slot_in_use", "Give every query its own slot.name, or stop the other one.", True
    ),
    "58P01": Refusal("slot_lost", "Drop the slot and start with a new checkpoint.", False),
}
# Waiting sessions count, too: one that waits for AccessExclusiveLock blocks all others. The last
# column has the names of the table and of the tables that it is a partition of.
_HOLDERS = """
WITH held AS (
  SELECT l.pid, l.granted, coalesce(x.indrelid, l.relation) AS id FROM pg_catalog.pg_locks l
  LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = l.relation
  WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.relation >= 16384
    AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
    AND l.pid <> pg_backend_pid())
SELECT n.nspname || '.' || c.relname, a.pid, a.application_name,
  (SELECT array_agg(m.nspname || '.' || r.relname) FROM pg_catalog.pg_class r
   JOIN pg_catalog.pg_namespace m ON m.oid = r.relnamespace
   WHERE r.oid = c.oid OR r.oid IN (SELECT relid FROM pg_partition_ancestors(c.oid) p(relid)))
FROM held h JOIN pg_catalog.pg_class c ON c.oid = h.id
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_stat_activity a ON a.pid = h.pid
WHERE c.relkind IN ('r', 'p') ORDER BY h.granted DESC, a.pid, c.relkind
"""
# libpq gives no SQLSTATE for a failed login. The first text that occurs in the error decides.
_BY_TEXT = (
    ("FATAL: role ", "28P01"),
    ("FATAL: database ", "3D000"),
    ("password authentication failed", "28P01"),
    ("PAM authentication failed", "28P01"),  # a login with an AWS token
    ("access token", "28P01"),  # a login with an Entra ID token
    ("no password supplied", "28P01"),
    ("no pg_hba.conf entry", "28000"),
    ("is not permitted to log in", "28000"),
    ("too many clients", "53300"),
    ("number of requested standby connections", "53300"),
    ("remaining connection slots", "53300"),
    ("starting up", "57P03"),
    ("shutting down", "57P03"),
    ("recovery mode", "57P03"),
    ("must be superuser or replication role", "42501"),
    ("permission denied to start WAL sender", "42501"),
)


def translate(
    error: psycopg.Error,
    config: PostgresConfig,
    doing: str = "",
    limit: str = QUERY_LIMIT,
    about: str | None = None,
) -> HeadraceError:
    """Return the HeadraceError of a driver's error; it never holds a secret. `limit` is the
    property that limits the connection's statements, `about` the property whose text the server was
    given (see `HiddenTexts.in_error`)."""
    raw = one_line(_message(error))
    text = answer_text(error, config, about)
    state = _state(error)
    place = (
        f"{config.database_user}@{config.database_hostname}:{config.database_port}"
        f"/{config.database_dbname}"
    )
    if state == "42501" and "replication" in (doing + raw).lower():
        return HeadraceError(
            "postgresql.no_replication_privilege",
            f"The role {config.database_user} may not replicate: {text}",
            f'As a superuser: ALTER ROLE "{config.database_user}" REPLICATION;',
        )
    if state == LOCK_TIMEOUT:
        return _lock_timeout(config, doing)
    if state in _BY_STATE:
        code, remedy, retriable = _BY_STATE[state]
        remedy = remedy.replace("{limit}", limit)
        message = f"{doing}: {text}" if doing else f"PostgreSQL at {place} refused: {text}"
        return HeadraceError(f"postgresql.{code}", message, remedy, retriable=retriable)
    if isinstance(error, psycopg.OperationalError) and (state is None or state[:2] == "08"):
        if "SSL" in raw or "certificate" in raw:
            return HeadraceError(
                "postgresql.tls",
                f"No encrypted connection to {place}: {text}",
                "Check database.sslmode and the certificates.",
            )
        return HeadraceError(
            "postgresql.unreachable",
            f"PostgreSQL at {place} cannot be reached: {text}",
            "Check database.hostname, database.port and that the server runs.",
            retriable=True,
        )
    message = f"{doing} failed" if doing else f"A query on {place} failed"
    return HeadraceError(
        "postgresql.query_failed",
        f"{message}: {text}" + (f" (SQLSTATE {state})" if state else ""),
        "Check the server's log.",
        retriable=isinstance(error, psycopg.OperationalError),
    )


def _state(error: psycopg.Error) -> str | None:
    """The SQLSTATE; taken from the message if the driver gives none."""
    raw = one_line(_message(error))
    return error.sqlstate or next((state for part, state in _BY_TEXT if part in raw), None)


def wait_text(table: str, pid: int, application: str) -> str:
    """The text of a wait for a lock on `table`, and its holder; `pid` 0: a prepared transaction."""
    who = f"{pid}, application {application or 'without a name'}"
    return f"waiting for a lock on {table} (held by {who if pid else 'a prepared transaction'})"


def _lock_timeout(config: PostgresConfig, doing: str) -> HeadraceError:
    """The error of a lock timeout; names the session that still holds a captured table's lock."""
    reason = "a lock on a table was not given within snapshot.lock.timeout.ms"
    capture = Capture(config)
    with (
        contextlib.suppress(HeadraceError, psycopg.Error),
        connect(config, limit=CHECK_LIMIT, at_most_ms=END_LIMIT_MS) as connection,
    ):
        for table, pid, application, names in connection.execute(_HOLDERS.encode()).fetchall():
            if any(map(capture.takes, names)):
                reason = wait_text(table, pid, application)
                break
    return HeadraceError(
        "postgresql.lock_timeout",
        f"{doing}: {reason}" if doing else reason,
        "headrace tries again by itself; end the session that holds the lock, or raise "
        "snapshot.lock.timeout.ms.",
        retriable=True,
    )


def answer_text(error: psycopg.Error, config: PostgresConfig, about: str | None = None) -> str:
    """The message of the server or the driver, without hidden values; `about` as in `translate`."""
    return one_line(config.hidden.in_error(_message(error), about))


def _message(error: psycopg.Error) -> str:
    return error.diag.message_primary or str(error)


def one_line(text: str) -> str:
    """The lines of a message joined into one line, as sentences."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return ". ".join(line.rstrip(".") for line in lines if line)


@contextmanager
def translated(config: PostgresConfig, doing: str = "", limit: str = QUERY_LIMIT) -> Iterator[None]:
    """Raise errors of the driver as `translate` words them."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error, config, doing, limit) from None


@contextmanager
def opened(
    config: PostgresConfig, doing: str, at_most_ms: int | None = None
) -> Iterator[psycopg.Connection]:
    """A connection under CHECK_LIMIT for the purpose `doing`; its errors are translated."""
    connection = connect(config, limit=CHECK_LIMIT, at_most_ms=at_most_ms)
    with connection, translated(config, doing, CHECK_LIMIT):
        yield connection


def is_plain(connection: PGconn) -> bool:
    """Whether the connection is not encrypted. libpq does not report GSS encryption, which counts
    as used unless it is disabled. HEADRACE_LIBPQ_READER in the environment forces reading by
    libpq."""
    if connection.ssl_in_use or os.environ.get("HEADRACE_LIBPQ_READER"):
        return False
    return any(o.keyword == b"gssencmode" and o.val == b"disable" for o in connection.info)
