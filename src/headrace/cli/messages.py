"""The messages of a verb on standard error: phases, warnings and errors, as text or as JSON lines.

On a terminal the phase is one live line below all other lines; elsewhere it is a line whenever it
changes. Where there is no live line, every line begins with the time from the first phase on: such
a verb runs for long.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TextIO

from headrace.errors import HeadraceError

LOG = "headrace"
"""The name of the logger of all modules."""
_REDRAW_S = 0.25
_PROGRESS_S = 30.0
"""Seconds between two lines of one phase, if there is no live line."""
_LOGGED = re.compile(r"(INFO|WARNING|ERROR|CRITICAL) headrace: ")
"""The beginning of a source process's log line."""
_OF_ERROR = re.compile(r"\b(?:ERROR|FATAL)\b|(?:Error|Exception)\b|^Traceback |^\s+(?:at|File) ")
"""Matches the lines of errors and stack traces in other output of a process."""
_PRINTED = re.compile(
    r"(?P<before>.*?) \[(?P<code>[a-zA-Z][\w-]*(?:\.[a-z_0-9-]+)+)(?P<retry>, retriable)?\]"
    r"(?P<rest>.*)",
    re.DOTALL,
)
"""The printed form of an error or a warning in a line: its code is followed by its remedy, or by
more of the message."""

Figures = Mapping[str, int | float | None]
"""Numbers of a message by name, members of its JSON object; None: unknown."""


class LogFormat(StrEnum):
    """The values of `--log-format`."""

    TEXT = "text"
    JSON = "json"


