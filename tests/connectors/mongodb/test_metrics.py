from __future__ import annotations

import logging
import time

import pytest

from headrace.connectors.mongodb.streaming.oplog_watch import OplogWindow, read_window
from tests.connectors.harness import wait_for
from tests.connectors.mongodb.harness import Reader
from tests.servers.mongodb import MongoDatabase

pytestmark = pytest.mark.mongodb


def test_metrics_describe_the_stream_by_debeziums_names(mongo_database: MongoDatabase) -> None:
    rows = mongo_database.collections["rows"]
    reader = Reader.begin(mongo_database)
    rows.insert_one({"_id": 1})
    rows.update_one({"_id": 1}, {"$set": {"n": 1}})
    rows.delete_one({"_id": 1})
    reader.until(4)
    wait_for(lambda: reader.open().metrics()["streaming"]["NumberOfEmptyPolls"] > 0)
    streaming = reader.open().metrics()["streaming"]
    assert streaming["Connected"]
    counts = {
        name: streaming[f"TotalNumberOf{name}EventsSeen"] for name in ("Create", "Update", "Delete")
    }
    assert counts == {"Create": 1, "Update": 1, "Delete": 1}
    assert streaming["TotalNumberOfEventsSeen"] == 3
    assert streaming["NumberOfDisconnects"] == streaming["NumberOfPrimaryElections"] == 0
    assert streaming["LastSourceEventPollTime"] >= 0
    assert streaming["LastEmptyPollTime"] > 0
    assert streaming["SourceEventPosition"] == {"ord": 1} or streaming["SourceEventPosition"]["ord"]
    assert streaming["CapturedTables"] == [f"{mongo_database.name}.rows"]
    assert 0 <= streaming["MilliSecondsBehindSource"] < 600_000
    reader.stop()


def test_the_oplog_is_watched(mongo_database: MongoDatabase) -> None:
    reader = Reader.begin(mongo_database, headrace_oplog_watch_interval="20 ms")
    mongo_database.collections["rows"].insert_one({"_id": 1})
    reader.until(1)

    def is_watched() -> bool:
        reader.step()  # acknowledges
        return reader.open().metrics()["database"] is not None

    wait_for(is_watched)
    oplog = reader.open().metrics()["database"]
    assert set(oplog) == {"oldest", "window", "age", "remaining"}
    assert 0 <= oplog["remaining"] <= oplog["window"] + 1
    assert abs(oplog["oldest"] + oplog["remaining"] + oplog["age"] - time.time()) < 60
    reader.stop()


def test_a_warning_comes_once_when_the_oplog_becomes_short(
    mongo_database: MongoDatabase,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    windows = [OplogWindow(1000, 7200, 10, 7100)] * 3 + [OplogWindow(6000, 7200, 5000, 100)]

    def shorter(*_: object) -> OplogWindow:
        return windows.pop(0) if len(windows) > 1 else windows[0]

    path = "headrace.connectors.mongodb.streaming.oplog_watch.read_window"
    monkeypatch.setattr(path, shorter)
    caplog.set_level(logging.WARNING)
    reader = Reader.begin(mongo_database, headrace_oplog_watch_interval="20 ms")
    wait_for(lambda: reader.step() or len(windows) == 1)
    wait_for(lambda: any("oplog may lose" in message for message in caplog.messages))
    for _ in range(3):
        reader.step()
    (warning,) = [message for message in caplog.messages if "oplog may lose" in message]
    assert "100 s more" in warning
    assert "replSetResizeOplog" in warning
    reader.stop()


def test_an_oplog_shows_how_long_it_holds_what_follows_a_place(
    mongo_database: MongoDatabase,
) -> None:
    now = int(time.time())
    window = read_window(mongo_database.client, now)
    assert window is not None
    assert window.age <= 60
    assert window.remaining == now - window.oldest
    past = read_window(mongo_database.client, window.oldest - 10)
    assert past is not None
    assert past.remaining <= -10
