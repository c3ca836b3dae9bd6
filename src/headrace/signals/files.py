"""The file channel: one JSON object per line, `{"id": …, "type": …, "data": {…}}`.

A signal that was read must not be lost when the process dies before the checkpoint contains it, and
must not be applied twice. So the file is renamed with a number, the offset carries the number, and
the renamed file is deleted when the checkpoint contains that offset.

A writer that opened the file before it was renamed may still write into it afterwards. So the name
of a renamed file says which of its bytes were read (FILE.taken-NUMBER.FROM-TO), and lines that a
writer adds later are taken under a later number (FILE.late-FROM until then). A file is deleted when
no writer has it open, as far as the operating system can tell: see `_has_writer`.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGURG

from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError
from headrace.signals.signal import Signal, parse_signal

log = logging.getLogger(__name__)

_TAKE_SECONDS, _APPEND_SECONDS = 0.5, 30.0
"""Seconds that reading and appending wait for another process's lock of the file; the stream waits
for reading."""

_TAKEN = re.compile(r"\.taken-([0-9]{1,18})(?:\.([0-9]{1,18})-([0-9]{1,18})?)?", re.ASCII)
_LATE = re.compile(r"\.late-([0-9]{1,18})(?:\.[0-9]{1,18})?", re.ASCII)


@dataclass(frozen=True)
class _Taken:
    """A renamed file: its number, and its bytes [start, end) that were read; `end` is None
    before."""

    path: Path
    number: int
    start: int = 0
    end: int | None = None


class SignalFile:
    """A file that other processes append lines to; it is read every `interval` seconds."""

    def __init__(self, path: str | os.PathLike[str], interval: float) -> None:
        self.path = Path(path)
        self._interval = interval
        self._looked: float | None = None
        self._is_kept_locked = False

    def forget(self, number: int) -> None:
        """Delete the files up to `number`, whose signals the checkpoint contains. Lines that a
        writer adds to a file after it was read are kept for `take`. A file that another process has
        locked stays until the next call."""
        for taken_file in self._taken():
            if taken_file.number > number:
                continue
            with suppress(FileNotFoundError, BlockingIOError), _locked(taken_file.path, 0) as file:
                goes_on = _has_writer(file)
                if taken_file.end is not None and (
                    goes_on or os.fstat(file).st_size > taken_file.end
                ):
                    taken_file.path.rename(
                        self._named(f"late-{taken_file.end}.{taken_file.number}")
                    )
                else:
                    taken_file.path.unlink()

    def take(self, number: int) -> tuple[list[Signal], int]:
        """Return the signals after `number` that were not applied yet, and the number after
        them."""
        now = time.monotonic()
        left = [taken_file for taken_file in self._taken() if taken_file.number > number]
        if not left:
            if self._looked is not None and now - self._looked < self._interval:
                return [], number
            self._looked = now
            left = self._moved(number)
            if not left:
                return [], number
        signals = [signal for taken_file in left for signal in parse_lines(self._read(taken_file))]
        return signals, max(taken_file.number for taken_file in left)

    def _moved(self, number: int) -> list[_Taken]:
        """Return the files with whole lines that were not taken yet, renamed with numbers after
        `number`; late lines come first."""
        moved = []
        is_kept_locked = False
        for path, start in [*self._late(), (self.path, 0)]:
            try:
                taken_file = self._move(path, start, number + 1)
            except BlockingIOError:
                is_kept_locked = True
                if not self._is_kept_locked:
                    log.warning("another process keeps %s locked: its signals wait", path)
            except OSError:
                pass  # it does not exist, or cannot be read
            else:
                if taken_file is not None:
                    number += 1
                    moved.append(taken_file)
        self._is_kept_locked = is_kept_locked
        return moved

    def _move(self, path: Path, start: int, number: int) -> _Taken | None:
        """Rename a file that has whole lines after byte `start`; None if it has none. Raises
        OSError."""
        # Meanwhile append_line waits for the lock, and then opens the file again.
        with _locked(path, _TAKE_SECONDS) as file:
            has_ended = start > 0 and not _has_writer(file)
            text = path.read_bytes()[start:]
            # A line that is being written has no line end yet.
            if text.endswith(b"\n"):
                taken_file = _Taken(self._named(f"taken-{number}.{start}-"), number, start)
                path.rename(taken_file.path)
                return taken_file
            if has_ended and not text:
                path.unlink()
        return None

    def _read(self, taken_file: _Taken) -> str:
        """Return the whole lines of a renamed file; add their byte range to its name."""
        raw = taken_file.path.read_bytes()
        end = max(raw.rfind(b"\n") + 1, taken_file.start)
        taken_file.path.rename(self._named(f"taken-{taken_file.number}.{taken_file.start}-{end}"))
        return raw[taken_file.start : end].decode(errors="replace")

    def _named(self, ending: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{ending}")

    def _beside(self, pattern: re.Pattern[str]) -> Iterator[tuple[Path, re.Match[str]]]:
        """Yield the files in the same folder whose names continue as `pattern` says."""
        with suppress(FileNotFoundError):
            for path in self.path.parent.iterdir():
                if path.name.startswith(self.path.name):
                    match = pattern.fullmatch(path.name, len(self.path.name))
                    if match is not None:
                        yield path, match

    def _late(self) -> list[tuple[Path, int]]:
        return sorted((path, int(match[1])) for path, match in self._beside(_LATE))

    def _taken(self) -> list[_Taken]:
        taken_files = []
        for path, match in self._beside(_TAKEN):
            number, start, end = match.groups()
            taken_files.append(
                _Taken(path, int(number), int(start or 0), None if end is None else int(end))
            )
        return sorted(taken_files, key=lambda moved: moved.number)


@contextmanager
def _locked(path: Path, seconds: float) -> Iterator[int]:
    """Yield the file, open for reading and locked: other processes that lock it cannot move it or
    write to it. Raises OSError; BlockingIOError when another process keeps it locked for
    `seconds`."""
    file = os.open(path, os.O_RDONLY)
    try:
        _lock(file, seconds)
        yield file
    finally:
        os.close(file)


def _lock(file: int, seconds: float) -> None:
    """Lock a file. Raises BlockingIOError as `_locked`."""
    deadline = Deadline(seconds)
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if deadline.is_over:
                raise
            deadline.pause(0.01)
        except OSError:
            return  # a file system without locks
        else:
            return


def _has_writer(file: int) -> bool:
    """Whether the file is open for writing elsewhere; `file` is open for reading. Linux answers to
    the owner of a file, and to root, if the file system has leases; False elsewhere. While `file`
    stays open, nobody can open the file for writing."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        # The system signals the holder of a lease when a process opens the file for writing; SIGURG
        # is ignored by default.
        fcntl.fcntl(file, fcntl.F_SETSIG, SIGURG)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


def parse_lines(text: str) -> list[Signal]:
    """Return the signals of these lines; a line that is not a signal is left out with a warning."""
    signals = []
    for line in text.split("\n"):
        if line.strip():
            try:
                signals.append(parse_signal(line))
            except ValueError as problem:
                log.warning("a line of the signal file is ignored: %s", problem)
    return signals


def append_line(path: str | os.PathLike[str], signal: Signal) -> None:
    """Append one signal as a whole line to the file, never to one that was renamed. Raises
    HeadraceError("signals.file_locked") and OSError."""
    data = None if signal.data is None else json.loads(signal.data)
    line = json.dumps({"id": signal.id, "type": signal.type, "data": data}) + "\n"
    while True:
        number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            _lock(number, _APPEND_SECONDS)
            if _is_there(path, number):
                os.write(number, line.encode())
                return
        except BlockingIOError:
            raise HeadraceError(
                "signals.file_locked",
                f"Another process keeps the signal file {path} locked",
                "End it (lslocks names it), and send the signal again.",
            ) from None
        finally:
            os.close(number)


def _is_there(path: str | os.PathLike[str], number: int) -> bool:
    """Whether `path` still names the open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(number))  # noqa: PTH116
    except FileNotFoundError:
        return False
