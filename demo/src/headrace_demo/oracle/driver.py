"""Replacement of python-oracledb if `driver.module` names this module: the calls that
`headrace.connectors.oracle.connection` makes, on the stand-in of `server`. Errors are those of
python-oracledb, created from the server's answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from typing import Any, NamedTuple

import pyarrow as pa
from oracledb import (
    DB_TYPE_LONG,
    DB_TYPE_NUMBER,
    DB_TYPE_VARCHAR,
    ConnectParams,
    DatabaseError,
    DataFrame,
    DbType,
    Error,
    FetchInfo,
    OperationalError,
    from_arrow,
)

from headrace_demo.oracle.delays import send_at_once
from headrace_demo.oracle.texts import encoded

__all__ = [
    "DB_TYPE_LONG",
    "DatabaseError",
    "Error",
    "OperationalError",
    "apilevel",
    "connect",
    "paramstyle",
]

apilevel, threadsafety, paramstyle = "2.0", 2, "named"
_DSN = re.compile(r"(?://)?(?P<host>[^:/()]+):(?P<port>\d+)/(?P<service>.*)")
_CUT = "SQL_REDO"
"""The column of texts that the server may cut."""
_DESCRIPTOR = re.compile(r"\(DESCRIPTION=.*\(HOST=(?P<host>[^()]+)\)\(PORT=(?P<port>\d+)\).*")


class _Var(NamedTuple):
    """The result of an output type handler."""

    kind: Any
    encoding_errors: str | None = None


class Cursor:
    """Cursor with python-oracledb's interface."""

    def __init__(self, connection: OracleConnection) -> None:
        self._connection = connection
        self._number: int | None = None
        self._as_texts = False
        self._errors = "strict"
        self.description: list[FetchInfo] | None = None
        self.arraysize, self.prefetchrows = 100, 2
        self.outputtypehandler: Callable[[Cursor, Any], Any] | None = None

    def execute(self, statement: str, parameters: Mapping[str, Any] | None = None) -> Cursor:
        """Run a statement."""
        answer = self._connection.ask("execute", statement, dict(parameters or {}))
        self.description = None
        if answer is not None:
            self._number, columns = answer
            self.description = [_described(_Column(column)) for column in columns]
            number = self._asked_for(_described(_Column("", DB_TYPE_NUMBER)))
            self._as_texts = number.kind is str
            # The stand-in knows no types: its texts are all of one type.
            text = self._asked_for(_described(_Column("", buffer_size=4000, max_size=4000)))
            self._errors = text.encoding_errors or "strict"
        return self

    def _asked_for(self, column: FetchInfo) -> _Var:
        variable = self.outputtypehandler and self.outputtypehandler(self, column)
        return variable or _Var(None)

    def var(
        self,
        typ: Any,
        size: int = 0,  # noqa: ARG002 (there is room for all)
        arraysize: int = 1,  # noqa: ARG002
        *,
        encoding_errors: str | None = None,
    ) -> _Var:
        """Return the variable of an output type handler."""
        return _Var(typ, encoding_errors)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Fetch rows; texts are decoded strictly unless a handler says otherwise, as in
        python-oracledb."""
        convert = _text if self._as_texts else _number
        are_texts = [column[0] == _CUT for column in self.description or ()]
        return [
            tuple(map(self._decoded, map(convert, row), are_texts))
            for row in self.fetch_encoded(size or self.arraysize)
        ]

    def fetch_encoded(self, count: int) -> list[tuple[Any, ...]]:
        """Fetch rows in the server's form."""
        if self._number is None:  # the server has already sent all rows
            return []
        rows: list[tuple[Any, ...]] = self._connection.ask("fetch", self._number, count)
        if len(rows) < count:
            self._number = None
        return rows

    def _decoded(self, value: Any, is_text: bool) -> Any:
        if is_text and isinstance(value, bytes):
            return value.decode(errors=self._errors)
        if not isinstance(value, str) or value.isascii():
            return value
        return encoded(value).decode(errors=self._errors)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Fetch all remaining rows."""
        rows: list[tuple[Any, ...]] = []
        while part := self.fetchmany(10_000):
            rows += part
        return rows

    def close(self) -> None:
        """Close the cursor."""
        if self._number is not None:
            self._connection.ask("close", self._number)
            self._number = None


class _Column(NamedTuple):
    """The source of the driver's FetchInfo: a column in the server's description. The stand-in only
    knows the name; the type is a number when it calls a handler of types."""

    name: str
    dbtype: DbType = DB_TYPE_VARCHAR
    buffer_size: int = 0
    max_size: int = 0
    precision: int = 0
    scale: int = 0
    nulls_allowed: bool = True


def _described(column: _Column) -> FetchInfo:
    """An instance of the driver's own class, which has no public constructor."""
    make: Callable[[_Column], FetchInfo] = FetchInfo._from_impl
    return make(column)


