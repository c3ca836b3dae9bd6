"""Signals, and incremental snapshots while the log goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.contract.changes import Delete, Event, Fill, Insert, Update, fold
from tests.contract.run import THINGS, Run
from tests.contract.subject import Feature, Subject

pytestmark = pytest.mark.needs(Feature.SIGNALS)
ROWS = 60


@pytest.fixture
def channel(tmp_path: Path) -> dict[str, str]:
    return {
        "signal_enabled_channels": "file",
        "signal_file": str(tmp_path / "signals.jsonl"),
        "signal_poll_interval_ms": "0",
        "incremental_snapshot_chunk_size": "10",
        "notification_enabled_channels": "sink",
        "notification_sink_topic_name": "notifications",
    }


@pytest.fixture
def rows(subject: Subject) -> None:
    subject.apply(THINGS, [Fill(1, ROWS, 20)])


def read(run: Run) -> list[int]:
    return [event.key for event in run.collection_events() if event.op == "r"]


def notified(run: Run) -> list[str]:
    """Types of the notifications that came."""
    records = [record for record in run.in_order() if record["topic"] == "notifications"]
    return [json.loads(record["value"])["type"] for record in records]


def execute(run: Run) -> None:
    identifier = run.subject.identifier(THINGS)
    run.signal("execute-snapshot", data_collections=[identifier], type="incremental")


def test_what_becomes_of_a_signal_is_reported(
    subject: Subject, channel: dict[str, str], rows: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: list[tuple[str, str]] = []
    observers = [lambda identity, kind, _data: outcomes.append((identity, kind))]
    monkeypatch.setattr("headrace.signals.notifications._observers", observers)
    without = {**channel, "notification_enabled_channels": ""}
    with Run.start(subject, **without, snapshot_mode="no_data") as run:
        stop = run.signal("stop-snapshot")
        run.step_until(lambda: (stop, "IGNORED") in outcomes)
        identifier = run.subject.identifier(THINGS)
        snapshot = run.signal("execute-snapshot", data_collections=[identifier])
        run.step_until(lambda: (snapshot, "COMPLETED") in outcomes)
    kinds = [kind for identity, kind in outcomes if identity == snapshot]
    assert {"STARTED", "HEEDED", "IN_PROGRESS", "TABLE_SCAN_COMPLETED"} <= set(kinds)
    assert kinds[-1] == "COMPLETED"


def test_a_signal_is_applied_once(
    subject: Subject, channel: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "headrace.signals")
    with Run.start(subject, **channel) as run:
        run.signal("log", message="a word {}")
        run.step_until(lambda: "a word" in caplog.text)
        for _ in range(2):
            run.deliver()
            run.restart()
        assert caplog.text.count("a word") == 1


@pytest.mark.usefixtures("rows")
def test_an_incremental_snapshot_reads_every_row_while_the_log_continues(
    subject: Subject, channel: dict[str, str]
) -> None:
    with Run.start(subject, **channel) as run:
        execute(run)
        number = 0
        while len(set(read(run))) < ROWS - number:
            subject.apply(THINGS, [Update(ROWS - number, f"change {number}")])
            run.step()
            number = min(number + 1, 20)
        run.deliver()
        assert fold(run.collection_events()) == subject.rows(THINGS)
        sequences = [record["sequence"] for record in run.records]
        assert len(sequences) == len(set(sequences))


@pytest.mark.usefixtures("rows")
def test_an_incremental_snapshot_continues_after_restarts(
    subject: Subject, channel: dict[str, str]
) -> None:
    with Run.start(subject, **channel) as run:
        execute(run)

        def restarted() -> bool:
            run.restart()
            return len(read(run)) >= ROWS

        run.step_until(restarted)
        subject.apply(THINGS, [Delete(ROWS), Insert(ROWS + 1, "new")])
        run.deliver()
        assert sorted(read(run)) == list(range(1, ROWS + 1))
        assert fold(run.collection_events()) == subject.rows(THINGS)


@pytest.mark.usefixtures("rows")
def test_an_incremental_snapshot_pauses_resumes_and_stops(
    subject: Subject, channel: dict[str, str]
) -> None:
    with Run.start(subject, **channel) as run:
        execute(run)
        run.signal("pause-snapshot")
        run.step_until(lambda: "PAUSED" in notified(run)).deliver()
        paused = read(run)
        assert len(paused) < ROWS
        run.deliver()
        assert read(run) == paused
        run.signal("resume-snapshot")
        run.step_until(lambda: "COMPLETED" in notified(run))
        assert len(read(run)) == ROWS
        execute(run)
        run.signal("stop-snapshot", type="incremental")
        run.step_until(lambda: "ABORTED" in notified(run)).deliver()
        stopped = read(run)
        assert len(stopped) < 2 * ROWS
        run.deliver()
        assert read(run) == stopped
        subject.apply(THINGS, [Insert(ROWS + 1, "after")])
        run.deliver()
        assert run.collection_events()[-1] == Event("c", ROWS + 1, "after")


@pytest.mark.usefixtures("rows")
def test_a_blocking_snapshot_reads_while_the_stream_waits(
    subject: Subject, channel: dict[str, str]
) -> None:
    with Run.start(subject, **channel) as run:
        subject.apply(THINGS, [Update(1, "before")])
        run.deliver()
        identifier = subject.identifier(THINGS)
        run.signal("execute-snapshot", data_collections=[identifier], type="blocking")
        run.step_until(lambda: len(read(run)) >= ROWS)
        subject.apply(THINGS, [Update(2, "after")])
        run.deliver()
        assert sorted(read(run)) == list(range(1, ROWS + 1))
        assert fold(run.collection_events()) == subject.rows(THINGS)
