"""The parts of IBM's driver that the Db2 connector uses, compared with the driver itself, without a
server.

The driver is a module in C, whose functions have no signatures: those of its manual stand here, and
the driver is asked how many arguments it takes.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibm_db
import pytest

from headrace.connectors.db2.connection import Connection, Isolation
from headrace.connectors.db2.errors import DriverError
from tests.contract.driver_calls import Driver, Member, faults, sources, uses

FOLDER = Path(inspect.getfile(Connection)).parent


def connect(
    database: str, user: str, password: str, options: Any = None, replaced: int = 0
) -> Any: ...
def prepare(connection: Any, statement: str, options: Any = None) -> Any: ...
def execute(stmt: Any, parameters: Any = None) -> Any: ...
def fetchmany(stmt: Any, number_of_rows: int) -> Any: ...
def fetchall(stmt: Any) -> Any: ...
def fetch_assoc(stmt: Any, row_number: int = -1) -> Any: ...
def field_name(stmt: Any, column: int) -> Any: ...
def field_scale(stmt: Any, column: int) -> Any: ...
def field_type(stmt: Any, column: int) -> Any: ...
def field_width(stmt: Any, column: int) -> Any: ...
def field_precision(stmt: Any, column: int) -> Any: ...
def num_fields(stmt: Any) -> Any: ...
def free_stmt(stmt: Any) -> Any: ...
def commit(connection: Any) -> Any: ...
def rollback(connection: Any) -> Any: ...
def close(connection: Any) -> Any: ...
def set_option(resource: Any, options: Any, kind: int) -> Any: ...
def get_db_info(connection: Any, option: int) -> Any: ...
def tables(
    connection: Any, qualifier: Any = None, schema: Any = None, name: Any = None, types: Any = None
) -> Any: ...
def columns(
    connection: Any, qualifier: Any = None, schema: Any = None, name: Any = None, column: Any = None
) -> Any: ...
def primary_keys(connection: Any, qualifier: Any, schema: Any, name: Any) -> Any: ...
def statistics(connection: Any, qualifier: Any, schema: Any, name: Any, unique: bool) -> Any: ...


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    connect, prepare, execute, fetchmany, fetchall, fetch_assoc, field_name, field_scale,
    field_type, field_width, field_precision, num_fields, free_stmt, commit,
    rollback, close, set_option, get_db_info,
)  # fmt: skip
_OF_CATALOGUE: tuple[Callable[..., Any], ...] = (tables, columns, primary_keys, statistics)
TABLE = Driver(
    classes={"ibm_db": ibm_db},
    members={
        "ibm_db.SQL_ATTR_AUTOCOMMIT": Member(),
        "ibm_db.SQL_ATTR_QUERY_TIMEOUT": Member(),
        "ibm_db.SQL_ATTR_TXN_ISOLATION": Member(),
        "ibm_db.SQL_AUTOCOMMIT_OFF": Member(),
        **{f"ibm_db.{function.__name__}": Member(documented=function) for function in _FUNCTIONS},
    },
    through=frozenset({"_native"}),
)
_COUNT = re.compile(r"takes (exactly|at least|at most) (\d+)")
_UNCOUNTED = (fetchmany,)
"""Functions whose wrong calls all have one error."""


def counted(function: Callable[..., Any]) -> tuple[int, int]:
    """The least and the largest number of a function's arguments, from its errors."""
    counts = []
    for arguments in ((), (None,) * 30):
        with pytest.raises(TypeError) as error:
            function(*arguments)
        match = _COUNT.search(str(error.value))
        assert match is not None
        counts.append(int(match[2]))
    least, most = counts
    return least, most


def test_everything_that_the_connector_uses_of_the_driver_is_there_and_takes_its_arguments() -> (
    None
):
    assert faults(TABLE, uses(TABLE, sources(FOLDER))) == []


@pytest.mark.parametrize("function", [*_FUNCTIONS, *_OF_CATALOGUE])
def test_the_driver_takes_as_many_arguments_as_its_manual_says(
    function: Callable[..., Any],
) -> None:
    real = getattr(ibm_db, function.__name__)
    if function in _UNCOUNTED:
        with pytest.raises(Exception, match="requires a statement handle and an integer"):
            real()
        return
    parameters = inspect.signature(function).parameters.values()
    needed = sum(parameter.default is parameter.empty for parameter in parameters)
    assert counted(real) == (needed, len(parameters))


def test_the_functions_of_the_catalogue_take_what_they_are_given() -> None:
    documented = {function.__name__: inspect.signature(function) for function in _OF_CATALOGUE}
    called: dict[str, int] = {}
    for path in sources(FOLDER):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "").endswith("metadata"):
                function, *arguments = node.args
                if isinstance(function, ast.Constant):
                    called[str(function.value)] = len(arguments)
    assert set(called) == set(documented)
    for name, count in called.items():
        documented[name].bind(*[None] * (2 + count))  # the connection, and no qualifier


def test_constants_are_those_of_the_cli() -> None:
    assert ibm_db.SQL_ATTR_TXN_ISOLATION == 108
    assert ibm_db.SQL_ATTR_QUERY_TIMEOUT == 0
    assert ibm_db.SQL_ATTR_AUTOCOMMIT == 102
    assert ibm_db.SQL_AUTOCOMMIT_OFF == 0
    assert [int(level) for level in Isolation] == [1, 2, 4, 8]


def test_an_error_of_the_driver_has_no_class_of_its_own() -> None:
    where = "DATABASE=D;HOSTNAME=127.0.0.1;PORT=1;PROTOCOL=TCPIP;UID=u;PWD=p;"
    with pytest.raises(Exception, match="SQL30081N") as error:
        ibm_db.connect(where, "", "")
    assert type(error.value) is Exception
    raised = DriverError(str(error.value))
    assert (raised.state, raised.code, raised.is_unreachable) == ("08001", -30081, True)
