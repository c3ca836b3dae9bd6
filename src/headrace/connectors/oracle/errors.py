"""The errors of Oracle and its driver, translated to headrace's. Needs no driver."""

from __future__ import annotations

import re
from typing import NamedTuple

from headrace.connectors.oracle.config import OracleConfig
from headrace.errors import HeadraceError

QUERY_LIMIT = "database.query.timeout.ms"

_FULL_CODE = re.compile(r"\b(ORA|DPY|DPI|TNS)-(\d{4,5})\b")
_ANSWER = re.compile(r"^ORA-(\d{5})\b", re.MULTILINE)
"""The server's own code in a text that begins with a code of the driver."""
_CLIENT_CODES = frozenset({"DPY-3001", "DPY-3012", "DPY-3040", "ORA-12660"})
"""Codes anywhere in a text: the driver has them within DPY-6005, for example. Two are of character
sets that the thin mode does not have: of NCHAR columns (UTF8), and of the database."""
_NOT_CONNECTED = "DPY-6005"
"""The code around any error while a connection is made."""
INVALID_TEXT = "UnicodeDecodeError"
"""The code of a text that the driver cannot read."""
_HELP = re.compile(r"\s*(?:Help: |See )?https?://\S+(?: for help)?")


class DriverError(Exception):
    """An error of the driver: its text, and the number of its ORA code (0: it is the driver's own),
    which is `code` if the driver has it. `full_code` is as Oracle writes it: `ORA-01555`,
    `DPY-6005`; the driver has codes of its own for some of the server's, DPY-4011 for ORA-03113."""

    def __init__(self, text: str, full_code: str | None = None, code: int = 0) -> None:
        super().__init__(text)
        self.text = " ".join(_HELP.sub("", text).split())
        codes = _FULL_CODE.findall(text)
        self.codes = tuple("-".join(parts) for parts in codes)
        """All codes in the text, in their order."""
        self.full_code = full_code or (self.codes[0] if codes else "")
        kind, _, digits = self.full_code.partition("-")
        self.code = code or (int(digits) if kind == "ORA" and digits.isdigit() else 0)
        if kind == "DPY" and not code and (answer := _ANSWER.search(text)):
            self.code = int(answer[1])
        self.needs_client = not _CLIENT_CODES.isdisjoint(self.codes)
        """Whether the server requires something that the driver's thin mode does not have."""
        self.is_of_root = False
        """Whether the statement was to enter the root of a container database."""

    @property
    def is_unreachable(self) -> bool:
        """Whether the connection could not be made, or was lost."""
        if self.needs_client:
            return False
        return self.code in _UNREACHABLE or self.full_code in _UNREACHABLE_BY_DRIVER

    @property
    def is_of_statement(self) -> bool:
        """Whether the statement itself is at fault: its syntax, the names in it, or its computation
        on the rows that it reads; not its user, and not the server."""
        return self.code in _OF_STATEMENT or self.full_code in _OF_STATEMENT_BY_DRIVER


class Refusal(NamedTuple):
    """The meaning of an error. `remedy` may contain `{limit}` and `{user}`."""

    code: str
    remedy: str
    retriable: bool = False


