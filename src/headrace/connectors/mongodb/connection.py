"""Clients of MongoDB, from a configuration."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, NamedTuple
from urllib.parse import quote_plus

import pymongo
from pymongo import MongoClient
from pymongo.driver_info import DriverInfo
from pymongo.errors import ConfigurationError, PyMongoError, ServerSelectionTimeoutError
from pymongo.uri_parser import parse_uri

from headrace.config.credentials.login import secrets_have_changed
from headrace.config.secret import Secret
from headrace.connectors.mongodb.certificates import certificate_options
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection_string import ConnectionString
from headrace.connectors.mongodb.errors import (
    ELECTION,
    NO_FITTING_SERVER,
    NO_REPLICA_SET,
    NOT_A_REPLICA_SET,
    NOT_INITIATED,
    OTHER_REPLICA_SET,
    Wording,
    answer_text,
    answered,
    translate,
)
from headrace.errors import HeadraceError

_LOGIN = {"username", "password", "authSource"}
_PROBE_MS = 2000
_SOON_SECONDS = 3
# NOT_INITIATED is not final: a member that has just started reports it.
_FINAL = (NOT_A_REPLICA_SET, OTHER_REPLICA_SET, NO_REPLICA_SET)

Client = MongoClient[dict[str, Any]]


def connect(config: MongoConfig, *, member: str | None = None, **own: Any) -> Client:
    """Return a client that connects at its first use. It belongs to this process: a forked process
    opens another one. `member` is one host of the connection string: the client connects to this
    server alone, whatever its role, and does not log in. `own` are options of the driver.

    Raises HeadraceError: `mongodb.connection_string`, `mongodb.store_unreadable`,
    `mongodb.store_package`.
    """
    string = config.mongodb_connection_string
    files: AbstractContextManager[dict[str, Any]] = nullcontext({})
    if uses_tls(config):
        files = certificate_options(config)
    with files as certificates:
        file_options = {
            n: value for n, value in certificates.items() if n.lower() not in string.options
        }
        options = {**client_options(config), **file_options}
        if member is not None:
            options = {name: options[name] for name in options.keys() - _LOGIN}
            tls = {name: text for name, text in string.options.items() if name.startswith("tls")}
            short = {"serverSelectionTimeoutMS": _PROBE_MS, "connectTimeoutMS": _PROBE_MS}
            options = {**options, **tls, **short, "directConnection": True}
        try:
            _check_options(string)
            text = member or string.text.reveal().strip()
            client = _Client(text, connect=False, **options, **own)
        except PyMongoError as error:
            raise translate(error, config) from None
        except (ValueError, OSError) as error:
            raise HeadraceError(
                "mongodb.connection_string",
                "The driver refuses an option of mongodb.connection.string, or a file of "
                f"mongodb.ssl.*: {answer_text(str(error), config)}",
                "Correct it; MongoDB's manual lists the options of connection strings.",
            ) from None
    if member is None and (changing := _changing_secrets(config)):
        given_secrets = tuple(
            text if secret is string.text else options["password"] for secret in changing
        )
        _OPENED[:] = [opened for opened in _OPENED if opened.client() is not None]
        _OPENED.append(_Opened(weakref.ref(client), changing, given_secrets))
    return client


def _changing_secrets(config: MongoConfig) -> tuple[Secret, ...]:
    """The login's secrets that may change."""
    string, password = config.mongodb_connection_string, config.mongodb_password
    secrets = [string.text] if string.has_user or password is None else [password]
    return tuple(secret for secret in secrets if secret.may_change)


class _Client(MongoClient[dict[str, Any]]):
    """A client that is removed from `_OPENED` when it is closed."""

    def close(self) -> None:
        """Close the client."""
        others = [
            (opened, opened.client()) for opened in _OPENED
        ]  # clients of one server compare equal
        _OPENED[:] = [opened for opened, client in others if not (client is None or client is self)]
        super().close()


class _Opened(NamedTuple):
    """A client, the secrets of its login, and the texts with which it logs in."""

    client: weakref.ref[_Client]
    secrets: tuple[Secret, ...]
    used: tuple[str, ...]


_OPENED: list[_Opened] = []
"""The open clients of this process whose secrets may change."""


def is_outdated(config: MongoConfig) -> bool:
    """Whether the login of an open client of this process has changed, so that a new client may
    succeed. Raises HeadraceError as `Secret.reveal`."""
    secrets = _changing_secrets(config)
    alive = [
        opened for opened in _OPENED if opened.secrets == secrets and opened.client() is not None
    ]
    return any(secrets_have_changed(secrets, opened.used) for opened in alive)


def uses_tls(config: MongoConfig) -> bool:
    """Whether connections are encrypted."""
    string = config.mongodb_connection_string
    if "tls" in string.options:
        return string.options["tls"].lower() == "true"
    return string.is_srv or config.mongodb_ssl_enabled


