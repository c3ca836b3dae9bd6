"""Properties of the connection to the database."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.config.configuration import Configuration
from headrace.config.finding import PropertyFinding
from headrace.config.kinds import COMMA_LIST, TEXT, ValueKind, choice, integer
from headrace.config.property import Group, Property, not_needed, refused
from headrace.connectors.oracle.properties.modes import CaptureMode, ConnectionAdapter

_URL = re.compile(r"jdbc:oracle:(?:thin|oci8?):@(?P<address>[^@]+)", re.IGNORECASE)
_PRIMARY = not_needed("the redo of the primary database is read")


def _address(url: str) -> str:
    """Return the text after the `@` of a URL of Java's driver. Raises ValueError for a text that is
    not such a URL, and for one with a password."""
    match = _URL.fullmatch(url)
    if match is None or re.search(r"passw(?:or)?d", match["address"], re.IGNORECASE):
        raise ValueError
    return match["address"]


_JDBC_URL: ValueKind[str] = ValueKind(
    "a URL jdbc:oracle:thin:@//host:port/service, @host:port:sid or @(DESCRIPTION=…), without "
    "passwords (database.user, database.password and driver.wallet_password have them)",
    _address,
    is_secret=True,
)


def stored_name(name: str) -> str:
    """Return the data dictionary's form of a name: in upper case, unless it is quoted."""
    is_quoted = len(name) > 1 and name[0] == name[-1] == '"'
    return name[1:-1] if is_quoted else name.upper()


class OracleConnectionConfig(Configuration):
    """Properties of the server, the container and the pluggable database."""

    database_hostname = Property(
        "database.hostname",
        TEXT,
        "",
        Group.CONNECTION,
        "Host of the server, or of its listener (SCAN); database.url replaces it.",
        formerly=("database.host", "hostname"),
    )
    database_pdb_name = Property(
        "database.pdb.name",
        TEXT,
        None,
        Group.CONNECTION,
        "The pluggable database whose tables are captured; database.dbname is then the container "
        'database. Converted to upper case, unless it is in double quotes: `"Name"`.',
    )
    database_url = Property(
        "database.url",
        _JDBC_URL,
        None,
        Group.CONNECTION,
        "A JDBC URL (`jdbc:oracle:thin:@//host:port/service`, `@host:port:sid`, `@(DESCRIPTION=…)`)"
        ", which replaces database.hostname, database.port and the service of database.dbname.",
    )
    database_connection_adapter = Property(
        "database.connection.adapter",
        choice(ConnectionAdapter, aliases={"logminer_buffered": "LogMiner"}),
        "LogMiner",
        Group.REPLICATION,
        "How the redo is read: `LogMiner`, or `LogMiner_Unbuffered`, with which the database holds "
        "transactions until their commit.",
        refused_values=("XStream", "OLR"),
    )
    rac_nodes = Property(
        "rac.nodes",
        COMMA_LIST,
        "",
        Group.CONNECTION,
        "Nodes of a cluster, `host`, `host:port` or `host:port/sid`: the flush table is written on "
        "each of them.",
    )
    database_out_server_name = Property(
        "database.out.server.name",
        TEXT,
        None,
        Group.CONNECTION,
        "The outbound server of XStream.",
        status=not_needed("LogMiner reads the redo, not XStream"),
    )
    database_tablename_case_insensitive = Property(
        "database.tablename.case.insensitive",
        TEXT,
        None,
        Group.CONNECTION,
        "Whether names of tables are in lower case, up to Debezium 1.9.",
        status=not_needed("names are spelled as in Oracle, and filters ignore the case"),
    )
    capture_mode = Property(
        "capture.mode",
        choice(CaptureMode),
        "primary",
        Group.REPLICATION,
        "Which database's redo is read.",
        status=refused("only the redo of the primary database is read"),
    )
    secondary_hostname = Property(
        "secondary.hostname", TEXT, None, Group.CONNECTION, "Host of a standby.", status=_PRIMARY
    )
    log_mining_readonly_hostname = Property(
        "log.mining.readonly.hostname",
        TEXT,
        None,
        Group.CONNECTION,
        "The former name of secondary.hostname.",
        status=_PRIMARY,
    )
    secondary_port = Property(
        "secondary.port",
        integer(1, 65535),
        None,
        Group.CONNECTION,
        "TCP port of a standby.",
        status=_PRIMARY,
    )
    secondary_dbname = Property(
        "secondary.dbname", TEXT, None, Group.CONNECTION, "Name of a standby.", status=_PRIMARY
    )
    secondary_url = Property(
        "secondary.url", TEXT, None, Group.CONNECTION, "URL of a standby.", status=_PRIMARY
    )

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        if not self.database_hostname and not self.database_url:
            yield PropertyFinding(
                "config.missing",
                "database.hostname",
                "neither database.hostname nor database.url is set",
                "Set database.hostname and database.port, or database.url.",
            )

    @property
    def catalog_name(self) -> str:
        """The database as events name it (`source.db`): the pluggable database if there is one.
        Names are upper case except in double quotes, which are not part of the name."""
        named: str = self.database_pdb_name or self.value_of("database_dbname")
        if len(named) > 1 and named.startswith('"') and named.endswith('"'):
            return named[1:-1]
        return named.upper()

    @property
    def is_unbuffered(self) -> bool:
        """Whether LogMiner returns committed transactions only."""
        return self.database_connection_adapter is ConnectionAdapter.UNBUFFERED
