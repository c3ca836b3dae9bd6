"""The file channel: one JSON object per line, `{"id": …, "type": …, "data": {…}}`.

What is read must not be lost when the process dies before the checkpoint knows of it, and must
not be done twice. So the file is moved aside under a number, the offset carries the number, and
what was moved is deleted when the checkpoint holds that offset.

A writer that opened the file before it was moved may still write into it afterwards. So the name of
a moved file says which of its bytes were read (FILE.taken-NUMBER.FROM-TO), and what a writer added
since is taken under a later number (FILE.late-FROM until then).
"""

from __future__ import annotations

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

from headrace.signals.signal import Signal, parse_signal

log = logging.getLogger(__name__)

_TAKEN = re.compile(r"\.taken-([0-9]{1,18})(?:\.([0-9]{1,18})-([0-9]{1,18})?)?", re.ASCII)
_LATE = re.compile(r"\.late-([0-9]{1,18})(?:\.[0-9]{1,18})?", re.ASCII)


@dataclass(frozen=True)
class _Taken:
    """A file that was moved aside: its number, and its bytes [start, end) that were read; `end` is
    None before they are."""

    path: Path
    number: int
    start: int = 0
    end: int | None = None


class SignalFile:
    """A file that others append lines to; looked at every `interval` seconds."""

    def __init__(self, path: str | os.PathLike[str], interval: float) -> None:
        self.path = Path(path)
        self._interval = interval
        self._looked: float | None = None

    def forget(self, number: int) -> None:
        """The checkpoint holds that everything up to `number` was done. What a writer added to a
        file after it was read is kept for `take`."""
        for taken in self._taken():
            if taken.number > number:
                continue
            with suppress(FileNotFoundError), _locked(taken.path):
                if taken.end is not None and taken.path.stat().st_size > taken.end:
                    taken.path.rename(self._named(f"late-{taken.end}.{taken.number}"))
                else:
                    taken.path.unlink()

    def take(self, number: int) -> tuple[list[Signal], int]:
        """Signals that nobody has done after `number`, and the number that stands for them."""
        now = time.monotonic()
        left = [taken for taken in self._taken() if taken.number > number]
        if not left:
            if self._looked is not None and now - self._looked < self._interval:
                return [], number
            self._looked = now
            left = self._moved(number)
            if not left:
                return [], number
        signals = [signal for taken in left for signal in parse_lines(self._read(taken))]
        return signals, max(taken.number for taken in left)

    def _moved(self, number: int) -> list[_Taken]:
        """The files that have whole lines nobody took yet, moved aside under numbers after
        `number`, what was added late first."""
        moved = []
        for path, start in [*self._late(), (self.path, 0)]:
            # append_line waits, and looks for the file again.
            with suppress(OSError), _locked(path):
                text = path.read_bytes()[start:]
                # A line that is being written has no end yet.
                if not text.endswith(b"\n"):
                    continue
                number += 1
                taken = _Taken(self._named(f"taken-{number}.{start}-"), number, start)
                path.rename(taken.path)
                moved.append(taken)
        return moved

    def _read(self, taken: _Taken) -> str:
        """The whole lines of a file that was moved aside; then its name says which they are."""
        raw = taken.path.read_bytes()
        end = max(raw.rfind(b"\n") + 1, taken.start)
        taken.path.rename(self._named(f"taken-{taken.number}.{taken.start}-{end}"))
        return raw[taken.start : end].decode(errors="replace")

    def _named(self, ending: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{ending}")

    def _beside(self, pattern: re.Pattern[str]) -> Iterator[tuple[Path, re.Match[str]]]:
        """Files beside this one whose names go on as `pattern` says."""
        with suppress(FileNotFoundError):
            for path in self.path.parent.iterdir():
                if path.name.startswith(self.path.name):
                    match = pattern.fullmatch(path.name, len(self.path.name))
                    if match is not None:
                        yield path, match

    def _late(self) -> list[tuple[Path, int]]:
        return sorted((path, int(match[1])) for path, match in self._beside(_LATE))

    def _taken(self) -> list[_Taken]:
        taken = []
        for path, match in self._beside(_TAKEN):
            number, start, end = match.groups()
            taken.append(
                _Taken(path, int(number), int(start or 0), None if end is None else int(end))
            )
        return sorted(taken, key=lambda one: one.number)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Nobody else who locks the file moves it or writes to it. Raises OSError."""
    number = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def parse_lines(text: str) -> list[Signal]:
    """The signals of these lines; a line that is not a signal is left out with a warning."""
    signals = []
    for line in text.split("\n"):
        if line.strip():
            try:
                signals.append(parse_signal(line))
            except ValueError as problem:
                log.warning("a line of the signal file is ignored: %s", problem)
    return signals


def append_line(path: str | os.PathLike[str], signal: Signal) -> None:
    """Write one signal, whole, at the end of the file, and never into one that was taken."""
    data = None if signal.data is None else json.loads(signal.data)
    line = json.dumps({"id": signal.id, "type": signal.type, "data": data}) + "\n"
    while True:
        number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            if _is_there(path, number):
                os.write(number, line.encode())
                return
        finally:
            os.close(number)


def _is_there(path: str | os.PathLike[str], number: int) -> bool:
    """Whether `path` still names the open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(number))  # noqa: PTH116
    except FileNotFoundError:
        return False
