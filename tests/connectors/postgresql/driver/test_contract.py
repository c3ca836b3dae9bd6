"""The parts of psycopg that the PostgreSQL connector uses, compared with its classes, without a
server."""

from __future__ import annotations

import inspect
from pathlib import Path

import psycopg
import psycopg.conninfo
from psycopg import pq, sql

from headrace.connectors.postgresql import connection
from tests.contract.driver_calls import Driver, Member, faults, sources, uses

FOLDER = Path(inspect.getfile(connection)).parent
_ERRORS = ("Error", "OperationalError")
TABLE = Driver(
    classes={
        "psycopg": psycopg,
        "psycopg.conninfo": psycopg.conninfo,
        "psycopg.errors": psycopg.errors,
        "psycopg.pq": pq,
        "psycopg.pq.abc": pq.abc,
        "psycopg.sql": sql,
        # Of a connection that was never made: some attributes are those of instances.
        "psycopg.Connection": psycopg.Connection(pq.PGconn.connect(b"port=0")),
        "psycopg.ConnectionInfo": psycopg.ConnectionInfo,
        "psycopg.Cursor": psycopg.Cursor,
        "psycopg.RawCursor": psycopg.RawCursor,
        "psycopg.errors.Diagnostic": psycopg.errors.Diagnostic,
        "psycopg.pq.ConnStatus": pq.ConnStatus,
        "psycopg.pq.DiagnosticField": pq.DiagnosticField,
        "psycopg.pq.ExecStatus": pq.ExecStatus,
        "psycopg.pq.TransactionStatus": pq.TransactionStatus,
        "psycopg.pq.abc.PGconn": pq.PGconn,
        "psycopg.pq.abc.PGresult": pq.PGresult,
        "psycopg.sql.Composable": sql.Composable,
        "psycopg.sql.Composed": sql.Composed,
        "psycopg.sql.Identifier": sql.Identifier,
        "psycopg.sql.Literal": sql.Literal,
        "psycopg.sql.SQL": sql.SQL,
        **{f"psycopg.{name}": getattr(psycopg, name)("refused") for name in _ERRORS},
    },
    members={
        "psycopg.Connection.broken": Member(),
        "psycopg.Connection.cancel": Member(),
        "psycopg.Connection.cancel_safe": Member(),
        "psycopg.Connection.close": Member(),
        "psycopg.Connection.closed": Member(),
        "psycopg.Connection.execute": Member(gives="psycopg.Cursor"),
        "psycopg.Connection.info": Member(gives="psycopg.ConnectionInfo"),
        "psycopg.Connection.pgconn": Member(gives="psycopg.pq.abc.PGconn"),
        "psycopg.Connection.prepare_threshold": Member(),
        "psycopg.Connection.transaction": Member(gives="psycopg.Transaction"),
        "psycopg.ConnectionInfo.backend_pid": Member(),
        "psycopg.ConnectionInfo.server_version": Member(),
        "psycopg.Cursor.fetchall": Member(),
        "psycopg.Cursor.fetchone": Member(),
        "psycopg.Cursor.pgresult": Member(gives="psycopg.pq.abc.PGresult"),
        "psycopg.DataError": Member(),
        "psycopg.Error.diag": Member(gives="psycopg.errors.Diagnostic"),
        "psycopg.Error.sqlstate": Member(),
        "psycopg.InternalError": Member(),
        "psycopg.NotSupportedError": Member(),
        "psycopg.ProgrammingError": Member(),
        "psycopg.RawCursor.execute": Member(),
        "psycopg.connect": Member(gives="psycopg.Connection"),
        "psycopg.conninfo.conninfo_to_dict": Member(),
        "psycopg.errors.Diagnostic.message_primary": Member(),
        "psycopg.errors.InsufficientPrivilege": Member(),
        "psycopg.errors.InvalidSchemaName": Member(),
        "psycopg.errors.StatementTooComplex": Member(),
        "psycopg.errors.UndefinedTable": Member(),
        "psycopg.errors.error_from_result": Member(),
        "psycopg.pq.ConnStatus.OK": Member(),
        "psycopg.pq.DiagnosticField.MESSAGE_PRIMARY": Member(),
        "psycopg.pq.DiagnosticField.SQLSTATE": Member(),
        "psycopg.pq.ExecStatus.COPY_BOTH": Member(),
        "psycopg.pq.ExecStatus.COPY_OUT": Member(),
        "psycopg.pq.ExecStatus.FATAL_ERROR": Member(),
        "psycopg.pq.TransactionStatus.IDLE": Member(),
        "psycopg.pq.TransactionStatus.INTRANS": Member(),
        "psycopg.pq.abc.PGconn.consume_input": Member(),
        "psycopg.pq.abc.PGconn.error_message": Member(),
        "psycopg.pq.abc.PGconn.exec_": Member(gives="psycopg.pq.abc.PGresult"),
        "psycopg.pq.abc.PGconn.finish": Member(),
        "psycopg.pq.abc.PGconn.flush": Member(),
        "psycopg.pq.abc.PGconn.get_copy_data": Member(),
        "psycopg.pq.abc.PGconn.get_result": Member(gives="psycopg.pq.abc.PGresult"),
        "psycopg.pq.abc.PGconn.info": Member(),
        "psycopg.pq.abc.PGconn.nonblocking": Member(),
        "psycopg.pq.abc.PGconn.prepare": Member(),
        "psycopg.pq.abc.PGconn.put_copy_data": Member(),
        "psycopg.pq.abc.PGconn.socket": Member(),
        "psycopg.pq.abc.PGconn.ssl_in_use": Member(),
        "psycopg.pq.abc.PGconn.status": Member(),
        "psycopg.pq.abc.PGconn.transaction_status": Member(),
        "psycopg.pq.abc.PGresult.error_field": Member(),
        "psycopg.pq.abc.PGresult.error_message": Member(),
        "psycopg.pq.abc.PGresult.fmod": Member(),
        "psycopg.pq.abc.PGresult.fname": Member(),
        "psycopg.pq.abc.PGresult.ftablecol": Member(),
        "psycopg.pq.abc.PGresult.ftype": Member(),
        "psycopg.pq.abc.PGresult.nfields": Member(),
        "psycopg.pq.abc.PGresult.status": Member(),
        "psycopg.sql.Identifier.as_string": Member(),
        "psycopg.sql.Literal.as_string": Member(),
        "psycopg.sql.SQL.format": Member(),
        "psycopg.sql.SQL.join": Member(),
    },
)
_OF_DICTIONARIES = frozenset({"comment", "default", "not_null", "startswith"})
"""Attributes of what a dictionary's `get` gives, which the walk takes for a connection's."""


def test_everything_that_the_connector_uses_of_the_driver_is_there_and_takes_its_arguments() -> (
    None
):
    driver_uses = [use for use in uses(TABLE, sources(FOLDER)) if use.name not in _OF_DICTIONARIES]
    assert faults(TABLE, driver_uses) == []
