"""Refusals of Db2 and its driver at first contact: each has a code and a remedy of its own. The
texts are those of IBM's messages."""

from __future__ import annotations

import pytest

from headrace.connectors.db2.checks.rights import no_privilege
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.errors import DriverError, translate
from headrace.errors import HeadraceError
from headrace.findings import statements

_CLI = "[IBM][CLI Driver] "
_LUW = "[IBM][CLI Driver][DB2/LINUXX8664] "


def config_of(platform: str = "LUW") -> Db2Config:
    return Db2Config.parse(
        {
            "topic.prefix": "s",
            "database.hostname": "h",
            "database.user": "cdc",
            "database.dbname": "D",
            "db2.platform": platform,
        }
    )


def refused(text: str, platform: str = "LUW") -> HeadraceError:
    error = translate(DriverError(text), config_of(platform))
    assert error is not None
    return error


@pytest.mark.parametrize(
    ("package", "code", "retriable"),
    [
        ("NULLID.SYSSH200", "db2.packages_not_bound", False),
        ("NULLID.SYSLH200", "db2.packages_not_bound", False),
        ("NULLID.SYSSN402", "db2.packages_not_bound", False),
        ("NULLID.SYSLH203", "db2.statements_exhausted", True),
        ("NULLID.SYSLH21E", "db2.statements_exhausted", True),
        ("NULLID.SYSLN303", "db2.statements_exhausted", True),
        ("NULLID.OTHER", "db2.packages_not_bound", False),
    ],
)
def test_a_package_that_is_not_found_is_not_bound_or_there_are_too_few(
    package: str, code: str, retriable: bool
) -> None:
    text = f'SQL0805N  Package "{package} 0X5359534C564C3031" was not found.  '
    error = refused(f"{_LUW}{text}SQLSTATE=51002 SQLCODE=-805")
    assert (error.code, error.retriable) == (code, retriable)
    assert package in error.message
    words = "CLIPKG" if retriable else "db2cli bind @clidriver/bnd/db2cli.lst"
    assert words in error.remedy


@pytest.mark.parametrize(
    "text",
    [
        "SQL1598N  An attempt to connect to the database server failed because of a licensing "
        "problem.  SQLSTATE=42968 SQLCODE=-1598",
        "SQL8001N  An attempt to connect to the database failed due to a product license "
        "problem.  SQLSTATE=42968 SQLCODE=-8001",
    ],
)
def test_a_missing_licence_says_where_its_file_belongs(text: str) -> None:
    raised = DriverError(_CLI + text)
    assert not raised.is_of_statement
    error = translate(raised, config_of("ZOS"))
    assert error is not None
    assert (error.code, error.retriable) == ("db2.no_licence", False)
    assert "clidriver/license" in error.remedy
    assert "db2connectactivate" in error.remedy


@pytest.mark.parametrize(
    "text",
    [
        'SQL0551N  "CDC" does not have the required authorization or privilege to perform '
        'operation "EXECUTE" on object "SYSIBM.SQLTABLES".  SQLSTATE=42501 SQLCODE=-551',
        "SQL0551N  The statement failed because the authorization ID does not have the required "
        'authorization or privilege to perform the operation.  Authorization ID: "CDC".  '
        'Operation: "EXECUTE". Object: "SYSIBM.SQLCOLUMNS".  SQLSTATE=42501 SQLCODE=-551',
    ],
)
@pytest.mark.parametrize(("platform", "to"), [("LUW", 'TO USER "CDC"'), ("ZOS", 'TO "CDC"')])
def test_a_procedure_of_the_catalogue_is_granted_for_execution(
    text: str, platform: str, to: str
) -> None:
    error = refused(_LUW + text, platform)
    assert error.code == "db2.no_catalog_procedure"
    assert statements(error.remedy) == [
        f"GRANT EXECUTE ON PROCEDURE SYSIBM.{name} {to};"
        for name in ("SQLTABLES", "SQLCOLUMNS", "SQLPRIMARYKEYS", "SQLSTATISTICS")
    ]


