"""MongoDB's connection strings: `mongodb://user:password@host:port,…/database?option=value&…`.

They are parsed without the driver, because configurations are also read where it is not installed.
The driver parses the text again, and refuses invalid values of options.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote_plus

from headrace.config.secret import Secret, SecretSource

_SCHEMES = ("mongodb://", "mongodb+srv://")
_NOT_ESCAPED = "the characters : / ? # [ ] @ of user and password are written %3A …"
_PORT = re.compile(r"[0-9]{1,5}")
# The driver's former spellings of an option.
_SPELLINGS = {"ssl": "tls", "sslinvalidhostnameallowed": "tlsallowinvalidhostnames"}


@dataclass(frozen=True)
class ConnectionString:
    """A parsed connection string. `text` contains the password and is never shown; `hosts` may be.
    `options` has lower-case names, and of two spellings the driver's newer one. `user` and
    `database` are empty if the string has none; `database` is the default authentication
    database."""

    text: Secret
    scheme: str
    hosts: tuple[str, ...]
    has_user: bool
    user: str
    password: Secret | None
    database: str
    options: Mapping[str, str] = field(hash=False)

    @property
    def is_srv(self) -> bool:
        """Whether the hosts, and further options, come from DNS."""
        return self.scheme == "mongodb+srv://"

    @property
    def replica_set(self) -> str | None:
        """The name of the replica set, None if the string has none."""
        return self.options.get("replicaset") or None

    @property
    def place(self) -> str:
        """The hosts, for messages."""
        return ",".join(self.hosts)

    def from_source(self, source: SecretSource) -> ConnectionString:
        """Return the string with its text, and so its password, read from the source at each use.
        Hosts and options are kept."""
        return replace(self, text=self.text.from_source(source), password=None)

    def __repr__(self) -> str:
        return f"ConnectionString({self.scheme}{self.place})"


def parse_connection_string(text: str) -> ConnectionString:
    """Parse a connection string. Raises ValueError, whose text names the fault and contains no part
    of `text` that may be secret."""
    scheme = next((scheme for scheme in _SCHEMES if text.startswith(scheme)), None)
    if scheme is None:
        raise ValueError("it must begin with mongodb:// or mongodb+srv://")
    rest, _, query = text.removeprefix(scheme).partition("?")
    authority, slash, database = rest.partition("/")
    # An @ after the hosts means that a / or ? of the login is not escaped: it starts no host.
    if "@" in database or (not slash and "@" in query):
        raise ValueError(_NOT_ESCAPED)
    # A socket's path is written with %2F, so a slash in `authority` cannot be part of one.
    user, at, hosts = authority.rpartition("@")
    if "@" in user or user.count(":") > 1:
        raise ValueError(_NOT_ESCAPED)
    names = tuple(unquote_plus(host) for host in hosts.split(","))
    for host in names:
        _check_host(host, is_srv=scheme != _SCHEMES[0])
    if scheme != _SCHEMES[0] and len(names) != 1:
        raise ValueError("mongodb+srv:// takes one host")
    name, colon, password = user.partition(":")
    secret = Secret(unquote_plus(password)) if colon else None
    return ConnectionString(
        text=Secret(text),
        scheme=scheme,
        hosts=names,
        has_user=bool(at),
        user=unquote_plus(name),
        password=secret,
        database=unquote_plus(database),
        options=_options(query),
    )


def string_of_hosts(hosts: str) -> str:
    """Return the connection string for `mongodb.hosts`, which Debezium read up to 2.1:
    `rs0/h1:p1,h2:p2` for a replica set, `h1:p1` for a server, and shards or members after
    semicolons, which are replaced by a placeholder for a mongos."""
    replica_set, slash, members = hosts.strip().rpartition("/")
    if ";" in hosts:
        return "mongodb://MONGOS:PORT/"
    return f"mongodb://{members}/" + (f"?replicaSet={replica_set}" if slash else "")


def _check_host(name: str, *, is_srv: bool) -> None:
    host, colon, port = name.rpartition(":") if not name.endswith("]") else (name, "", "")
    if not colon:
        host = name
    if not host:
        raise ValueError("a host is missing")
    if name.endswith(".sock"):
        return
    if colon and (not _PORT.fullmatch(port) or not 0 < int(port) <= 65535):
        raise ValueError("a port is not a number from 1 to 65535")
    if colon and is_srv:
        raise ValueError("mongodb+srv:// takes no port")


def _options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in re.split("[&;]", query):
        name, equals, value = pair.partition("=")
        if not pair:
            continue
        if not equals:
            raise ValueError("an option is not of the form name=value")
        lowered = name.strip().lower()
        options[_SPELLINGS.get(lowered, lowered)] = unquote_plus(value)
    return options
