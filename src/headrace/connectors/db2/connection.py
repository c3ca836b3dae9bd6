"""Connections to Db2 by IBM's driver: statements, rows in bulk, metadata, isolation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import Any, Self, TypeVar

import ibm_db

from headrace.config.credentials.login import logged_in
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.errors import QUERY_LIMIT, DriverError, translate
from headrace.connectors.db2.properties.modes import Db2Platform
from headrace.errors import HeadraceError

T = TypeVar("T")
Row = tuple[Any, ...]

CHECK_LIMIT = "connection.validation.timeout.ms"
_LOGIN_SECONDS = 30
_LOCK_SECONDS = 60
"""Default of LOCKTIMEOUT: twice the interval at which Capture usually commits, after which it has
released its locks."""
_SEPARATOR = ";"
"""The character that ends a value. By IBM's rules passwords may have all others; a value cannot be
quoted."""
_OF_JAVA = ("SSLTRUSTSTORE", "SSLKEYSTORE", "SECURITYMECHANISM")
_MECHANISMS = {
    "3": "SERVER", "7": "SERVER_ENCRYPT", "9": "SERVER_ENCRYPT", "11": "KERBEROS",
    "12": "DATA_ENCRYPT", "13": "DATA_ENCRYPT",
}  # fmt: skip
"""The CLI's AUTHENTICATION, by the securityMechanism of Java's driver."""
_IN_TRANSACTION = {ibm_db.SQL_ATTR_AUTOCOMMIT: ibm_db.SQL_AUTOCOMMIT_OFF}
_ON_CONNECTION = 1
_DATABASE_NAME = 16
"""SQL_DATABASE_NAME of the CLI."""


class Isolation(IntEnum):
    """Isolation of a transaction, by the names of Db2; numbers are those of the CLI."""

    UR = 1
    CS = 2
    RS = 4
    RR = 8


class Cursor:
    """The rows of a running query. `columns` are their names. The cursor stays in its connection's
    `opened` set until it is closed."""

    def __init__(self, statement: Any, opened: set[Cursor]) -> None:
        self._statement, self._opened = statement, opened
        opened.add(self)
        self.columns = tuple(
            _native(ibm_db.field_name, statement, place)
            for place in range(_native(ibm_db.num_fields, statement))
        )

    def fetch(self, rows: int, /) -> list[Row]:
        """Return the next rows, at most `rows`; empty at the end. Values are the driver's:
        integers, floats, texts (also those of decimals), bytes, dates, times, datetimes, None.
        Raises DriverError."""
        fetched: list[Row] = _native(ibm_db.fetchmany, self._statement, rows)
        return fetched

    def scale(self, column: int) -> int:
        """Return the digits after the point, or of fractions of seconds, of a column of the
        query."""
        return int(_native(ibm_db.field_scale, self._statement, column) or 0)

    def description(self) -> Sequence[tuple[object, ...]]:
        """Return the driver's description of each column: name, type, width, precision and
        scale."""
        describe = (
            ibm_db.field_type,
            ibm_db.field_width,
            ibm_db.field_precision,
            ibm_db.field_scale,
        )
        return [
            (name, *(_native(column, self._statement, place) for column in describe))
            for place, name in enumerate(self.columns)
        ]

    def close(self) -> None:
        """Close the query; never raises."""
        if self in self._opened:
            self._opened.discard(self)
            _free(self._statement)


class Connection:
    """A connection whose transactions end by `commit` or `rollback`. One thread uses it. It is
    closed at the end of its context. Methods raise DriverError."""

    def __init__(self, handle: Any, limit_ms: int) -> None:
        self._handle = handle
        # When a statement object is deleted, the driver frees its handle, even if another statement
        # has the handle's number by then: no cursor may outlive its connection.
        self._opened: set[Cursor] = set()
        self._limits = {ibm_db.SQL_ATTR_QUERY_TIMEOUT: -(-limit_ms // 1000)} if limit_ms else {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def cursor(self, sql: str, parameters: Sequence[object] = ()) -> Cursor:
        """Prepare and run a query. Each call prepares again, because a prepared query keeps its
        columns in Db2. `parameters` are the values of its question marks."""
        return Cursor(self._run(sql, parameters), self._opened)

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run a statement and return its rows; empty if it has no result."""
        statement = self._run(sql, parameters)
        try:
            if not _native(ibm_db.num_fields, statement):
                return []
            fetched: list[Row] = _native(ibm_db.fetchall, statement)
            return fetched
        finally:
            _free(statement)

    @property
    def database(self) -> str:
        """The name of the database as the server has it (CURRENT SERVER)."""
        return str(_native(ibm_db.get_db_info, self._handle, _DATABASE_NAME))

    def commit(self) -> None:
        """End the transaction."""
        _native(ibm_db.commit, self._handle)

    def rollback(self) -> None:
        """End the transaction and undo its changes."""
        _native(ibm_db.rollback, self._handle)

    def isolate(self, isolation: Isolation) -> None:
        """Set the isolation of the transactions that follow."""
        option = {ibm_db.SQL_ATTR_TXN_ISOLATION: int(isolation)}
        _native(ibm_db.set_option, self._handle, option, _ON_CONNECTION)

    def metadata(self, function: str, *arguments: str | bool | None) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of one of the CLI's functions on the catalogue: `tables`, `columns`,
        `primary_keys`, `statistics`; the arguments are schema, table and further ones. Names are
        patterns where the CLI says so."""
        statement = _native(getattr(ibm_db, function), self._handle, None, *arguments)
        try:
            while row := _native(ibm_db.fetch_assoc, statement):
                yield row
        finally:
            _free(statement)

    def close(self) -> None:
        """Roll back, end running queries, and disconnect; never raises."""
        for cursor in tuple(self._opened):
            cursor.close()
        with suppress(DriverError):
            _native(ibm_db.rollback, self._handle)
        with suppress(DriverError):
            _native(ibm_db.close, self._handle)

    def _run(self, sql: str, parameters: Sequence[object]) -> Any:
        statement = _native(ibm_db.prepare, self._handle, sql, self._limits)
        try:
            _native(ibm_db.execute, statement, tuple(parameters))
        except DriverError:
            _free(statement)
            raise
        return statement


def connect(config: Db2Config, *, limit: str = QUERY_LIMIT) -> Connection:
    """Return an open connection. `limit` is the property that limits the duration of statements:
    that of queries, or that of checks, which also limits the login.

    Raises HeadraceError with a code of `translate`.
    """
    limit_ms = config.database_query_timeout_ms
    login_seconds = _LOGIN_SECONDS
    if limit == CHECK_LIMIT:
        limit_ms = config.connection_validation_timeout_ms
        login_seconds = -(-limit_ms // 1000)

    def log_in() -> Any:
        text = connection_string(config, login_seconds)
        return _native(ibm_db.connect, text, "", "", _IN_TRANSACTION)

    def is_refused(error: Exception) -> bool:
        known = translate(error, config, about="")
        return known is not None and known.code == "db2.authentication"

    try:
        handle = logged_in([config.database_password], log_in, DriverError, is_refused)
    except DriverError as error:
        raise translated_error(error, config, about="") from None
    return Connection(handle, limit_ms)


def connection_string(config: Db2Config, login_seconds: int = _LOGIN_SECONDS) -> str:
    """Return keywords for the CLI driver; those of `driver.*` override headrace's, also by the
    names of Java's driver if the CLI has an equivalent.

    Raises HeadraceError("db2.impossible_keyword") if a value has the character that ends values, or
    if only Java's driver has a keyword.
    """
    password = config.database_password
    keywords = {
        "DATABASE": config.database_dbname,
        "HOSTNAME": config.database_hostname,
        "PORT": str(config.database_port),
        "PROTOCOL": "TCPIP",
        "UID": config.database_user,
        "PWD": None if password is None else password.reveal(),
        "CONNECTTIMEOUT": str(login_seconds),
        "PROGRAMNAME": "headrace",
        # A point in numbers, whatever the client's locale.
        "PATCH2": "15",
    }
    if config.db2_platform == Db2Platform.LUW:
        # Without it, readers wait for ever if the LOCKTIMEOUT of the database is -1.
        keywords["LOCKTIMEOUT"] = str(_LOCK_SECONDS)
    overrides = dict(_keyword(name, text) for name, text in config.driver.items())
    names = {"UID": "database.user", "PWD": "database.password", "DATABASE": "database.dbname"}
    for name, text in (keywords := {**keywords, **overrides}).items():
        if text is not None and _SEPARATOR in text:
            raise HeadraceError(
                "db2.impossible_keyword",
                f"{names.get(name, f'driver.{name}')} has the character {_SEPARATOR}, which "
                "the driver's connection string cannot hold",
                "Choose another one.",
            )
    return "".join(f"{name}={text};" for name, text in keywords.items() if text)


def _keyword(name: str, text: str) -> tuple[str, str]:
    """Return a keyword of the CLI, and its value."""
    keyword, value = name.upper(), text.strip()
    if keyword == "SSLCONNECTION":
        return "SECURITY", "SSL" if value.lower() == "true" else ""
    if keyword == "SSLCERTLOCATION":
        return "SSLSERVERCERTIFICATE", value
    if keyword == "SECURITYMECHANISM" and value in _MECHANISMS:
        return "AUTHENTICATION", _MECHANISMS[value]
    if keyword.startswith(_OF_JAVA):
        raise HeadraceError(
            "db2.impossible_keyword",
            f"driver.{name} is of Java's driver, and IBM's CLI driver has no such keyword",
            "Set driver.SECURITY=SSL and driver.SSLServerCertificate (a file of certificates), "
            "or driver.AUTHENTICATION.",
        )
    return keyword, text


@contextmanager
def opened(config: Db2Config, doing: str, *, limit: str = CHECK_LIMIT) -> Iterator[Connection]:
    """A context with a connection for the action `doing`; errors of the driver are translated."""
    with connect(config, limit=limit) as connection:
        try:
            yield connection
        except DriverError as error:
            raise translated_error(error, config, doing, limit) from None


def translated_error(
    error: DriverError,
    config: Db2Config,
    doing: str = "",
    limit: str = QUERY_LIMIT,
    about: str | None = None,
) -> HeadraceError:
    """Return the translation of an error of the driver; see `translate`."""
    known = translate(error, config, doing, limit, about)
    assert known is not None
    return known


def _free(statement: Any) -> None:
    with suppress(DriverError):
        _native(ibm_db.free_stmt, statement)


def _native(function: Callable[..., T], *arguments: Any) -> T:
    """Call the driver, whose errors are plain Exceptions. If it returns a result besides its error,
    Python raises a SystemError that the error caused."""
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001 - it has no class of its own
        raise DriverError(str(error.__cause__ or error)) from None
