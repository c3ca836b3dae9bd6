"""`headrace check` on Atlas, imitated by the names of its hosts and of its replica sets."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from headrace.connectors.mongodb.checks.oplog import _check_window
from headrace.connectors.mongodb.checks.state import Checked
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.errors import translate
from headrace.connectors.mongodb.servers import ServerFacts
from headrace.connectors.mongodb.streaming.oplog_watch import OplogWindow
from headrace.connectors.registry import check, parse_configuration
from headrace.findings import Findings
from headrace.testing.mongodb import MongoServer

HOST = "shop-shard-00-00.ab1cd.mongodb.net"


class AtlasServer(MongoServer):
    """One whose replica set has a name as Atlas gives it."""

    replica_set = "atlas-ab1cde-shard-0"


@pytest.fixture(scope="module")
def atlas() -> Iterator[AtlasServer]:
    with AtlasServer() as server:
        server.start()
        yield server


def configured(host: str, **more: str) -> dict[str, str]:
    """`more` uses `_` for `.`."""
    string = f"mongodb://{host}/?replicaSet={AtlasServer.replica_set}"
    properties = {
        "connector.class": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": string,
    }
    return properties | {name.replace("_", "."): text for name, text in more.items()}


@pytest.mark.mongodb
def test_a_cluster_is_known_by_the_names_of_its_host_and_its_replica_set(
    atlas: AtlasServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = socket.getaddrinfo

    def local(host: str, *arguments: Any, **named: Any) -> Any:
        return look_up(atlas.host if host == HOST else host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", local)
    findings = check(parse_configuration(configured(f"{HOST}:{atlas.port}")))
    managed = {finding.code: finding for finding in findings}["mongodb.managed"]
    assert managed.level == "ok"
    assert managed.message == (
        f"The cluster is Atlas's (host {HOST}:{atlas.port}, replica set {atlas.replica_set})"
    )


@pytest.mark.mongodb
def test_a_cluster_behind_another_name_is_known_by_its_replica_set(atlas: AtlasServer) -> None:
    findings = check(parse_configuration(configured(f"{atlas.host}:{atlas.port}")))
    managed = {finding.code: finding for finding in findings}["mongodb.managed"]
    assert managed.message == f"The cluster is Atlas's (replica set {atlas.replica_set})"


def test_rights_are_given_by_the_cli_of_atlas() -> None:
    config = parse_configuration(configured(HOST, mongodb_user="cdc"))
    assert isinstance(config, MongoConfig)
    error = translate(OperationFailure("not authorized", 13), config)
    assert "--role readAnyDatabase@admin" in error.remedy
    assert "--role read@DATABASE" in error.remedy
    assert "atlas dbusers update cdc" in error.remedy
    assert "mongosh" not in error.remedy
    assert "grantRolesToUser" not in error.remedy


@pytest.mark.parametrize(
    ("host", "remedy"), [(HOST, "minimum oplog window"), ("h1", "replSetResizeOplog")]
)
def test_an_oplog_that_is_short_is_made_longer_where_its_cluster_is_set(
    host: str, remedy: str
) -> None:
    config = parse_configuration(configured(host))
    assert isinstance(config, MongoConfig)
    findings = Findings()
    checked = Checked(config, None, findings, ServerFacts((8, 0, 0), "rs0"))  # type: ignore[arg-type]
    _check_window(checked, OplogWindow(0, 60, 0, 60), is_full=True)
    assert [finding.code for finding in findings] == ["mongodb.oplog_short"]
    assert remedy in findings[0].remedy
