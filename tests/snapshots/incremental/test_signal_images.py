"""Signals in the log are read from whatever images their collection has."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from headrace.connect.images import make_image
from headrace.connect.rows import NULL, ROW, TRANSACTION
from headrace.offsets.position import PlacePosition
from headrace.signals.collection import Cells, signal_columns
from headrace.snapshots.incremental.metrics import IncrementalMetrics
from headrace.snapshots.incremental.runner import IncrementalSnapshots, SignalStream
from headrace.streaming.passage import Passage
from tests.contract.journal.connector import JournalConfig
from tests.contract.journal.events import JournalFacts
from tests.snapshots.incremental.no_tables import NoTables


def document_fields(cells: Cells) -> list[str | None]:
    """The first three fields of the document in the second cell, by their position."""
    values = list(json.loads(cells[1] or b"{}").values())[:3]
    return [value if isinstance(value, str) else json.dumps(value) for value in values]


def insert_passes(folder: Path, image: bytes, stream: SignalStream[PlacePosition]) -> None:
    """An insert with this image passes."""
    config = JournalConfig.parse(
        {"topic.prefix": "s", "journal.folder": str(folder), "journal.reader": "r"}
    )
    rows, transactions = np.zeros(1, ROW), np.zeros(1, TRANSACTION)
    rows["operation"], rows["kind"], rows["ordinal"], rows["new"] = ord("c"), 2, 1, 7
    rows["position"] = 0x2A
    transactions["last_commit"] = transactions["xid"] = NULL
    snapshots = IncrementalSnapshots(config, NoTables(), stream, IncrementalMetrics())
    facts = JournalFacts("s.signals", "signals")
    places = {7: memoryview(image)}
    snapshots.passed(Passage(rows, transactions, lambda _: facts, places.__getitem__))


def test_a_signal_is_the_first_three_fields_of_a_document(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headrace.signals")
    document = {"_id": "s1", "kind": "log", "payload": {"message": "at {}"}, "more": 1}
    image = make_image(['"s1"', json.dumps(document)])
    insert_passes(tmp_path, image, SignalStream(False, "signals", texts=document_fields))
    assert caplog.messages == ["at 0"]


def test_a_signal_is_the_first_three_columns_of_a_row(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headrace.signals")
    image = make_image(["s1", "log", '{"message": "hello"}', "more"])
    insert_passes(tmp_path, image, SignalStream(False, "signals"))
    assert caplog.messages == ["hello"]


def test_nulls_and_bytes_that_are_no_text_do_not_end_the_stream() -> None:
    assert signal_columns([b"\xff", None]) == ["\ufffd", None]
