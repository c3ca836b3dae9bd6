"""Passwords that change while the server is captured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote_plus

import pytest

from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import connect, greet
from headrace.errors import HeadraceError
from headrace.testing.mongodb import MongoServer
from tests.connectors.mongodb.harness import Reader
from tests.servers.mongodb import MongoDatabase
from tests.servers.mongodb_kinds import GuardedServer

pytestmark = pytest.mark.mongodb

FIRST, SECOND = "the first p@ssword", "the second p@ssword"


@pytest.fixture(scope="module")
def guarded(mongodb_servers: Callable[[str], MongoServer]) -> Iterator[GuardedServer]:
    assert mongodb_servers("plain").running  # it could be started
    with GuardedServer() as server:
        server.start()
        server.add_user("app", "root")
        yield server


@pytest.fixture
def rotate(guarded: GuardedServer, tmp_path: Path) -> Callable[..., None]:
    """Gives the user a password and, unless `in_file` is another one, writes it into the file."""

    def change(password: str, in_file: str | None = None) -> None:
        with guarded.connect_to_member() as client:
            client.admin.command("updateUser", "app", pwd=password)
        written = in_file or password
        (tmp_path / "login").write_text(f"plain={written}\nencoded={quote_plus(written)}\n")

    change(FIRST)
    return change


def login(guarded: GuardedServer, folder: Path, *, in_the_string: bool) -> dict[str, str]:
    reference = f"${{file:{folder}/login:{'encoded' if in_the_string else 'plain'}}}"
    if in_the_string:
        uri = guarded.uri.replace("://", f"://app:{reference}@")
        return {"mongodb_connection_string": uri}
    return {"mongodb_user": "app", "mongodb_password": reference}


@pytest.mark.parametrize("in_the_string", [True, False], ids=["string", "property"])
def test_the_stream_continues_after_the_password_was_rotated_and_the_connection_cut(
    guarded: GuardedServer, rotate: Callable[..., None], tmp_path: Path, in_the_string: bool
) -> None:
    database = MongoDatabase(guarded, f"rotated_{in_the_string}", guarded.connect_to_member())
    waits = {"retriable_restart_connector_wait_ms": "100"}
    login_properties = login(guarded, tmp_path, in_the_string=in_the_string)
    reader = Reader.begin(database, **login_properties, **waits)
    database.collections["rows"].insert_one({"_id": 1})
    reader.until(1)
    rotate(SECOND)
    guarded.kill()
    guarded.start()
    database.collections["rows"].insert_one({"_id": 2})
    assert [value and value["after"] for value in reader.values(2)] == ['{"_id": 1}', '{"_id": 2}']
    reader.stop()
    database.client.close()


def test_a_client_with_a_password_that_was_rotated_is_a_reason_to_try_again(
    guarded: GuardedServer, rotate: Callable[..., None], tmp_path: Path
) -> None:
    login_properties = login(guarded, tmp_path, in_the_string=False)
    required = {"topic.prefix": "p", "mongodb.connection.string": guarded.uri}
    named = {name.replace("_", "."): text for name, text in login_properties.items()}
    config = MongoConfig.parse(required | named)
    with connect(config) as client:
        rotate(SECOND)
        with pytest.raises(HeadraceError, match=r"mongodb\.authentication, retriable") as raised:
            greet(client, config)
        assert SECOND not in str(raised.value)
    with connect(config) as client:
        greet(client, config)
    del client
    rotate(FIRST, in_file="a wrong password")
    with (
        connect(config) as client,
        pytest.raises(HeadraceError, match=r"mongodb\.authentication\]") as raised,
    ):
        greet(client, config)
    assert "wrong password" not in str(raised.value)