class OracleConnection:
    """Connection with python-oracledb's interface."""

    def __init__(self, user: str, password: str, dsn: str) -> None:
        match = _DSN.fullmatch(dsn) or _DESCRIPTOR.fullmatch(dsn)
        if match is None:
            raise _error(0, f"DPY-4000: cannot connect to {dsn}")
        address = match["host"], int(match["port"])
        try:
            self._client = Client(address, authkey=password.encode())
            send_at_once(self._client)
            self._client.send(("session", user))
            succeeded, *answer = self._client.recv()
        except AuthenticationError:
            text = "ORA-01017: invalid username/password; logon denied"
            raise _error(1017, text) from None
        except (OSError, EOFError) as error:
            text = f"DPY-6005: cannot connect to database: {error}"
            raise _error(0, text) from None
        if not succeeded:
            raise _error(*answer)
        self.version: str = answer[0]
        self.call_timeout = 0
        self.module = ""
        self.thin = True

    def cursor(self) -> Cursor:
        """Return a new cursor."""
        return Cursor(self)

    def fetch_df_batches(
        self,
        statement: str,
        parameters: Mapping[str, Any] | None = None,
        size: int = 100,
        *,
        requested_schema: pa.Schema | None = None,
        **_: Any,
    ) -> Iterator[DataFrame]:
        """Yield the rows in data frames of python-oracledb's own class: an empty one if there are
        no rows."""
        cursor = self.cursor().execute(statement, parameters)
        assert cursor.description is not None
        names = [column[0] for column in cursor.description]
        rows = cursor.fetch_encoded(size)
        yield _frame(names, rows, requested_schema)
        while rows := cursor.fetch_encoded(size):
            yield _frame(names, rows, requested_schema)
        cursor.close()

    def commit(self) -> None:
        """Commit the transaction."""
        self.ask("commit")

    def rollback(self) -> None:
        """Roll back the transaction."""
        self.ask("rollback")

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the session."""
        try:
            self._client.send((method, arguments, {}))
            succeeded, *answer = self._client.recv()
        except (OSError, EOFError, ValueError):
            text = "DPY-4011: the database or network closed the connection"
            raise _error(0, text) from None
        if not succeeded:
            raise _error(*answer)
        return answer[0]


def connect(*, user: str, password: str, dsn: str, **_: Any) -> OracleConnection:
    """Open a connection."""
    return OracleConnection(user, password, dsn)


@cache
def _detail_class() -> Any:
    """The class of the detail object in python-oracledb's exceptions, which is not public."""
    try:
        ConnectParams().parse_connect_string("(")
    except Error as error:
        return type(error.args[0])
    raise AssertionError("a broken connect descriptor is taken")


def _error(code: int, text: str) -> Exception:
    """The exception that python-oracledb raises for an answer of the server, or (code 0) on its
    own."""
    detail = _detail_class()(message=text, code=code)
    raised: Exception = detail.exc_type(detail)
    return raised


def _number(value: Any) -> Any:
    """Numbers in the driver's types: integers, or floats."""
    if not isinstance(value, Decimal):
        return value
    return int(value) if value == value.to_integral_value() else float(value)


def _text(value: Any) -> Any:
    """Numbers as texts, for an output type handler."""
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value) if isinstance(value, int) else value


def _frame(
    names: Sequence[str], rows: Sequence[Sequence[Any]], schema: pa.Schema | None
) -> DataFrame:
    converted = [tuple(map(_number, row)) for row in rows]
    columns: Sequence[Sequence[Any]] = list(zip(*converted, strict=True)) or [()] * len(names)
    if schema is None:
        batch = pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names)
    else:
        types = zip(columns, schema.types, strict=True)
        arrays = [_array(column, kind) for column, kind in types]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    return frame_of(batch)


def _array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A column as the driver builds it: the bytes of texts are used unchanged."""
    if not pa.types.is_string(kind) and not pa.types.is_large_string(kind):
        return pa.array(column, kind)
    if all(value is None or (isinstance(value, str) and value.isascii()) for value in column):
        return pa.array(column, kind)
    raw = [encoded(value) if isinstance(value, str) else value for value in column]
    binary = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
    return pa.array(raw, binary).view(kind)


def frame_of(batch: pa.RecordBatch) -> DataFrame:
    """Rows as python-oracledb returns them, without a copy."""
    # A reader keeps a batch without rows, which a table would drop.
    frame = from_arrow(pa.RecordBatchReader.from_batches(batch.schema, [batch]))
    assert isinstance(frame, DataFrame)
    return frame
