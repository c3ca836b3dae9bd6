"""The parts of python-oracledb that the Oracle connector and its stand-in use, compared with its
classes, without a server."""

from __future__ import annotations

import inspect
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import oracledb
import pyarrow as pa
import pytest
from benchmarks.oracle import driver as benchmark
from benchmarks.oracle import workload
from oracledb import arrow_impl, errors

from headrace.connectors.oracle.config import OracleConfig, data_source
from headrace.connectors.oracle.connection import Connection, connect
from headrace.connectors.oracle.errors import DriverError, translate
from headrace.connectors.oracle.streaming.redo_rows import REDO
from headrace.errors import HeadraceError
from headrace_demo.oracle import driver as stand_in
from tests.connectors.oracle.test_connection import PROPERTIES, config
from tests.contract.driver_calls import Driver, Member, faults, sources, uses

FOLDER = Path(inspect.getfile(Connection)).parent
_OF_26 = "_create_exception"
"""A function of the driver that makes its errors, in 26.0 and later."""
TABLE = Driver(
    classes={
        "oracledb": oracledb,
        "oracledb.defaults": oracledb.defaults,
        "Connection": oracledb.Connection,
        "Cursor": oracledb.Cursor,
        "DataFrame": oracledb.DataFrame,
        "FetchInfo": oracledb.FetchInfo,
        "DbType": oracledb.DbType,
        "_Error": errors._Error("ORA-00900: invalid SQL statement", code=900),
    },
    members={
        "oracledb.DB_TYPE_LONG": Member(),
        "oracledb.__version__": Member(),
        "oracledb.apilevel": Member(),
        "oracledb.connect": Member(gives="Connection"),
        "oracledb.defaults.fetch_lobs": Member(),
        "oracledb.init_oracle_client": Member(),
        "Connection.call_timeout": Member(),
        "Connection.thin": Member(),
        "Connection.close": Member(),
        "Connection.commit": Member(),
        "Connection.cursor": Member(gives="Cursor"),
        "Connection.fetch_df_batches": Member(gives="DataFrame"),
        "Connection.rollback": Member(),
        "Connection.version": Member(),
        "Cursor.arraysize": Member(),
        "Cursor.close": Member(),
        "Cursor.description": Member(gives="FetchInfo"),
        "Cursor.execute": Member(gives="Cursor"),
        "Cursor.fetchall": Member(),
        "Cursor.fetchmany": Member(),
        "Cursor.outputtypehandler": Member(),
        "Cursor.prefetchrows": Member(),
        "Cursor.var": Member(),
        "DataFrame.num_rows": Member(),
        "DbType.name": Member(),
        "FetchInfo.internal_size": Member(),
        "FetchInfo.type_code": Member(gives="DbType"),
        "_Error.code": Member(),
        "_Error.full_code": Member(),
        "_Error.message": Member(),
    },
    named={
        "connection.py": {
            "column": "FetchInfo",
            "cursor": "Cursor",
            "detail": "_Error",
            "driver": "oracledb",
            "native": "Connection",
        }
    },
    given={"_driver": "oracledb"},
    through=frozenset({"_native"}),
)


def test_everything_that_the_connector_uses_of_the_driver_is_there_and_takes_its_arguments() -> (
    None
):
    assert faults(TABLE, uses(TABLE, sources(FOLDER))) == []


