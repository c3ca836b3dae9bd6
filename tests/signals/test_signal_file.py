"""Lines of the signal file: each is taken once, whenever it was written."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.signals import files
from headrace.signals.files import SignalFile, append_line
from headrace.signals.signal import Signal


def line(name: str) -> str:
    return json.dumps({"id": name, "type": "log", "data": {"message": name}}) + "\n"


def taken(file: SignalFile, number: int) -> tuple[list[str], int]:
    signals, number = file.take(number)
    return [signal.id for signal in signals], number


def test_lines_are_taken_once_and_again_until_the_checkpoint_holds_them(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    path.write_text(line("a") + line("b"))
    assert taken(SignalFile(path, 0), 0) == (["a", "b"], 1)
    # The process died before the checkpoint knew of them.
    file = SignalFile(path, 0)
    assert taken(file, 0) == (["a", "b"], 1)
    assert taken(file, 1) == ([], 1)
    file.forget(1)
    assert list(tmp_path.iterdir()) == []


def test_a_line_without_its_end_waits(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    path.write_text(line("a")[:-1])
    file = SignalFile(path, 0)
    assert taken(file, 0) == ([], 0)
    with path.open("a") as writer:
        writer.write("\n")
    assert taken(file, 0) == (["a"], 1)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_line_of_a_writer_that_had_opened_the_file_before_is_taken_later(
    tmp_path: Path, restarts: bool
) -> None:
    path = tmp_path / "signals"
    path.write_text(line("first"))
    file = SignalFile(path, 0)
    with path.open("a") as late:
        assert taken(file, 0) == (["first"], 1)
        late.write(line("second") + line("third")[:9])
        late.flush()
        if restarts:
            file = SignalFile(path, 0)
        file.forget(1)
        assert taken(file, 1) == ([], 1)  # the last line has no end yet
        late.write(line("third")[9:])
        late.flush()
        path.write_text(line("fourth"))
        names, number = taken(file, 1)
        assert names == ["second", "third", "fourth"]
        late.write(line("fifth"))
    file.forget(number)
    assert taken(file, number) == (["fifth"], number + 1)
    file.forget(number + 1)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_an_earlier_version_took_is_read_and_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    for number in (3, 4):
        path.with_name(f"signals.taken-{number}").write_text(line(f"number {number}"))
    file = SignalFile(path, 0)
    file.forget(3)
    assert taken(file, 3) == (["number 4"], 4)
    file.forget(4)
    assert list(tmp_path.iterdir()) == []


def test_no_appended_line_is_lost_while_the_file_is_taken_and_forgotten(tmp_path: Path) -> None:
    path, number, read = tmp_path / "signals", 0, []
    file = SignalFile(path, 0)

    def write(writer: int) -> None:
        for count in range(200):
            append_line(path, Signal(f"{writer}-{count}", "log", "{}"))

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    for thread in writers:
        thread.start()
    while any(thread.is_alive() for thread in writers) or os.listdir(tmp_path):
        names, number = taken(file, number)
        read += names
        file.forget(number)
    assert sorted(read) == sorted(f"{w}-{count}" for w in range(3) for count in range(200))


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells who writes to a file")
def test_a_writer_that_keeps_the_file_open_is_heard_of_for_ever(tmp_path: Path) -> None:
    path, number, read = tmp_path / "signals", 0, []
    file = SignalFile(path, 0)
    with path.open("a") as writer:
        for name in ("first", "second", "third"):
            writer.write(line(name))
            writer.flush()
            names, number = taken(file, number)
            read += names
            for _ in range(3):  # the checkpoint holds it, and nothing comes for a while
                file.forget(number)
                file = SignalFile(path, 0)
                assert taken(file, number) == ([], number)
        # A new checkpoint does none of it again.
        assert taken(SignalFile(path, 0), 0) == ([], 0)
    assert read == ["first", "second", "third"]
    assert taken(file, number) == ([], number)
    assert list(tmp_path.iterdir()) == []


@contextmanager
def locked_by_another_process(path: Path) -> Iterator[None]:
    code = (
        "import fcntl, sys\nfile = open(sys.argv[1])\nfcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('locked', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        yield
        process.kill()


def test_a_file_that_stays_locked_does_not_keep_the_stream_waiting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "signals"
    path.write_text(line("a"))
    file = SignalFile(path, 0)
    with locked_by_another_process(path), caplog.at_level(logging.WARNING):
        assert taken(file, 0) == ([], 0)
        assert taken(file, 0) == ([], 0)
        assert caplog.text.count(f"another process keeps {path} locked: its signals wait") == 1
        monkeypatch.setattr(files, "_APPEND_SECONDS", 0.1)
        with pytest.raises(HeadraceError, match="locked") as raised:
            append_line(path, Signal("b", "log", "{}"))
        assert raised.value.code == "signals.file_locked"
    assert taken(file, 0) == (["a"], 1)
    with next(tmp_path.iterdir()).open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        file.forget(1)
        assert list(tmp_path.iterdir()) != []
    file.forget(1)
    assert list(tmp_path.iterdir()) == []
