"""Connections to Oracle by python-oracledb: statements, rows in bulk, containers. It is in thin
mode, which needs no client of Oracle, unless `driver.lib_dir` names the folder of a client.

No other module calls the driver. `driver.module` names another driver with the same calls.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import metadata
from typing import Any, Self, TypeVar

import pyarrow as pa

from headrace.config.credentials.login import logged_in
from headrace.connectors.oracle import sql
from headrace.connectors.oracle.config import OracleConfig, data_source
from headrace.connectors.oracle.errors import (
    INVALID_TEXT,
    QUERY_LIMIT,
    DriverError,
    is_refused,
)
from headrace.connectors.oracle.errors import translated_error as translated_error
from headrace.connectors.oracle.rows.invalid_texts import MARKED, REPLACED
from headrace.errors import HeadraceError

T = TypeVar("T")
Row = tuple[Any, ...]
Binds = Mapping[str, object]

CHECK_LIMIT = "connection.validation.timeout.ms"
DRIVER = "oracledb"
_LOGIN_SECONDS = 30.0
_NO_BINDS: Binds = {}
_METADATA_ROWS = 1000
_OWN_KEYWORDS = frozenset({"module", "lib_dir", "user", "password", "dsn"})
_JAVAS = {
    "oracle.net.connect_timeout": "tcp_connect_timeout",
    "oracle.net.ssl_server_cert_dn": "ssl_server_cert_dn",
    "oracle.net.ssl_server_dn_match": "ssl_server_dn_match",
    "oracle.net.tns_admin": "config_dir",
    "oracle.net.wallet_location": "wallet_location",
    "oracle.net.wallet_password": "wallet_password",
    "v$session.machine": "machine",
    "v$session.osuser": "osuser",
    "v$session.program": "program",
    "v$session.terminal": "terminal",
}
"""Parameters of python-oracledb, by the names of Java's driver, whose times are in milliseconds."""
_MILLISECONDS = 1000
_NO_NETWORK = "DPY-6005"
_WALLET = re.compile(r"(?:DIRECTORY\s*=|^file:)([^)]+)", re.IGNORECASE)
_TEXTS = frozenset(
    f"DB_TYPE_{type_name}"
    for type_name in ("CHAR", "NCHAR", "VARCHAR", "NVARCHAR", "LONG", "LONG_NVARCHAR")
)
_LARGE_TEXTS = frozenset({"DB_TYPE_CLOB", "DB_TYPE_NCLOB"})
_CHARACTER_BYTES = 4
_VALUES = frozenset({"str", "bool", "int", "float"})
"""The types of parameters that a property can set."""
_OWN_RIGHTS = (
    "The user has rights of its own instead of those of an administrator (SYSDBA and the like): "
    "headrace check FILE --fix-sql has the statements that grant them."
)
_TRUTHS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}