class Messages:
    """The messages of a verb. All methods may be called from any thread."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        quiet: bool = False,
        log_format: LogFormat = LogFormat.TEXT,
        live: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`quiet`: no phases and no summary. `live`: a terminal may get a live line."""
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._json = log_format is LogFormat.JSON
        self._is_live = live and not quiet and not self._json and self._stream.isatty()
        self._clock = clock
        self._lock = threading.RLock()
        self._phase: str | None = None
        self._details = ""
        self._began = self._said = 0.0
        self._drawn = False
        self._ended = threading.Event()
        self._painter: threading.Thread | None = None

    def phase(self, name: str, details: str = "", figures: Figures | None = None) -> None:
        """Show that the verb is in the phase `name`; `details` (which may change often) are its
        progress, and `figures` the numbers in them."""
        with self._lock:
            now = self._clock()
            begins = name != self._phase
            if begins:
                self._phase, self._began = name, now
            changed, self._details = details != self._details, details
            if self._quiet:
                return
            if self._is_live:
                if self._painter is None:
                    self._painter = threading.Thread(target=self._paint, daemon=True)
                    self._painter.start()
                self._draw()
            elif begins or (changed and now - self._said >= _PROGRESS_S):
                self._said = now
                self._write("info", _joined(name, details), {"phase": name, **(figures or {})})

    def note(self, text: str, figures: Figures | None = None) -> None:
        """Write a line that `--quiet` leaves out, such as the summary; `figures` are its
        numbers."""
        if not self._quiet:
            self._say("info", text, prefix="", figures=figures)

    def info(self, text: str, figures: Figures | None = None) -> None:
        """Write a line that a user requested, such as the outcome of a signal; `figures` are its
        numbers."""
        self._say("info", text, prefix="", figures=figures)

    def warning(self, text: str, code: str | None = None, *, retriable: bool | None = None) -> None:
        """Write a warning, after which the verb continues. A text in the printed form of errors and
        findings is divided into message, code and remedy. `retriable`: see HeadraceError (None:
        unknown)."""
        self._say("warning", text, code=code, retriable=retriable)

    def error(
        self,
        text: str,
        remedy: str | None = None,
        code: str | None = None,
        *,
        retriable: bool | None = None,
    ) -> None:
        """Write the error that ends the verb."""
        self._say("error", text, code=code, remedy=remedy, retriable=retriable)

    def failure(self, error: HeadraceError) -> None:
        """Write the error that ends the verb, or each of the errors that it combines."""
        for part in error.parts or (error,):
            self.error(part.message, part.remedy, part.code, retriable=part.retriable)

    def foreign(self, line: str) -> None:
        """Write a line from a process of Spark; lines of our log get the style of the others."""
        logged = _LOGGED.match(line)
        if logged is None:
            self._say("error" if _OF_ERROR.search(line) else "info", line, prefix="")
        elif logged[1] == "INFO":
            self.info(line[logged.end() :])
        else:
            level = "warning" if logged[1] == "WARNING" else "error"
            self._say(level, line[logged.end() :])

    def end(self) -> None:
        """End the phase: the live line disappears."""
        with self._lock:
            self._ended.set()
            self._erase()
            self._phase = None

    def _say(
        self,
        level: str,
        text: str,
        *,
        prefix: str | None = None,
        code: str | None = None,
        remedy: str | None = None,
        retriable: bool | None = None,
        figures: Figures | None = None,
    ) -> None:
        before = f"{level}: " if prefix is None else prefix
        if code is None and level != "info" and (printed := _PRINTED.fullmatch(text)):
            code, retriable, rest = printed["code"], bool(printed["retry"]), printed["rest"]
            ends = rest == "" or rest.startswith(". ")
            text = printed["before"] + ("" if ends else rest)
            remedy = (rest[2:] or None) if ends else None
        with self._lock:
            if self._json:
                members = {"code": code, "retriable": retriable, "remedy": remedy}
                self._write(level, text, members | dict(figures or {}))
                return
            self._write(level, before + text + (f" [{code}]" if code else ""))
            if remedy:
                self._write(level, f"remedy: {remedy}")

    def _write(self, level: str, text: str, members: dict[str, Any] | None = None) -> None:
        now = datetime.fromtimestamp(self._clock(), UTC)
        if self._json:
            line = {"time": now.isoformat(timespec="milliseconds"), "level": level, "message": text}
            line |= {name: value for name, value in (members or {}).items() if value is not None}
            text = json.dumps(line, ensure_ascii=False)
        elif self._phase is not None and not self._is_live:
            text = f"{now.astimezone():%H:%M:%S} {text}"
        self._erase()
        print(text, file=self._stream, flush=True)
        self._draw()

    def _paint(self) -> None:
        while not self._ended.wait(_REDRAW_S):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        if not self._is_live or self._phase is None or self._ended.is_set():
            return
        seconds = self._clock() - self._began
        text = _joined(self._phase, self._details or f"{seconds:.0f} s")
        width = _columns(self._stream)
        self._stream.write(f"\r\x1b[K\x1b[2m{text[: width - 1]}\x1b[0m")
        self._stream.flush()
        self._drawn = True

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False


class MessagesHandler(logging.Handler):
    """A logging handler that writes this process's log in the style of the other messages."""

    def __init__(self, messages: Messages) -> None:
        super().__init__(logging.INFO)
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._messages.foreign(f"{record.levelname} headrace: {record.getMessage()}")
        except (OSError, ValueError):  # an error of logging must not end the verb
            self.handleError(record)

    def open(self) -> None:
        """Send this process's log to these messages only."""
        self.close_all()
        logging.getLogger(LOG).addHandler(self)

    @staticmethod
    def close_all() -> None:
        """Stop writing the log as messages, and remove the live line, because the verb has
        ended."""
        log = logging.getLogger(LOG)
        for handler in [added for added in log.handlers if isinstance(added, MessagesHandler)]:
            log.removeHandler(handler)
            handler._messages.end()


def one_line(text: str) -> str:
    """Return a text with names from a database, with unprintable characters replaced for a
    terminal."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def _joined(name: str, details: str) -> str:
    return f"{name}: {details}" if details else name


def _columns(stream: TextIO) -> int:
    try:
        return max(20, os.get_terminal_size(stream.fileno()).columns)
    except (OSError, ValueError):
        return 80
