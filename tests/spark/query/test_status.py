"""Status of a query and its source."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.connectors.registry import parse_configuration
from headrace.connectors.states import Situation
from headrace.spark.query import status as module


def test_an_object_of_spark_is_named_in_words(monkeypatch: Any) -> None:
    monkeypatch.setattr(module.failures, "error", lambda _query: None)
    monkeypatch.setattr(module, "_newest", lambda _query: None)
    text = "Getting offsets from org.apache.spark.sql.PythonMicroBatchStream@7a3f01bc"
    query: Any = SimpleNamespace(isActive=True, status={"message": text})
    assert module.status(query).message == "Getting offsets from the source"


@pytest.mark.parametrize(
    ("progress", "words"), [(None, "the process of the source was being started"), ({}, "")]
)
def test_a_source_that_says_nothing_was_being_started_only_where_no_micro_batch_is_over(
    monkeypatch: pytest.MonkeyPatch, progress: object, words: str
) -> None:
    monkeypatch.setattr(module.failures, "error", lambda _query: None)
    monkeypatch.setattr(module, "_newest", lambda _query: None)
    query: Any = SimpleNamespace(isActive=True, status={"message": ""}, lastProgress=progress)
    assert module.waited_for(query) == words


@pytest.mark.parametrize(
    ("written", "begun"),
    [
        (None, False),
        ({"state": "starting", "error": None, "waits": None}, False),
        ({"state": "starting", "error": ("a.b", "gone", "Wait."), "waits": None}, True),
        ({"state": "starting", "error": None, "waits": "a lock"}, True),
        ({"state": "snapshotting", "error": None, "waits": None}, True),
        ({"state": "streaming", "error": None, "waits": None}, True),
    ],
)
def test_a_source_has_begun_when_it_reads_or_says_why_it_does_not(
    monkeypatch: pytest.MonkeyPatch, written: object, *, begun: bool
) -> None:
    monkeypatch.setattr(module, "_newest", lambda _query: written)
    query: Any = None
    assert module.has_begun(query) is begun


def test_a_report_that_comes_while_a_state_is_written_stays_in_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    properties = {
        "connector.class": "postgresql",
        "topic.prefix": tmp_path.parent.name + tmp_path.name,
        "database.hostname": "localhost",
        "database.user": "cdc",
        "database.dbname": "shop",
    }
    file = module.StatusFile(parse_configuration(properties))
    reporting = threading.Thread(target=file.write_report, args=({"at": 1},),
                                 kwargs={"is_over": False})  # fmt: skip
    as_json = json.dumps

    def as_json_beside_a_report(members: dict[str, Any]) -> str:
        text = as_json(members)
        if reporting.ident is None:
            reporting.start()
            while reporting.is_alive() and not file._lock.locked():
                time.sleep(0.001)
        return text

    monkeypatch.setattr("headrace.spark.query.status.json.dumps", as_json_beside_a_report)
    try:
        file.write(Situation("streaming"))
        reporting.join()
        assert file._path is not None
        assert json.loads(file._path.read_text())["report"] == {"at": 1}
    finally:
        file.remove()
