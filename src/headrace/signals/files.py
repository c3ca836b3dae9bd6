"""The file channel: one JSON object per line, `{"id": …, "type": …, "data": {…}}`.

What is read must not be lost when the process dies before the checkpoint knows of it, and must
not be heeded twice. So the file is moved aside under a number, the offset carries the number, and
what was moved is deleted when the checkpoint holds that offset.
"""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path

from headrace.signals.signal import Signal, parse_signal

log = logging.getLogger(__name__)


class SignalFile:
    """A file that others append lines to; looked at every `interval` seconds."""

    def __init__(self, path: str | os.PathLike[str], interval: float) -> None:
        self.path = Path(path)
        self._interval = interval
        self._looked: float | None = None

    def forget(self, number: int) -> None:
        """The checkpoint holds that everything up to `number` was heeded."""
        for taken, path in self._taken():
            if taken <= number:
                path.unlink(missing_ok=True)

    def take(self, number: int) -> tuple[list[Signal], int]:
        """Signals that nobody has heeded after `number`, and the number that stands for them."""
        now = time.monotonic()
        left = [(taken, path) for taken, path in self._taken() if taken > number]
        if not left:
            if self._looked is not None and now - self._looked < self._interval:
                return [], number
            self._looked = now
            if not self._has_lines():
                return [], number
            moved = self._aside(number + 1)
            self.path.rename(moved)
            left = [(number + 1, moved)]
        signals = [signal for _, path in left for signal in parse_lines(_text_of(path))]
        return signals, max(taken for taken, _ in left)

    def _has_lines(self) -> bool:
        try:
            # A line that is being written has no end yet.
            return "\n" in _text_of(self.path) and _text_of(self.path).endswith("\n")
        except OSError:
            return False

    def _aside(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.taken-{number}")

    def _taken(self) -> list[tuple[int, Path]]:
        taken = []
        for path in self.path.parent.glob(f"{self.path.name}.taken-*"):
            number = path.name.rpartition("-")[2]
            if number.isdigit():
                taken.append((int(number), path))
        return sorted(taken)


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def parse_lines(text: str) -> list[Signal]:
    """The signals of these lines; a line that is none is left out with a warning."""
    signals = []
    for line in text.split("\n"):
        if line.strip():
            try:
                signals.append(parse_signal(line))
            except ValueError as problem:
                log.warning("a line of the signal file is ignored: %s", problem)
    return signals


def append_line(path: str | os.PathLike[str], signal: Signal) -> None:
    """Write one signal, whole, at the end of the file."""
    data = None if signal.data is None else json.loads(signal.data)
    line = json.dumps({"id": signal.id, "type": signal.type, "data": data}) + "\n"
    number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(number, line.encode())
    finally:
        os.close(number)
