"""Signals are done by who runs snapshots, and nothing of what is wrong with one is lost."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from headrace.signals.processor import SignalProcessor
from headrace.signals.progress import Ended, Pending, SignalProgress
from headrace.signals.signal import ExecuteSnapshot, Signal


class Config:
    signal_enabled_channels = ("source",)


class Snapshots:
    """Remembers what it was asked for."""

    def __init__(self, *, running: bool) -> None:
        tables = (Pending("public.t", "s"),) if running else ()
        self.progress = SignalProgress(tables=tables)
        self.calls: list[str] = []

    def execute(self, signal: Signal, action: ExecuteSnapshot, place: int) -> None:
        self.progress = replace(self.progress, ordinal=9)
        raise KeyError("nobody thought of it")

    def stop(self, collections: tuple[str, ...], place: int) -> None:
        self.calls.append("stop")

    def pause(self, place: int) -> None:
        self.calls.append("pause")

    def resume(self, place: int) -> None:
        self.calls.append("resume")

    def position_text(self, place: int) -> str:
        return f"place {place}"


@pytest.mark.parametrize("kind", ["stop-snapshot", "pause-snapshot"])
def test_what_nothing_is_running_for_is_reported_in_one_line(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    idle, running = Snapshots(running=False), Snapshots(running=True)
    with caplog.at_level(logging.INFO, "headrace"):
        for snapshots in (idle, running):
            processor = SignalProcessor(Config(), snapshots)  # type: ignore[arg-type]
            processor.apply(Signal("s1", kind, "{}"), 7)
    assert idle.calls == []
    assert running.calls == [kind.removesuffix("-snapshot")]
    assert [record.getMessage() for record in caplog.records] == [
        "signal s1 is ignored: no incremental snapshot is running"
    ]


def test_a_log_signal_shows_the_position(caplog: pytest.LogCaptureFixture) -> None:
    processor = SignalProcessor(Config(), Snapshots(running=False))  # type: ignore[arg-type]
    with caplog.at_level(logging.INFO, "headrace.signals"):
        processor.apply_row("s1", ["s1", "log", '{"message": "here: {}"}'], 7)
        processor.apply_row("s2", ["s2", "log"], 7)
    assert "here: place 7" in caplog.text
    assert "lacks columns" in caplog.text


def test_a_signal_that_fails_leaves_nothing_but_its_end(caplog: pytest.LogCaptureFixture) -> None:
    snapshots = Snapshots(running=False)
    processor = SignalProcessor(Config(), snapshots)  # type: ignore[arg-type]
    processor.apply(Signal("s1", "execute-snapshot", '{"data-collections": ["public.t"]}'), 7)
    assert snapshots.progress == SignalProgress(ended=(Ended("", "s1", "IGNORED"),))
    assert "nobody thought of it" in caplog.text


def test_a_signal_that_is_ignored_is_reported_without_a_password_in_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    processor = SignalProcessor(Config(), Snapshots(running=False))  # type: ignore[arg-type]
    data = '{"data-collections": ["public.t"], "type": "password=hunter2x"}'
    processor.apply(Signal("s1", "execute-snapshot", data), 7)
    assert "signal s1 is ignored: snapshot type" in caplog.text
    assert "hunter2x" not in caplog.text