class Cursor:
    """The rows of a running query. `columns` are their names, `description` is the driver's
    description of each: name, type, display size, bytes, precision, scale, and whether it may be
    null."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self.description: tuple[tuple[Any, ...], ...] = tuple(map(tuple, cursor.description or ()))
        self.columns = tuple(column[0] for column in self.description)

    def fetch(self, rows: int, /) -> list[Row]:
        """Return the next rows, at most `rows`; empty at the end. Values are the driver's:
        integers, floats (texts if the cursor was opened with `exact`), texts, bytes, datetimes,
        None. Texts are as in `invalid_texts`. Raises DriverError."""
        fetched: list[Row] = _native(self._cursor.fetchmany, rows)
        return fetched

    def close(self) -> None:
        """Close the query; never raises."""
        with suppress(DriverError):
            _native(self._cursor.close)


class Connection:
    """A connection whose transactions end by `commit` or `rollback`. One thread uses it. It is
    closed at the end of its context. Methods raise DriverError."""

    def __init__(self, native: Any, fetch_size: int, long: object = None) -> None:
        """`long` is the driver's type DB_TYPE_LONG, as which large texts are fetched."""
        self._native, self._fetch_size = native, fetch_size
        types = _OutputTypes(long)
        # The driver keeps what it prepared for a statement as long as the handler is the same
        # object.
        self._plain, self._exact = types.plain, types.exact
        self.container = ""
        """The session's container; empty before `switch_to`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def version(self) -> tuple[int, ...]:
        """The server's version: `(19, 3, 0, 0, 0)`."""
        return tuple(int(part) for part in str(self._native.version).split("."))

    @property
    def is_thin(self) -> bool:
        """Whether the driver connects to the server without Oracle's client libraries."""
        return bool(self._native.thin)

    def cursor(
        self,
        statement: str,
        binds: Binds = _NO_BINDS,
        *,
        rows: int | None = None,
        exact: bool = False,
    ) -> Cursor:
        """Run a query, each round trip of which fetches `rows` rows (query.fetch.size). `exact`:
        numbers are texts with all of their digits, and bytes of texts that are not part of a
        character are marked; otherwise they are U+FFFD."""
        cursor = _native(self._native.cursor)
        cursor.arraysize = rows or self._fetch_size
        cursor.prefetchrows = cursor.arraysize
        cursor.outputtypehandler = self._exact if exact else self._plain
        try:
            _native(cursor.execute, statement, dict(binds))
        except DriverError:
            cursor.close()
            raise
        return Cursor(cursor)

    def rows(self, statement: str, binds: Binds = _NO_BINDS) -> list[Row]:
        """Run a statement and return its rows; empty if it has no result."""
        cursor = _native(self._native.cursor)
        cursor.arraysize = cursor.prefetchrows = _METADATA_ROWS
        cursor.outputtypehandler = self._plain
        try:
            _native(cursor.execute, statement, dict(binds))
            if not cursor.description:
                return []
            fetched: list[Row] = _native(cursor.fetchall)
            return fetched
        finally:
            with suppress(DriverError):
                _native(cursor.close)

    def execute(self, statement: str, binds: Binds = _NO_BINDS) -> None:
        """Run a statement that has no rows: a PL/SQL block, ALTER SESSION, or one that writes."""
        self.rows(statement, binds)

    def batches(
        self,
        statement: str,
        schema: pa.Schema,
        binds: Binds = _NO_BINDS,
        *,
        rows: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Run a query whose columns have these names and types, and yield its rows as the driver
        fetches them: without a Python object for each value, and texts with whatever bytes they
        have (the driver calls no type handler for them)."""
        arguments: dict[str, Any] = {
            "parameters": dict(binds),
            "size": rows or self._fetch_size,
            "requested_schema": schema,
        }
        fetched = _native(lambda: iter(self._native.fetch_df_batches(statement, **arguments)))
        while (frame := _native(lambda: next(fetched, None))) is not None:
            if frame.num_rows():  # the driver returns an empty frame if a query has no rows
                for batch in pa.table(frame).to_batches():
                    yield batch.rename_columns(schema.names)

    def switch_to(self, container: str) -> None:
        """Switch the session to a container, whose objects later statements name: `CDB$ROOT`, or a
        pluggable database. The session has headrace's formats there."""
        if container == self.container:
            return
        try:
            self.execute(sql.set_container(container))
        except DriverError as error:
            error.is_of_root = container == sql.ROOT
            raise
        self.container = container
        self.set_formats()

    def set_formats(self) -> None:
        """Set the formats of literals in SQL_REDO and of rows, and UTC."""
        self.execute(sql.SESSION_FORMATS())
        self.execute(sql.SESSION_TIME_ZONE())

    def limit(self, milliseconds: int) -> int:
        """Set how long each round trip may take from now on; 0: unlimited. Returns the former
        limit."""
        before = int(self._native.call_timeout)
        self._native.call_timeout = milliseconds
        return before

    def commit(self) -> None:
        """End the transaction."""
        _native(self._native.commit)

    def rollback(self) -> None:
        """End the transaction and undo its changes."""
        _native(self._native.rollback)

    def close(self) -> None:
        """Roll back and disconnect; never raises."""
        with suppress(DriverError):
            _native(self._native.rollback)
        with suppress(DriverError):
            _native(self._native.close)


def connect(
    config: OracleConfig,
    *,
    limit: str = QUERY_LIMIT,
    node: str | None = None,
    container: str | None = None,
) -> Connection:
    """Return an open connection with headrace's formats, in a `container`, else where its service
    is: in the root of a container database if database.pdb.name is set. `limit` is the property
    that limits the duration of statements: that of queries, or that of checks, which also limits
    the login. `node` is one of rac.nodes.

    Raises HeadraceError with a code of `translate`, `oracle.unknown_driver` and
    `oracle.impossible_parameter`.
    """
    limit_ms = config.database_query_timeout_ms
    login_seconds = _LOGIN_SECONDS
    caching: dict[str, object] = {}
    if limit == CHECK_LIMIT:
        limit_ms = config.connection_validation_timeout_ms
        login_seconds = limit_ms / 1000
        # The same statement runs in several containers, where it names other objects.
        caching = {"stmtcachesize": 0}
    driver = _driver(config)
    arguments = {
        "user": config.database_user,
        "dsn": data_source(config, node),
        "tcp_connect_timeout": login_seconds,
        "program": "headrace",
        **caching,
        **_parameters(config, driver),
    }
    connection: Connection | None = None
    password = config.database_password

    def log_in() -> Any:
        secret = {"password": None if password is None else password.reveal()}
        return _native(lambda: driver.connect(**{**secret, **arguments}))

    try:
        _load_client(config, driver)
        native = logged_in([password], log_in, DriverError, lambda error: is_refused(error, config))
        native.call_timeout = limit_ms
        connection = Connection(
            native, config.query_fetch_size, getattr(driver, "DB_TYPE_LONG", None)
        )
        if container is None:
            connection.set_formats()
        else:
            connection.switch_to(container)
    except DriverError as error:
        if connection is not None:
            connection.close()
        if node is not None:
            raise _node_error(error, config, node) from None
        raise translated_error(error, config, limit=limit, about="") from None
    return connection


def _node_error(error: DriverError, config: OracleConfig, node: str) -> HeadraceError:
    """Return the error of one of rac.nodes: never with a password."""
    known = translated_error(error, config, about="")
    text = config.hidden.in_error(error.text, "")
    return HeadraceError(
        known.code,
        f"{config.database_user}@{data_source(config, node)}: {text}",
        f"Check {node} in rac.nodes (host, host:port or host:port/sid), and that its instance and "
        "listener run.",
        retriable=known.retriable,
    )


@contextmanager
def opened(
    config: OracleConfig, doing: str, *, limit: str = CHECK_LIMIT, container: str | None = None
) -> Iterator[Connection]:
    """A context with a connection for the action `doing`, in the pluggable database if there is
    one, or in `container`; errors of the driver are translated."""
    with connect(config, limit=limit, container=container or config.container) as connection:
        try:
            yield connection
        except DriverError as error:
            raise translated_error(error, config, doing, limit) from None


def driver_version(config: OracleConfig) -> str:
    """Return the driver with its version: `oracledb 3.4.0`. Raises like `connect`."""
    name = config.driver.get("module", DRIVER)
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return f"{name} {getattr(_driver(config), '__version__', '')}".strip()


def _driver(config: OracleConfig) -> Any:
    name = config.driver.get("module", DRIVER)
    try:
        driver = importlib.import_module(name)
    except ImportError as error:
        raise HeadraceError(
            "oracle.unknown_driver",
            f"driver.module: {name} cannot be imported ({error})",
            "Remove driver.module, and install headrace[oracle].",
        ) from None
    if not hasattr(driver, "apilevel"):
        raise HeadraceError(
            "oracle.unknown_driver",
            f"driver.module: {name} is not a driver (PEP 249)",
            "Remove driver.module: python-oracledb is used.",
        )
    if name == DRIVER:
        driver.defaults.fetch_lobs = False
    return driver


def _load_client(config: OracleConfig, driver: Any) -> None:
    """Switch the whole process to thick mode if driver.lib_dir is set; empty: the client is where
    the system looks for libraries. Raises DriverError."""
    folder = config.driver.get("lib_dir")
    if folder is not None:
        settings = _parameters(config, driver).get("config_dir")
        _native(
            lambda: driver.init_oracle_client(lib_dir=folder or None, config_dir=settings or None)
        )


def _parameters(config: OracleConfig, driver: Any) -> dict[str, object]:
    """Return the parameters of `driver.*`, also by the names of Java's driver if python-oracledb
    has an equivalent; with the types that the driver's `connect` declares.

    Raises HeadraceError("oracle.impossible_parameter") for a name that the driver does not have,
    and for a value that does not have the parameter's type.
    """
    declared = inspect.signature(driver.connect).parameters
    takes_any = any(
        declaration.kind is declaration.VAR_KEYWORD for declaration in declared.values()
    )
    values: dict[str, object] = {}
    for name, text in config.driver.items():
        if name in _OWN_KEYWORDS:
            continue
        parameter = _JAVAS.get(name.lower(), name)
        if parameter in declared:
            annotation = str(declared[parameter].annotation)
            if not _VALUES & set(re.findall(r"\w+", annotation)):
                rights = f" {_OWN_RIGHTS}" if parameter == "mode" else ""
                raise HeadraceError(
                    "oracle.impossible_parameter",
                    f"driver.{name} is not supported: python-oracledb accepts no text for it "
                    f"({annotation})",
                    f"Remove driver.{name}.{rights}",
                )
            values[parameter] = _value(name, parameter, text, annotation)
        elif takes_any:
            values[parameter] = text
        else:
            whose = " is of Java's driver, and" if "." in name else ":"
            raise HeadraceError(
                "oracle.impossible_parameter",
                f"driver.{name}{whose} python-oracledb has no such parameter",
                f"{_twin(name, declared)} The parameters are those of python-oracledb's connect, "
                "such as driver.wallet_location, driver.config_dir, driver.ssl_server_dn_match.",
            )
    return values


def _twin(name: str, declared: Collection[str]) -> str:
    """Return the remedy for a name of Java's driver."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.rpartition(".")[2]).lower()
    near = difflib.get_close_matches(words, declared, n=1, cutoff=0.8)
    return f"Write driver.{near[0]}." if near else f"Remove driver.{name}."


def _value(name: str, parameter: str, text: str, annotation: str) -> object:
    kinds = set(re.findall(r"\w+", annotation))
    if parameter == "wallet_location" and (folder := _WALLET.search(text)):
        return folder[1].strip()
    if "str" in kinds:
        return text
    try:
        if "bool" in kinds:
            return _TRUTHS[text.strip().lower()]
        if "int" in kinds:
            return int(text)
        if "float" in kinds:
            return float(text) / (_MILLISECONDS if name != parameter else 1)
    except (KeyError, ValueError):
        pass
    raise HeadraceError(
        "oracle.impossible_parameter",
        f"driver.{name} has a value that python-oracledb does not accept ({annotation})",
        "Correct it, or leave it out.",
    )


class _OutputTypes:
    """Output type handlers of python-oracledb, which otherwise ends a query at a text with bytes
    that are not part of a character."""

    def __init__(self, long: object) -> None:
        self._long = long

    def plain(self, cursor: Any, column: Any) -> Any:
        """The handler for the connector's own statements."""
        return self._text(cursor, column, REPLACED)

    def exact(self, cursor: Any, column: Any) -> Any:
        """The handler for rows."""
        if _type_name(column) == "DB_TYPE_NUMBER":
            return cursor.var(str, arraysize=cursor.arraysize)
        return self._text(cursor, column, MARKED)

    def _text(self, cursor: Any, column: Any, errors: str) -> Any:
        name, size = _type_name(column), 0
        if name in _TEXTS:
            kind = column.type_code
            # The driver makes room for characters of four bytes each.
            size = -(-(column.internal_size or 0) // _CHARACTER_BYTES)
        elif name in _LARGE_TEXTS and self._long is not None:
            kind = self._long
        else:
            return None
        return cursor.var(kind, size, arraysize=cursor.arraysize, encoding_errors=errors)


def _type_name(column: Any) -> object:
    return getattr(column.type_code, "name", column.type_code)


def _native(function: Callable[..., T], *arguments: Any) -> T:
    """Call the driver, whose errors have details."""
    try:
        return function(*arguments)
    except OSError as error:  # an unknown host, or no network
        raise DriverError(str(error), _NO_NETWORK) from None
    except UnicodeDecodeError as error:  # from a type for which the driver calls no handler
        raise DriverError(f"{error.reason} ({error.encoding})", INVALID_TEXT) from None
    except Exception as error:
        if "Error" not in {kind.__name__ for kind in type(error).__mro__}:
            raise
        detail = error.args[0] if error.args else error
        text = str(getattr(detail, "message", error))
        code = getattr(detail, "code", 0)
        raise DriverError(text, getattr(detail, "full_code", None), code) from None