@pytest.mark.parametrize(
    ("called", "real"),
    [
        (stand_in.connect, oracledb.connect),
        (stand_in.OracleConnection.fetch_df_batches, oracledb.Connection.fetch_df_batches),
        (stand_in.OracleConnection.cursor, oracledb.Connection.cursor),
        (stand_in.OracleConnection.commit, oracledb.Connection.commit),
        (stand_in.OracleConnection.rollback, oracledb.Connection.rollback),
        (stand_in.OracleConnection.close, oracledb.Connection.close),
        (stand_in.Cursor.execute, oracledb.Cursor.execute),
        (stand_in.Cursor.var, oracledb.Cursor.var),
        (stand_in.Cursor.fetchmany, oracledb.Cursor.fetchmany),
        (stand_in.Cursor.fetchall, oracledb.Cursor.fetchall),
        (stand_in.Cursor.close, oracledb.Cursor.close),
    ],
)
def test_the_stand_in_names_no_parameter_that_the_driver_does_not_have(
    called: Callable[..., Any], real: Callable[..., Any]
) -> None:
    parameters = {
        name
        for name, parameter in inspect.signature(called).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    assert parameters <= set(inspect.signature(real).parameters)


def test_connect_has_every_parameter_that_a_connection_is_opened_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named_arguments: dict[str, Any] = {}

    def refused(**named: Any) -> None:
        named_arguments.update(named)
        raise oracledb.DatabaseError("refused")

    refused.__signature__ = inspect.signature(oracledb.connect)  # type: ignore[attr-defined]
    monkeypatch.setattr(oracledb, "connect", refused)
    with pytest.raises(HeadraceError):
        connect(config())
    assert set(named_arguments) <= set(refused.__signature__.parameters)  # type: ignore[attr-defined]
    assert {"user", "password", "dsn"} <= set(named_arguments)


def test_the_driver_takes_the_types_of_the_redo() -> None:
    assert arrow_impl.ArrowSchemaImpl.from_arrow_schema(REDO) is not None


def test_rows_of_redo_pass_through_the_drivers_frames() -> None:
    rows = pa.RecordBatch.from_arrays(
        [pa.array([None, None], column.type) for column in REDO], schema=REDO
    )

    class Native:
        def fetch_df_batches(self, statement: str, **_: Any) -> list[Any]:
            empty = pa.RecordBatchReader.from_batches(REDO, [rows.slice(0, 0)])
            return [oracledb.from_arrow(table) for table in (empty, pa.Table.from_batches([rows]))]

    batches = list(Connection(Native(), 10).batches("SELECT", REDO))
    assert batches == [rows]


def test_the_benchmark_gives_the_drivers_frames_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = workload.make(tmp_path / "redo.arrow", 200, 1)
    work.write(tmp_path / "workload.json")
    monkeypatch.setenv(benchmark.WORKLOAD, str(tmp_path / "workload.json"))
    native = object.__new__(benchmark._Connection)
    binds = {"low": 0, "high": work.last_scn}
    statement = "SELECT SCN FROM V$LOGMNR_CONTENTS"
    batches = list(Connection(native, 10).batches(statement, REDO, binds, rows=64))
    assert [len(batch) for batch in batches] == [64, 64, 64, 8]
    assert {batch.schema for batch in batches} == {REDO}


# -- errors ---------------------------------------------------------------------------------------


def raised(message: str, code: int = 0) -> Callable[[], None]:
    """A function that raises an error as the driver wraps it."""
    detail = errors._Error(message, code=code)

    def fail() -> None:
        raise detail.exc_type(detail)

    return fail


def failed(fail: Callable[[], None]) -> DriverError:
    """The error of a connection for an error of the driver."""

    class Native:
        def commit(self) -> None:
            fail()

    with pytest.raises(DriverError) as error:
        Connection(Native(), 10).commit()
    return error.value


def test_the_drivers_error_around_one_of_the_server_keeps_the_code_of_the_server() -> None:
    detail = errors._Error("ORA-00600: internal error code, arguments: [krvrdccs10]", code=600)
    assert detail.full_code == "DPY-4011"
    error = failed(raised("ORA-00600: internal error code, arguments: [krvrdccs10]", 600))
    assert (error.code, error.full_code) == (600, "DPY-4011")


@pytest.mark.parametrize("code", [28, 1012, 1089, 3113, 3135, 12537, 22, 603])
def test_a_session_that_ended_is_a_lost_connection_by_whichever_code(code: int) -> None:
    error = failed(raised(f"ORA-{code:05}: the session ended", code))
    assert (error.full_code, error.is_unreachable) == ("DPY-4011", True)
    known = translate(error, config())
    assert known is not None
    assert (known.code, known.retriable) == ("oracle.connection_lost", True)


@pytest.mark.parametrize(
    ("code", "known", "text"),
    [
        (1333, "no_dictionary", "failed to establish LogMiner dictionary"),
        (1343, "corrupt_log", "LogMiner encountered corruption in the logstream"),
        (1001, "no_session", "invalid cursor"),
        (25303, "no_session", "Buffered operation allowed only on the owner instance"),
        (600, "internal_error", "internal error code, arguments: [krvrdccs10]"),
        (310, "log_switched", "archived log contains sequence 5; sequence 4 required"),
        (604, "recursive_error", "error occurred at recursive SQL level 1"),
        (1284, "missing_log", "file cannot be opened"),
        (1327, "log_switched", "failed to exclusively lock system dictionary as required"),
    ],
)
def test_what_debezium_tries_again_is_tried_again(code: int, known: str, text: str) -> None:
    error = translate(failed(raised(f"ORA-{code:05}: {text}", code)), config(), "Mining")
    assert error is not None
    assert (error.code, error.retriable) == (f"oracle.{known}", True)


@pytest.mark.skipif(not hasattr(errors, _OF_26), reason="of newer drivers")
def test_a_server_that_asks_for_network_encryption_is_not_waited_for() -> None:
    cause = errors._create_exception(
        errors.ERR_FEATURE_NOT_SUPPORTED,
        feature="Native Network Encryption and Data Integrity",
        driver_type="thick",
    )

    def refused() -> None:
        errors._raise_err(errors.ERR_CONNECTION_FAILED, cause=cause, connection_id="x")

    error = failed(refused)
    assert (error.full_code, error.is_unreachable) == ("DPY-6005", False)
    known = translate(error, config())
    assert known is not None
    assert (known.code, known.retriable) == ("oracle.needs_client", False)
    assert "driver.lib_dir" in known.remedy
    assert "Native Network Encryption" in known.message


@pytest.mark.parametrize(("folder", "named"), [("/opt/client", "/opt/client"), ("", None)])
def test_lib_dir_has_the_driver_load_the_client_of_oracle(
    monkeypatch: pytest.MonkeyPatch, folder: str, named: str | None
) -> None:
    calls: list[dict[str, Any]] = []

    def refused(**_: Any) -> None:
        calls.append({"connect": True})
        raise oracledb.DatabaseError("refused")

    refused.__signature__ = inspect.signature(oracledb.connect)  # type: ignore[attr-defined]
    monkeypatch.setattr(oracledb, "init_oracle_client", lambda **named: calls.append(named))
    monkeypatch.setattr(oracledb, "connect", refused)
    properties = {"driver.lib_dir": folder, "driver.config_dir": "/etc/oracle"}
    with pytest.raises(HeadraceError):
        connect(OracleConfig.parse(PROPERTIES | properties))
    assert calls == [{"lib_dir": named, "config_dir": "/etc/oracle"}, {"connect": True}]


@pytest.mark.parametrize("thin", [False, True])
def test_a_client_that_cannot_be_loaded_is_named(thin: bool) -> None:
    """The client runs in a process of its own: the driver's mode is that of the process."""
    first = "oracledb.enable_thin_mode()" if thin else ""
    script = f"""
import oracledb
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import connect
{first}
try:
    connect(OracleConfig.parse({PROPERTIES | {"driver.lib_dir": "/no/client"}!r}))
except Exception as error:
    print(error.code, error.retriable)
"""
    command = [sys.executable, "-c", script]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = "oracle.thin_mode False" if thin else "oracle.no_client False"
    assert answer.stdout.strip() == expected


def test_the_stand_ins_errors_are_the_drivers_own() -> None:
    error = stand_in._error(600, "ORA-00600: internal error code")
    assert type(error.args[0]) is errors._Error
    assert error.args[0].full_code == "DPY-4011"


# -- data source names ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "host", "port", "service", "sid"),
    [
        ("jdbc:oracle:thin:@//h:1521/svc.world", "h", 1521, "svc.world", None),
        ("jdbc:oracle:thin:@h:1521/svc", "h", 1521, "svc", None),
        ("jdbc:oracle:thin:@//h:1521/svc:dedicated", "h", 1521, "svc", None),
        ("jdbc:oracle:thin:@tcps://h:2484/svc", "h", 2484, "svc", None),
        ("jdbc:oracle:thin:@tcps://h:2484/svc?wallet_location=/w", "h", 2484, "svc", None),
        ("jdbc:oracle:thin:@h:1521:ORCL", "h", 1521, None, "ORCL"),
        ("jdbc:oracle:thin:@//[::1]:1521/svc", "::1", 1521, "svc", None),
        (
            "jdbc:oracle:oci:@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=h)(PORT=1600))"
            "(CONNECT_DATA=(SERVICE_NAME=svc)))",
            "h", 1600, "svc", None,
        ),
    ],
)  # fmt: skip
def test_the_driver_reads_the_data_source_name_of_every_form_of_database_url(
    url: str, host: str, port: int, service: str | None, sid: str | None
) -> None:
    parameters = oracledb.ConnectParams()
    parameters.parse_connect_string(data_source(config(database_url=url)))
    assert (parameters.host, parameters.port) == (host, port)
    assert (parameters.service_name, parameters.sid) == (service, sid)