def test_a_package_that_may_not_be_run_is_bound_for_everybody() -> None:
    text = 'SQL0551N  "CDC" … operation "EXECUTE" on object "NULLID.SYSSH200".'
    error = refused(f"{_LUW}{text}  SQLSTATE=42501 SQLCODE=-551")
    assert error.code == "db2.packages_not_bound"


def test_a_table_that_may_not_be_read_is_granted_in_the_words_of_the_platform() -> None:
    text = 'SQL0551N  "CDC" … operation "SELECT" on object "INV.T".  SQLSTATE=42501 SQLCODE=-551'
    assert refused(_LUW + text).code == "db2.no_privilege"
    remedies = [no_privilege(config_of(name), "INV", "T").remedy for name in ("LUW", "ZOS")]
    assert remedies == [
        'GRANT SELECT ON "INV"."T" TO USER "CDC";',
        'GRANT SELECT ON "INV"."T" TO "CDC";',
    ]


def test_an_encrypted_connection_that_fails_names_the_check_of_host_names() -> None:
    text = (
        "SQL30081N  A communication error has been detected. Communication protocol being used: "
        '"SSL".  Communication API being used: "SOCKETS".  Location where the error was detected: '
        '"".  Communication function detecting the error: "sqlccSSLSocketSetup".  Protocol '
        'specific error code(s): "414", "*", "*".  SQLSTATE=08001 SQLCODE=-30081'
    )
    error = refused(_CLI + text)
    assert error.code == "db2.tls"
    assert "driver.SSLClientHostnameValidation=OFF" in error.remedy


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SQL1776N  The command cannot be issued on an HADR database.  SQLCODE=-1776", "not_open"),
        ("SQL1035N  … cannot be connected to …  SQLSTATE=57019 SQLCODE=-1035", "not_open"),
        ("SQL1116N  … BACKUP PENDING.  SQLSTATE=57019 SQLCODE=-1116", "not_open"),
        ("SQL1117N  … ROLL-FORWARD PENDING.  SQLSTATE=57019 SQLCODE=-1117", "not_open"),
        ("SQL1015N  The database is in an inconsistent state.  SQLSTATE=55025 SQLCODE=-1015",
         "not_open"),
        ("SQL1119N  … incomplete restore.  SQLSTATE=57019 SQLCODE=-1119", "not_open"),
        ("SQL1226N  … coordinating agents …  SQLSTATE=57030 SQLCODE=-1226",
         "too_many_connections"),
        ("SQL1040N  … applications …  SQLSTATE=57030 SQLCODE=-1040", "too_many_connections"),
        ("SQL1229N  … because of a system error.  SQLSTATE=40504 SQLCODE=-1229",
         "connection_lost"),
        ("SQL0923N  … Db2 not available.  SQLSTATE=57015 SQLCODE=-923", "connection_lost"),
        ("SQL0954C  … application heap …  SQLSTATE=57011 SQLCODE=-954", "no_resources"),
        ("SQL0955C  Sort memory cannot be allocated.  SQLSTATE=57011 SQLCODE=-955",
         "no_resources"),
        ("SQL0964C  The transaction log is full.  SQLSTATE=57011 SQLCODE=-964", "no_resources"),
        ("SQL0904N  … an unavailable resource.  SQLSTATE=57011 SQLCODE=-904", "no_resources"),
        # The state says enough where the code is another one.
        ("SQL9999N  …  SQLSTATE=57019", "not_open"),
        ("SQL9999N  …  SQLSTATE=57030", "too_many_connections"),
        ("SQL9999N  …  SQLSTATE=57011", "no_resources"),
        ("SQL9999N  …  SQLSTATE=57015", "connection_lost"),
    ],
)  # fmt: skip
def test_a_server_that_has_no_place_for_now_is_waited_for(text: str, code: str) -> None:
    error = refused(_LUW + text)
    assert (error.code, error.retriable) == (f"db2.{code}", True)
    assert error.remedy