_UNREACHABLE = frozenset(
    {28, 1012, 1033, 1034, 1041, 1089, 1090, 1092, 2396, 2399, 3113, 3114, 3135, 3136, 12153, 12170,
     12516, 12518, 12519, 12520, 12526, 12527, 12528, 12535, 12537, 12541, 12543, 12545, 12547,
     12560, 12564, 12570, 12571, 12592, 12606, 12608, 12609, 12637, 12757, 17002, 17008, 17410,
     25401, 25402, 25408}
)  # fmt: skip
"""Codes of a session that was ended or lost, or an instance or listener that is not up; 2399: the
session was ended for its age (CONNECT_TIME)."""
_UNREACHABLE_BY_DRIVER = frozenset(
    {"DPY-1001", "DPY-3008", "DPY-4011", "DPY-4033", "DPY-6000", "DPY-6004", _NOT_CONNECTED,
     "DPY-6009"}
)  # fmt: skip
"""DPY-3008 and DPY-4033: the server has ended the session, for its idle time, for example."""
_OF_STATEMENT = frozenset(
    {*range(900, 1000), 1008, 1408, 1427, 1476, 1481, 1489, *range(1718, 1723), 1730,
     *range(1740, 1800), *range(1830, 1900), 2000, 2070, 3001, 4043, 4044, 6502, 6575, 12704, 12801,
     12899, 22818, 22922, 25154, 30076, 30081, 30089, 30483, 30926, 32034, 38104, 40478, 54014}
)  # fmt: skip
"""Codes of invalid names, syntax, types, numbers and times."""
_OF_STATEMENT_BY_DRIVER = frozenset({"DPY-4008", "DPY-4009", "DPY-4010"})
"""Codes of a statement with placeholders."""
_LOGIN = Refusal("authentication", "Check database.user and database.password.")
_ACCOUNT = Refusal(
    "account",
    "Unlock the user (ALTER USER {user} ACCOUNT UNLOCK;), or change its password if that expired.",
)
_SERVICE = Refusal(
    "unknown_database",
    "Check database.dbname (the service of the container database), database.pdb.name and "
    "database.url.",
)
_UNREGISTERED = _SERVICE._replace(retriable=True)
"""A service that is not registered, for example while an instance starts."""
_NOT_OPEN = Refusal(
    "not_open",
    "The database, or the pluggable database, is not open yet; headrace waits for it. Open it: "
    "ALTER PLUGGABLE DATABASE … OPEN; with SAVE STATE it opens whenever the instance starts.",
    retriable=True,
)
_ARCHIVER = Refusal(
    "archiver_stuck",
    "The database has no space for archived logs, and accepts no connections until it has: free "
    "space in "
    "their destination (RMAN: DELETE ARCHIVELOG …), or raise DB_RECOVERY_FILE_DEST_SIZE.",
    retriable=True,
)
_NO_COMMON_LOGIN = Refusal(
    "authentication_kind",
    "Client and server have no version of the login protocol in common: set the password of the "
    "user again "
    "(ALTER USER … IDENTIFIED BY …), compare SQLNET.ALLOWED_LOGON_VERSION_SERVER of the server, or "
    "install another version of Oracle Instant Client.",
)
_NO_COMMON_ENCRYPTION = Refusal(
    "tls",
    "Client and server accept no encryption or checksum in common: compare SQLNET.ENCRYPTION_… and "
    "SQLNET.CRYPTO_CHECKSUM_… in the sqlnet.ora of both; the client's is in driver.config_dir.",
)
_SYSTEM_LOGIN = Refusal(
    "authentication",
    "The client asks its operating system for the login: set SQLNET.AUTHENTICATION_SERVICES=(NONE) "
    "in the sqlnet.ora of driver.config_dir.",
)
_TLS = Refusal(
    "tls",
    "Check the server's certificate, and driver.ssl_server_cert_dn, driver.ssl_server_dn_match and "
    "driver.wallet_location.",
)
_TLS_WORDS = ("CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER", "ALERT_", "NO_CERTIFICATE")
"""OpenSSL's reasons that are not transient; a restarting listener breaks handshakes, too."""
_ALIAS = Refusal(
    "unknown_database",
    "An alias is looked up in tnsnames.ora: name its folder in driver.config_dir "
    "(driver.oracle.net.tns_admin of Java's driver), or write //host:port/service in database.url.",
)
_URL = Refusal(
    "url",
    "Write //host:port/service, host:port:SID, an alias, or a descriptor ((DESCRIPTION=…)) whose "
    "parentheses match, in database.url.",
)
_INVALID_TEXT = Refusal(
    "invalid_text",
    "A text is not valid in the database's character set: find the rows with "
    "UTL_I18N.VALIDATE_CHARACTER_ENCODING(column) > 0, and correct them, or leave the column out "
    "(column.exclude.list).",
)
_PRIVILEGE = Refusal(
    "no_privilege",
    "Grant it to {user} (headrace check FILE names what is missing, headrace check FILE --fix-sql "
    "prints the statements).",
)
_QUOTA = Refusal(
    "no_quota",
    "Give {user} a quota on the tablespace that the message names (headrace check FILE has the "
    "statement), or set log.mining.read.only=true.",
)
_TABLE_GONE = Refusal(
    "table_gone",
    "The table or view was dropped or renamed, or {user} may not read it: headrace check FILE "
    "says what is missing.",
)
_COLUMN_GONE = Refusal(
    "column_gone",
    "The table was altered while it was read; it is described and read again.",
    retriable=True,
)
_LOCKED = Refusal(
    "lock_timeout",
    "headrace tries again. If this persists, V$LOCK and DBA_BLOCKERS tell which session holds "
    "locks on the table: end it.",
    retriable=True,
)
_TIMEOUT = Refusal(
    "query_timeout",
    "Raise {limit}, or end the session that the statement waits for.",
    retriable=True,
)
_MEMORY = Refusal(
    "memory",
    "Oracle's process is out of memory, and the mining session restarts: set "
    "log.mining.session.max.ms (1800000, for example) with log.mining.restart.connection=true, or "
    "raise PGA_AGGREGATE_LIMIT.",
    retriable=True,
)
_LOG_SWITCHED = Refusal(
    "log_switched",
    "A log was switched while it was mined; the logs are collected again.",
    retriable=True,
)
_LOG_MISSING = Refusal(
    "missing_log",
    "LogMiner lacks a redo log between the SCNs that are mined; the logs are collected again. If "
    "this persists, a log was removed before it was read: keep archived logs longer.",
    retriable=True,
)
_NO_DICTIONARY = Refusal(
    "no_dictionary",
    "LogMiner's session restarts. If this persists, look at the server's alert log, or set "
    "log.mining.strategy=online_catalog.",
    retriable=True,
)
_NO_DICTIONARY_FILE = Refusal(
    "no_dictionary_file",
    "Let DBMS_LOGMNR_D.BUILD write the file of log.mining.path.dictionary in this database, where "
    "the server may read it, or set log.mining.strategy=online_catalog.",
)
_CORRUPT = Refusal(
    "corrupt_log",
    "The logs are mined again, as they may be after a log switch. If this persists, examine them "
    "(ALTER SYSTEM DUMP LOGFILE, or RMAN: VALIDATE ARCHIVELOG ALL).",
    retriable=True,
)
_NO_CURSOR = Refusal(
    "no_session",
    "The mining session restarts. If this persists, look at the server's alert log.",
    retriable=True,
)
_NEEDS_CLIENT = Refusal(
    "needs_client",
    "Install Oracle Instant Client on every node that connects, and set driver.lib_dir to its "
    "folder: python-oracledb then runs in thick mode.",
)
_NO_CLIENT = Refusal(
    "no_client",
    "Set driver.lib_dir to the folder of Oracle Instant Client (the one with libclntsh.so), on "
    "every node that connects.",
)
_NO_ROOT = Refusal(
    "root_not_accessible",
    "LogMiner reads the redo in the root. Log in as a common user (c##…) by the service of the "
    "container database (database.dbname), and GRANT SET CONTAINER TO {user} CONTAINER=ALL. "
    "Amazon RDS and Autonomous Database do not allow a login to the root: changes are captured "
    "there from "
    "databases that are not container databases (Oracle 19c on RDS) without database.pdb.name, and "
    "of the others snapshot.mode=initial_only reads the rows.",
)
_ROOT_CODES = frozenset({1017, 1031, 1045, 1435, 65011, 65040})
"""ORA codes with which the root is refused."""
_UNDO = Refusal(
    "snapshot_too_old",
    "The undo no longer has the rows of the statement; headrace tries again, as of a later SCN if "
    "possible. If this persists, raise UNDO_RETENTION (ALTER SYSTEM SET UNDO_RETENTION = 21600;) "
    "and the undo tablespace, or read with more slices.",
    retriable=True,
)
_BY_CODE = {
    54: _LOCKED, 60: _LOCKED, 4021: _LOCKED, 30006: _LOCKED,
    1013: _TIMEOUT, 3156: _TIMEOUT,
    310: _LOG_SWITCHED, 334: _LOG_SWITCHED, 1368: _LOG_SWITCHED, 26804: _LOG_SWITCHED,
    1291: _LOG_MISSING, 308: _LOG_MISSING, 1284: _LOG_MISSING, 1289: _LOG_SWITCHED,
    1292: _LOG_MISSING, 1327: _LOG_SWITCHED,
    604: Refusal("recursive_error", "Look at the server's alert log.", retriable=True),
    904: _COLUMN_GONE, 1007: _COLUMN_GONE,
    942: _TABLE_GONE, 4043: _TABLE_GONE,
    1031: _PRIVILEGE, 6550: _PRIVILEGE, 65066: _PRIVILEGE, 1720: _PRIVILEGE,
    1536: _QUOTA, 1950: _QUOTA,
    1005: _LOGIN, 1017: _LOGIN, 1045: Refusal(
        "no_privilege", "GRANT CREATE SESSION TO {user} CONTAINER=ALL;"
    ),
    28000: _ACCOUNT, 28001: _ACCOUNT,
    12154: _SERVICE, 12504: _SERVICE, 65011: _SERVICE, 65040: _SERVICE,
    12505: _UNREGISTERED, 12514: _UNREGISTERED, 12521: _UNREGISTERED,
    1109: _NOT_OPEN, 1219: _NOT_OPEN, 1507: _NOT_OPEN, 16456: _NOT_OPEN, 257: _ARCHIVER,
    28759: _TLS, 28860: _TLS, 28862: _TLS, 28868: _TLS, 29003: _TLS, 29024: _TLS,
    29275: _INVALID_TEXT,
    12650: _NO_COMMON_ENCRYPTION, 28040: _NO_COMMON_LOGIN, 12638: _SYSTEM_LOGIN,
    1306: _NO_CURSOR, 1001: _NO_CURSOR, 25303: _NO_CURSOR,
    1295: _NO_DICTIONARY_FILE, 1336: _NO_DICTIONARY_FILE, 1333: _NO_DICTIONARY, 1343: _CORRUPT,
    1555: _UNDO, 22924: _UNDO,
    1466: Refusal(
        "table_altered",
        "The table was altered after the SCN of the snapshot; it is read again as it is now.",
        retriable=True,
    ),
    8181: Refusal(
        "unknown_scn",
        "The SCN does not belong to this database, or is too old: start with "
        "snapshot.mode=when_needed, which reads the tables again, or with a new checkpoint.",
    ),
    4030: _MEMORY, 4031: _MEMORY, 4036: _MEMORY, 27102: _MEMORY, 600: Refusal(
        "internal_error", "Look at the server's alert log, and contact Oracle's support.",
        retriable=True,
    ),
    1281: Refusal(
        "scn_range",
        "The SCNs to mine are not in order; they are read again. If this persists, report "
        "it with the log of the connector.",
        retriable=True,
    ),
    18: Refusal("too_many_connections", "Raise SESSIONS.", retriable=True),
    20: Refusal("too_many_connections", "Raise PROCESSES.", retriable=True),
    2391: Refusal(
        "too_many_connections",
        "Raise SESSIONS_PER_USER of the profile of {user} (ALTER PROFILE … LIMIT …).",
        retriable=True,
    ),
    1325: Refusal(
        "no_archive_log_mode",
        "Set the database to ARCHIVELOG mode: SHUTDOWN IMMEDIATE; STARTUP MOUNT; "
        "ALTER DATABASE ARCHIVELOG; ALTER DATABASE OPEN;",
    ),
    1371: Refusal(
        "no_dictionary",
        "No log between the SCNs has a complete dictionary: set "
        "log.mining.strategy=online_catalog, which does not need one.",
        retriable=True,
    ),
}  # fmt: skip
_BY_DRIVER = {
    "DPI-1047": _NO_CLIENT,
    "DPI-1072": _NO_CLIENT,
    "DPY-2019": Refusal(
        "thin_mode",
        "driver.lib_dir applies to the whole process, which has already connected without it: "
        "start a new process, and set it for every Oracle that the process reads.",
    ),
    INVALID_TEXT: _INVALID_TEXT,
    "DPY-4024": _TIMEOUT,
    "DPY-4001": _LOGIN,
    "DPY-4000": _SERVICE,
    "DPY-4017": _URL,
    "DPY-4018": _URL,
    "DPY-4021": _URL,
    "DPY-4026": _ALIAS,
    "DPY-4027": _ALIAS,
    "DPY-6001": _UNREGISTERED,
    "DPY-6002": _TLS,
    "DPY-6003": _UNREGISTERED,
    "DPY-6006": _TLS,
    "DPY-6008": _TLS,
    "DPY-3010": Refusal(
        "old_server", "The thin driver supports Oracle 12.1 and later; this server is older."
    ),
    "DPY-3015": Refusal(
        "authentication_kind",
        "The user has a password verifier of 10g only: set the password again (ALTER USER … "
        "IDENTIFIED BY …), or set driver.lib_dir to the folder of Oracle Instant Client.",
    ),
}