@pytest.mark.parametrize("node", [None, "n", "n:1600", "n:1600/RAC2", "n/RAC2"])
def test_the_driver_reads_the_data_source_name_of_hosts_and_nodes(node: str | None) -> None:
    parsed: OracleConfig = config()
    parameters = oracledb.ConnectParams()
    parameters.parse_connect_string(data_source(parsed, node))
    assert parameters.host == ("db" if node is None else "n")
    assert parameters.port == (1600 if node and "1600" in node else 1521)
    assert (parameters.sid, parameters.service_name) == (
        ("RAC2", None) if node and "RAC2" in node else (None, "ORCLCDB")
    )


def connecting(number: int, **named: object) -> DriverError:
    """The driver's error while it connects: another one is around it."""
    inner = errors._create_err(number, **named)
    outer = errors._create_err(
        errors.ERR_CONNECTION_FAILED, cause=inner.exc_type(inner), connection_id="c"
    )
    error = failed(_raising(outer))
    assert error.full_code == "DPY-6005"
    return error


def _raising(detail: Any) -> Callable[[], None]:
    def fail() -> None:
        raise detail.exc_type(detail)

    return fail


@pytest.mark.parametrize(
    ("number", "named", "code", "retriable"),
    [
        (errors.ERR_INVALID_SERVICE_NAME, {"service_name": "S", "host": "h", "port": 1521},
         "oracle.unknown_database", True),
        (errors.ERR_INVALID_SID, {"sid": "S", "host": "h", "port": 1521},
         "oracle.unknown_database", True),
        (errors.ERR_INVALID_SERVER_CERT_DN, {"expected_dn": "CN=h"}, "oracle.tls", False),
        (errors.ERR_INVALID_SERVER_NAME, {"expected_name": "h"}, "oracle.tls", False),
        (errors.ERR_SERVER_VERSION_NOT_SUPPORTED, {}, "oracle.old_server", False),
        (errors.ERR_LISTENER_REFUSED_CONNECTION, {"host": "h", "port": 1, "error_code": 12528},
         "oracle.connection_lost", True),
    ],
)  # fmt: skip
def test_what_keeps_a_connection_from_being_made_is_found_within_the_drivers_error(
    number: int, named: dict[str, object], code: str, *, retriable: bool
) -> None:
    """A wrong service is the first thing that goes wrong; one that is started registers later."""
    known = translate(connecting(number, **named), config())
    assert known is not None
    assert (known.code, known.retriable) == (code, retriable)


