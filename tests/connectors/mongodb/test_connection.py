"""Clients of MongoDB: the connection string comes before the properties."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymongo.uri_parser import parse_uri

from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import connect, uses_tls
from headrace.connectors.mongodb.connection_string import parse_connection_string
from headrace.errors import HeadraceError

STRING = "mongodb://h1:27018,h2/?replicaSet=rs0"


def configure(string: str = STRING, **properties: str) -> MongoConfig:
    """`properties` use `_` for `.`."""
    named_properties = {name.replace("_", "."): text for name, text in properties.items()}
    return MongoConfig.parse(
        {"topic.prefix": "p", "mongodb.connection.string": string, **named_properties}
    )


def options(string: str = STRING, **properties: str) -> Any:
    with connect(configure(string, **properties)) as client:
        return client.options


def test_properties_become_options_of_the_driver() -> None:
    client_options = options(
        mongodb_connect_timeout_ms="1500", mongodb_server_selection_timeout_ms="2500",
        mongodb_socket_timeout_ms="3500", mongodb_heartbeat_frequency_ms="4500",
        mongodb_user="u", mongodb_password="p w", mongodb_authsource="shop",
    )  # fmt: skip
    assert client_options.pool_options.connect_timeout == 1.5
    assert client_options.server_selection_timeout == 2.5
    assert client_options.pool_options.socket_timeout == 3.5
    assert client_options._options["heartbeatfrequencyms"] == 4.5
    assert client_options.pool_options.appname == "headrace"
    login = client_options._options
    assert (login["username"], login["password"], login["authsource"]) == ("u", "p w", "shop")


def test_a_timeout_of_zero_is_no_timeout() -> None:
    client_options = options(mongodb_socket_timeout_ms="0", mongodb_connect_timeout_ms="0")
    assert client_options.pool_options.socket_timeout is None
    assert client_options.pool_options.connect_timeout is None


def test_the_connection_string_comes_first() -> None:
    string = (
        "mongodb://a:b%40c@h1/?replicaSet=rs0&connectTimeoutMS=100&ServerSelectionTimeoutMS=200"
        "&appName=mine&readPreference=secondary&authSource=other"
    )
    client_options = options(
        string, mongodb_connect_timeout_ms="1", mongodb_server_selection_timeout_ms="2",
        mongodb_user="u", mongodb_password="p", mongodb_authsource="shop",
    )  # fmt: skip
    assert client_options.pool_options.connect_timeout == 0.1
    assert client_options.server_selection_timeout == 0.2
    assert client_options.pool_options.appname == "mine"
    assert client_options.read_preference.name == "Secondary"
    credentials = client_options.pool_options._credentials
    assert (credentials.username, credentials.password) == ("a", "b@c")
    assert credentials.source == "other"


@pytest.mark.parametrize(
    ("string", "enabled", "encrypted"),
    [
        (STRING, "false", False),
        (STRING, "true", True),
        (STRING + "&tls=true", "false", True),
        (STRING + "&SSL=true", "false", True),
        (STRING + "&ssl=false", "true", False),
        ("mongodb+srv://h/", "false", True),
        ("mongodb+srv://h/?tls=false", "true", False),
    ],
)
def test_connections_are_encrypted_as_the_string_says(
    string: str, enabled: str, encrypted: bool
) -> None:
    config = configure(string, mongodb_ssl_enabled=enabled)
    assert uses_tls(config) is encrypted
    if not string.startswith("mongodb+srv"):
        assert (options(string, mongodb_ssl_enabled=enabled).pool_options._ssl_context is not None
                ) is encrypted  # fmt: skip


def test_files_of_certificates_are_not_read_without_tls() -> None:
    assert options(mongodb_ssl_keystore="/nowhere", mongodb_ssl_truststore="/nowhere")


@pytest.mark.parametrize(
    ("string", "part"),
    [
        (STRING + "&readPreference=nearby", "nearby"),
        (STRING + "&connectTimeoutMS=soon", "connectTimeoutMS"),
        (STRING + "&authMechanism=MAGIC", "authMechanism"),
        ("mongodb://u:hunter2@h/?authMechanism=MAGIC", "authMechanism"),
        (STRING + "&tls=maybe", "tls"),
    ],
)
def test_what_the_driver_refuses_names_the_property(string: str, part: str) -> None:
    config = configure(string)
    with pytest.raises(HeadraceError) as raised:
        connect(config)
    assert raised.value.code == "mongodb.connection_string"
    assert "mongodb.connection.string" in raised.value.message
    assert part.lower() in raised.value.message.lower()
    assert "hunter2" not in str(raised.value)


def test_options_of_the_java_driver_are_passed_over_or_translated() -> None:
    with pytest.warns(UserWarning, match="maxlifetimems"):
        assert options(STRING + "&maxLifeTimeMS=5")
    with pytest.warns(UserWarning, match="sslinvalidhostnameallowed"):
        client_options = options(STRING + "&ssl=true&sslInvalidHostNameAllowed=true")
    assert client_options.pool_options._ssl_context.check_hostname is False


HOSTS = st.lists(
    st.tuples(st.sampled_from(["h", "h.example.com", "127.0.0.1", "[::1]"]),
              st.none() | st.integers(1, 65535)),
    min_size=1, max_size=3,
)  # fmt: skip


@given(HOSTS, st.none() | st.sampled_from(["u", "u:p", "u%40:p%3A%2F"]), st.booleans())
def test_strings_are_taken_apart_as_the_driver_does(
    hosts: list[tuple[str, int | None]], login: str | None, named: bool
) -> None:
    places = [host if port is None else f"{host}:{port}" for host, port in hosts]
    string = "mongodb://" + (f"{login}@" if login else "") + ",".join(places)
    string += "/shop?replicaSet=rs0&tls=true" if named else ""
    ours, theirs = parse_connection_string(string), parse_uri(string)
    assert ours.hosts == tuple(places)
    assert len(theirs["nodelist"]) == len(ours.hosts)
    assert ours.has_user is (theirs["username"] is not None)
    password = None if ours.password is None else ours.password.reveal()
    assert (password or None) == (theirs["password"] or None)
    assert ours.replica_set == theirs["options"].get("replicaSet")


@pytest.mark.parametrize(
    "login", ["u:12/REST", "u:12/RE:ST", "u/REST", "u:p@1/REST", "u:12?a=REST", "u:12?REST"]
)
def test_no_part_of_a_login_that_is_not_escaped_is_taken_for_a_host(login: str) -> None:
    with pytest.raises(ValueError, match="are written %3A") as raised:
        parse_connection_string(f"mongodb://{login}@h.example.com:27017/shop?replicaSet=rs0")
    assert "12" not in str(raised.value)
    assert "REST" not in str(raised.value)


def test_an_option_may_hold_the_mark_that_ends_logins() -> None:
    string = parse_connection_string("mongodb://h:1/?appName=me@home")
    assert (string.hosts, string.options["appname"]) == (("h:1",), "me@home")