def place(config: OracleConfig) -> str:
    """Return the database, for messages: never with a password."""
    if config.database_url:
        return f"{config.database_user}@{config.database_url.removeprefix('//')}"
    where = f"{config.database_hostname}:{config.database_port}/{config.database_dbname}"
    pdb = config.database_pdb_name
    return f"{config.database_user}@{where}" + (f" ({pdb})" if pdb else "")


def translated_error(
    error: DriverError,
    config: OracleConfig,
    doing: str = "",
    limit: str = QUERY_LIMIT,
    about: str | None = None,
) -> HeadraceError:
    """Return the translation of an error of the driver; see `translate`."""
    known = translate(error, config, doing, limit, about)
    assert known is not None
    return known


def is_refused(error: Exception, config: OracleConfig) -> bool:
    """Whether the login was refused."""
    known = translate(error, config, about="")
    return known is not None and known.code == "oracle.authentication"


def translate(
    error: Exception,
    config: OracleConfig,
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
    refusal = _BY_CODE.get(error.code) or _BY_DRIVER.get(error.full_code) or _within(error)
    if error.needs_client:
        refusal = _NEEDS_CLIENT
    elif error.is_of_root and error.code in _ROOT_CODES:
        refusal = _NO_ROOT
    if refusal is not None:
        remedy = refusal.remedy.replace("{limit}", limit).replace(
            "{user}", str(config.database_user)
        )
        message = f"{doing}: {text}" if doing else f"Oracle at {place(config)} refused: {text}"
        return HeadraceError(f"oracle.{refusal.code}", message, remedy, retriable=refusal.retriable)
    if error.is_unreachable:
        return HeadraceError(
            "oracle.connection_lost",
            f"Oracle at {place(config)} cannot be reached: {text}",
            "Check database.hostname, database.port, database.dbname and that the instance and "
            "its listener run.",
            retriable=True,
        )
    message = f"{doing} failed" if doing else f"A statement on {place(config)} failed"
    return HeadraceError(
        "oracle.query_failed", f"{message}: {text}", "Check the server's alert log and trace files."
    )


def _within(error: DriverError) -> Refusal | None:
    """Return the error that prevented a connection, which the driver wraps."""
    if error.full_code != _NOT_CONNECTED:
        return None
    known = next((_BY_DRIVER[code] for code in error.codes[1:] if code in _BY_DRIVER), None)
    if known is None and any(word in error.text for word in _TLS_WORDS):
        return _TLS
    return known
