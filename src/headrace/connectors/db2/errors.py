"""The errors of Db2 and its driver, translated to headrace's. Needs no driver."""

from __future__ import annotations

import re
from typing import NamedTuple

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.properties.modes import Db2Platform
from headrace.errors import HeadraceError

QUERY_LIMIT = "database.query.timeout.ms"

_STATE = re.compile(r"SQLSTATE=(\w{5})")
_CODE = re.compile(r"SQLCODE=(-?\d+)")
_LEADING = re.compile(r"^.*?\[IBM\](?:\[[^]]*\])*\s*")
_TRAILING = re.compile(r"\s*SQLSTATE=\w*\s*(?:SQLCODE=-?\d+)?\s*$")


class DriverError(Exception):
    """An error that the driver raised: its text, and the text's SQLSTATE and SQLCODE (empty and 0
    if it has none)."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = " ".join(_TRAILING.sub("", _LEADING.sub("", " ".join(text.split()))).split())
        state, code = _STATE.search(text), _CODE.search(text)
        self.state = state[1] if state else ""
        self.code = int(code[1]) if code else 0

    @property
    def is_unreachable(self) -> bool:
        """Whether the connection could not be made, or was lost."""
        return (
            self.code in _UNREACHABLE_CODES
            or self.state[:2] == "08"
            or self.state in _UNREACHABLE_STATES
        )

    @property
    def is_of_statement(self) -> bool:
        """Whether the statement itself is at fault: its syntax, the names in it, or its computation
        on the rows that it reads; not its user, and not the server."""
        return self.state[:2] in _STATEMENT_CLASSES and _refusal(self) not in _OF_THE_USER


class Refusal(NamedTuple):
    """The meaning of an error. `remedy` may contain `{limit}`, `{user}`, and `{grantee}`: the user
    as a GRANT names it."""

    code: str
    remedy: str
    retriable: bool = False


_NOT_LOGGED_IN = -30082
_REFUSED, _NO_PACKAGE = -551, -805
_PACKAGE = re.compile(r"\bSYS[SL][HN]\w(\w\w)\b")
"""The name of a package of the CLI: its last two characters number the packages of one kind."""
_PROCEDURE = re.compile(r"\bSYSIBM\.SQL[A-Z]+")
"""A procedure that the CLI calls for its functions on the catalogue."""
_BOUND_PACKAGES = 3
"""The number of packages of each kind that db2cli.lst binds, unless CLIPKG says otherwise."""
# SQL30082N: 17 unsupported function, 36 unexpected client error.
_UNSUPPORTED = re.compile(r'reason "(?:17|36)"')
# SQL30081N communication, SQL30108N rerouted, SQL1224N the server ended it, SQL1032N not started,
# SQL1229N its member failed; SQL0923N of z/OS: not started; -99999: an error of the CLI without a
# code of the server.
_UNREACHABLE_CODES = frozenset({-30081, -30108, -1224, -1032, -1229, -923, -99999})
_UNREACHABLE_STATES = frozenset({"40003", "40504", "57015"})
_LOGIN = Refusal("authentication", "Check database.user and database.password.")
_LOGIN_KIND = Refusal(
    "authentication_kind",
    "Set driver.AUTHENTICATION to a method that the server accepts: SERVER, SERVER_ENCRYPT, "
    "SERVER_ENCRYPT_AES, KERBEROS, … (db2 get dbm cfg, AUTHENTICATION).",
)
_DATABASE = Refusal("unknown_database", "Check database.dbname: the database's name, or its alias.")
_NOT_OPEN = Refusal(
    "not_open",
    "The database accepts no connections now, and headrace waits. It may be a standby, be "
    "restarting after a crash (RESTART DATABASE), be waiting for a backup or for a roll-forward, "
    "or be in exclusive use. After an HADR takeover, set database.hostname to the primary, or "
    "configure an alternate server.",
    retriable=True,
)
_CONNECTIONS = Refusal(
    "too_many_connections",
    "Raise MAX_CONNECTIONS, MAX_COORDAGENTS, or MAXAPPLS of the database.",
    retriable=True,
)
_RESOURCES = Refusal(
    "no_resources",
    "The server has run out of the resource that the message names (memory, log space, a resource "
    "of z/OS); headrace tries the statement again. If this persists, raise the limit: APPLHEAPSZ, "
    "SORTHEAP, LOGSECOND.",
    retriable=True,
)
_PRIVILEGE = Refusal(
    "no_privilege",
    "Grant it to {user} (headrace check FILE names what is missing, headrace check FILE --fix-sql "
    "prints the statements).",
)
_TABLE_GONE = Refusal(
    "table_gone",
    "The table or its schema was dropped or renamed, or cdc.control.schema and "
    "cdc.change.tables.schema name other schemas than SQL replication has (headrace check FILE).",
)
_COLUMN_GONE = Refusal(
    "column_gone",
    "The table was altered while it was read; it is described and read again.",
    retriable=True,
)
_LOCKED = Refusal(
    "lock_timeout",
    "Another session holds locks on the table; headrace tries again.",
    retriable=True,
)
_TIMEOUT = Refusal(
    "query_timeout",
    "Raise {limit}, or end the session that holds locks on the table.",
    retriable=True,
)
_LICENCE = Refusal(
    "no_licence",
    "Db2 for z/OS and for i accept IBM's driver only with a licence of Db2 Connect: copy its file "
    "(db2con….lic, of the driver's version) into clidriver/license beside "
    "ibm_db, on every node, or activate Db2 Connect Unlimited on the server (db2connectactivate).",
)
_NOT_BOUND = Refusal(
    "packages_not_bound",
    "Let a user who may create packages bind those of the driver to the database, once for each "
    "version of it: db2 bind @db2cli.lst blocking all grant public, or without a Db2 client: "
    "clidriver/bin/db2cli bind @clidriver/bnd/db2cli.lst -database NAME:HOST:PORT -user USER "
    '-passwd PASSWORD -options "blocking all grant public".',
)
_NO_HANDLES = Refusal(
    "statements_exhausted",
    "The connection has no package for one more open statement; headrace reconnects. If it "
    "happens again, lower headrace.change.tables.connections, or bind more packages (CLIPKG).",
    retriable=True,
)
_NO_PROCEDURE = Refusal(
    "no_catalog_procedure",
    "The driver reads the catalogue by these procedures: "
    "GRANT EXECUTE ON PROCEDURE SYSIBM.SQLTABLES TO {grantee}; "
    "GRANT EXECUTE ON PROCEDURE SYSIBM.SQLCOLUMNS TO {grantee}; "
    "GRANT EXECUTE ON PROCEDURE SYSIBM.SQLPRIMARYKEYS TO {grantee}; "
    "GRANT EXECUTE ON PROCEDURE SYSIBM.SQLSTATISTICS TO {grantee};",
)
_BY_CODE = {
    -1013: _DATABASE,  # the alias is not known
    -30061: _DATABASE,  # the server does not know it
    _NOT_LOGGED_IN: _LOGIN,
    -552: _PRIVILEGE,
    _REFUSED: _PRIVILEGE,
    -1598: _LICENCE,
    -8001: _LICENCE,
    _NO_PACKAGE: _NOT_BOUND,
    -204: _TABLE_GONE,
    -206: _COLUMN_GONE,
    -911: _LOCKED,
    -913: _LOCKED,
    -952: _TIMEOUT,
    -1040: _CONNECTIONS,
    -1226: _CONNECTIONS,
    -1015: _NOT_OPEN,
    -1035: _NOT_OPEN,
    -1116: _NOT_OPEN,
    -1117: _NOT_OPEN,
    -1119: _NOT_OPEN,
    -1776: _NOT_OPEN,
    -904: _RESOURCES,
    -954: _RESOURCES,
    -955: _RESOURCES,
    -964: _RESOURCES,
    -290: Refusal(
        "table_not_accessible", "Bring the table space into the state NORMAL.", retriable=True
    ),
    -668: Refusal(
        "table_not_accessible",
        "Bring the table out of its pending state (SET INTEGRITY, REORG, LOAD TERMINATE).",
        retriable=True,
    ),
}
_BY_STATE = {
    "28000": _LOGIN,
    "42704": _TABLE_GONE,
    "42S02": _TABLE_GONE,
    "42703": _COLUMN_GONE,
    "42501": _PRIVILEGE,
    "57014": _TIMEOUT,
    "HYT00": _TIMEOUT,
    "40001": _LOCKED,
    "57033": _LOCKED,
    "57011": _RESOURCES,
    "57019": _NOT_OPEN,
    "57030": _CONNECTIONS,
    # Apache Derby, which headrace's own tests and demo use.
    "42X05": _TABLE_GONE,
    "42Y07": _TABLE_GONE,
    "42X04": _COLUMN_GONE,
    "42500": _PRIVILEGE,
    "42502": _PRIVILEGE,
    "40XL1": _LOCKED,
}


_STATEMENT_CLASSES = frozenset({"07", "21", "22", "42"})
_OF_THE_USER = (_PRIVILEGE, _NO_PROCEDURE, _NOT_BOUND, _LICENCE, _LOGIN)
_TLS_WORDS = ("SSL", "GSKit", "certificate")


def place(config: Db2Config) -> str:
    """Return the database, for messages."""
    return (
        f"{config.database_user}@{config.database_hostname}:{config.database_port}"
        f"/{config.database_dbname}"
    )


_DRIVERS_FAULT = "returned a result with an exception set"
"""Python's message if a function of the driver returns a result with an exception set, which
happens when a connection breaks during the call: a new connection helps."""


def translate(
    error: Exception,
    config: Db2Config,
    doing: str = "",
    limit: str = QUERY_LIMIT,
    about: str | None = None,
) -> HeadraceError | None:
    """Return an error of the driver as HeadraceError, which never contains a secret; None if the
    error is not the driver's. `doing` says what failed, `limit` is the property that limits
    statements, `about` the property whose text the driver received, as in
    `HiddenTexts.in_error`."""
    if not isinstance(error, DriverError):
        return None
    text = config.hidden.in_error(error.text, about)
    refusal = _refusal(error)
    if refusal is not None:
        remedy = refusal.remedy.replace("{limit}", limit)
        remedy = remedy.replace("{user}", str(config.database_user))
        remedy = remedy.replace("{grantee}", grantee(config))
        message = f"{doing}: {text}" if doing else f"Db2 at {place(config)} refused: {text}"
        return HeadraceError(f"db2.{refusal.code}", message, remedy, retriable=refusal.retriable)
    if any(word in error.text for word in _TLS_WORDS):
        return HeadraceError(
            "db2.tls",
            f"No encrypted connection to {place(config)}: {text}",
            "Check driver.SECURITY, driver.SSLServerCertificate and the port of TLS. Where the "
            "certificate is of another host name than database.hostname: "
            "driver.SSLClientHostnameValidation=OFF.",
        )
    if error.is_unreachable:
        return HeadraceError(
            "db2.connection_lost",
            f"Db2 at {place(config)} cannot be reached: {text}",
            "Check database.hostname, database.port and that the server runs.",
            retriable=True,
        )
    message = f"{doing} failed" if doing else f"A statement on {place(config)} failed"
    return HeadraceError(
        "db2.query_failed",
        f"{message}: {text}" + (f" (SQLSTATE {error.state})" if error.state else ""),
        "Check the server's diagnostic log (db2diag).",
        retriable=_DRIVERS_FAULT in error.text,
    )


def grantee(config: Db2Config) -> str:
    """Return the connector's user as a GRANT names it; on z/OS, a name without a keyword is a
    user."""
    name = '"' + str(config.database_user).upper().replace('"', '""') + '"'
    return name if config.db2_platform == Db2Platform.ZOS else f"USER {name}"


def _refusal(error: DriverError) -> Refusal | None:
    if error.code == _NOT_LOGGED_IN and _UNSUPPORTED.search(error.text):
        return _LOGIN_KIND
    package = _PACKAGE.search(error.text)
    if error.code == _REFUSED and package is not None:
        return _NOT_BOUND
    if error.code == _REFUSED and _PROCEDURE.search(error.text):
        return _NO_PROCEDURE
    if error.code == _NO_PACKAGE and package is not None and _is_beyond(package[1]):
        return _NO_HANDLES
    return _BY_CODE.get(error.code) or _BY_STATE.get(error.state)


def _is_beyond(count: str) -> bool:
    """Whether the number of a package, in hexadecimal digits, is above those that are bound."""
    try:
        return int(count, 16) >= _BOUND_PACKAGES
    except ValueError:
        return False