def client_options(config: MongoConfig) -> dict[str, Any]:
    """The driver's options from properties other than the connection string; options that the
    string sets are left out."""
    string = config.mongodb_connection_string
    options: dict[str, Any] = {
        "connectTimeoutMS": config.mongodb_connect_timeout_ms,
        "serverSelectionTimeoutMS": config.mongodb_server_selection_timeout_ms,
        "socketTimeoutMS": config.mongodb_socket_timeout_ms,
        "heartbeatFrequencyMS": config.mongodb_heartbeat_frequency_ms,
        "appName": "headrace",
        "driver": DriverInfo("headrace"),
        "uuidRepresentation": "standard",
    }
    if not string.has_user and (config.mongodb_user or config.mongodb_password):
        options["username"] = config.mongodb_user
        if config.mongodb_password is not None:
            options["password"] = config.mongodb_password.reveal()
        options["authSource"] = config.mongodb_authsource
    options = {name: value for name, value in options.items() if name.lower() not in string.options}
    if uses_tls(config):
        options["tls"] = True
        if "tlsinsecure" not in string.options:
            # The string may use the spelling of the Java driver.
            said = string.options.get("tlsallowinvalidhostnames", "").lower() == "true"
            allowed = said or config.mongodb_ssl_invalid_hostname_allowed
            options["tlsAllowInvalidHostnames"] = allowed
    return options


def _check_options(string: ConnectionString) -> None:
    """Raises ValueError for an option whose value is not valid: the driver would warn and continue.
    Names that it does not know, such as those of Java's driver alone, are left to the driver."""
    for name, text in string.options.items():
        with suppress(ConfigurationError):
            parse_uri(f"mongodb://localhost/?{name}={quote_plus(text)}")


def greet(client: Client, config: MongoConfig) -> dict[str, Any]:
    """Return the `hello` of a server, the first command of a client. The driver looks for a
    suitable server for mongodb.server.selection.timeout.ms; if no host can ever be suitable, the
    error is raised after some seconds. Raises HeadraceError."""
    string = config.mongodb_connection_string
    if client.options.server_selection_timeout > _SOON_SECONDS:
        try:
            with pymongo.timeout(_SOON_SECONDS):
                return client.admin.command("hello")
        except PyMongoError as error:
            if not error.timeout:
                raise diagnose(error, config) from None
            answers = _ask_hosts(config)
            if len(answers) == len(string.hosts) and all(a.answer in _FINAL for a in answers):
                raise _explained(answers, config, "") from None
    try:
        return client.admin.command("hello")
    except PyMongoError as error:
        raise diagnose(error, config) from None


def diagnose(error: PyMongoError, config: MongoConfig, doing: str = "") -> HeadraceError:
    """Translate an error as `errors.translate` does, but make it retriable if the login has
    changed. The driver ignores servers outside of the connection string's replica set, and reports
    that no server was found: then each host is asked for its state."""
    if isinstance(error, ServerSelectionTimeoutError):
        answers = _ask_hosts(config)
        if answers:
            return _explained(answers, config, doing)
    known = translate(error, config, doing)
    if known.code == "mongodb.authentication" and is_outdated(config):
        message = f"{known.message}; the password has changed since, and the new one is tried"
        return HeadraceError(known.code, message, known.remedy, retriable=True)
    return known


class _HostAnswer(NamedTuple):
    """The reason why a host cannot be used, and details."""

    answer: Wording
    text: str


def _explained(answers: Sequence[_HostAnswer], config: MongoConfig, doing: str) -> HeadraceError:
    """The error if no host can be used; a member of the right replica set has the best reason."""
    best = next((answer for answer in answers if answer.answer.retriable), answers[0])
    return answered(best.answer, config, best.text, doing)


def _ask_hosts(config: MongoConfig) -> list[_HostAnswer]:
    """The answers of the connection string's hosts, which are asked in parallel. The threads do not
    inherit the limits of `pymongo.timeout`, which may have expired."""
    string = config.mongodb_connection_string
    if string.replica_set is None or string.is_srv:
        return []
    with ThreadPoolExecutor(len(string.hosts)) as threads:
        answers = threads.map(lambda host: _ask(host, config), string.hosts)
        return [answer for answer in answers if answer is not None]


def _ask(host: str, config: MongoConfig) -> _HostAnswer | None:
    """Why the replica set's client cannot use this server; None if it does not answer."""
    string = config.mongodb_connection_string
    try:
        with connect(config, member=host) as client:
            hello = client.admin.command("hello")
    except (PyMongoError, HeadraceError):
        return None
    name = hello.get("setName")
    if name is None and hello.get("isreplicaset"):
        return _HostAnswer(NOT_INITIATED, "")
    if name is None:
        is_mongos = hello.get("msg") == "isdbgrid"
        return _HostAnswer(NO_REPLICA_SET if is_mongos else NOT_A_REPLICA_SET, "")
    if name != string.replica_set:
        return _HostAnswer(OTHER_REPLICA_SET, f"{host} is one of {name}")
    if "primary" not in hello:
        return _HostAnswer(ELECTION, "")
    return _HostAnswer(NO_FITTING_SERVER, f"the primary is {hello['primary']}")