@pytest.mark.parametrize(
    ("cause", "code", "retriable"),
    [
        (ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"),
         "oracle.tls", False),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"), "oracle.tls", False),
        (ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] alert"), "oracle.tls", False),
        (ssl.SSLEOFError(8, "[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred"),
         "oracle.connection_lost", True),
    ],
)  # fmt: skip
def test_a_certificate_that_is_not_trusted_is_no_lost_connection_and_a_broken_handshake_is(
    cause: ssl.SSLError, code: str, *, retriable: bool
) -> None:
    outer = errors._create_err(errors.ERR_CONNECTION_FAILED, cause=cause, connection_id="c")
    known = translate(failed(_raising(outer)), config())
    assert known is not None
    assert (known.code, known.retriable) == (code, retriable)


@pytest.mark.parametrize(
    ("number", "named"),
    [(errors.ERR_EXCEEDED_IDLE_TIME, {}), (errors.ERR_UNSUPPORTED_INBAND_NOTIFICATION,
                                           {"err_num": 12})],
)  # fmt: skip
def test_a_session_that_the_server_ended_while_it_was_idle_is_a_lost_connection(
    number: int, named: dict[str, object]
) -> None:
    known = translate(failed(_raising(errors._create_err(number, **named))), config())
    assert known is not None
    assert (known.code, known.retriable) == ("oracle.connection_lost", True)


@pytest.mark.parametrize(
    "number",
    [
        errors.ERR_NCHAR_CS_NOT_SUPPORTED,
        pytest.param(
            3040,
            marks=pytest.mark.skipif(not hasattr(errors, _OF_26), reason="of newer drivers"),
        ),
    ],
)
def test_a_character_set_that_the_thin_mode_does_not_have_needs_the_client(number: int) -> None:
    error = failed(_raising(errors._create_err(number, charset_id=871)))
    known = translate(error, config())
    assert known is not None
    assert known.code == "oracle.needs_client"
