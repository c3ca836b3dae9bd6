"""Secrets that a command prints: `headrace.credentials.command`."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass, field

from headrace.errors import HeadraceError

COMMAND = "headrace.credentials.command"
TIMEOUT = "headrace.credentials.timeout.ms"
LIFETIME = "headrace.credentials.lifetime.ms"
_MOST_BYTES = 1 << 16
_MOST_SEEN = 8
_lock = threading.Lock()
_kept: dict[CommandSecret, tuple[str, float]] = {}
_seen: dict[CommandSecret, dict[str, tuple[tuple[str, str], ...]]] = {}


@dataclass(frozen=True)
class CommandSecret:
    """What a program prints, which runs without a shell. A process runs it when it first needs the
    secret, after `lifetime_ms`, and after the secret was refused. It pickles without the secret."""

    arguments: tuple[str, ...] = field(repr=False)
    timeout_ms: int
    lifetime_ms: int

    def current(self) -> str:
        """The secret. Raises HeadraceError("config.credentials_command"), which never shows what
        the program prints."""
        with _lock:
            text, end = _kept.get(self, ("", 0.0))
            if time.monotonic() < end:
                return text
            began = time.monotonic()
            text = self._run()
            _kept[self] = text, began + self.lifetime_ms / 1000
            seen = _seen.setdefault(self, {})
            seen.pop(text, None)
            seen[text] = ()
            for oldest in list(seen)[:-_MOST_SEEN]:
                del seen[oldest]
            return text

    def renewed(self, used: str) -> str:
        """The secret after `used` was refused: the program runs again, unless another thread has
        had it run since. Raises as `current`."""
        with _lock:
            if _kept.get(self, ("", 0.0))[0] == used:
                _kept.pop(self, None)
        return self.current()

    def seen(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """The last secrets in this process, which messages hide."""
        return dict(_seen.get(self, {}))

    def _run(self) -> str:
        try:
            done = subprocess.run(
                self.arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=self.timeout_ms / 1000,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _failed(f"took longer than {TIMEOUT} = {self.timeout_ms}", True) from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "an argument is impossible"
            raise _failed(f"cannot be started ({reason})", False) from None
        if done.returncode:
            raise _failed(f"ended with exit status {done.returncode}", True)
        try:
            text = done.stdout.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise _failed("printed something else than UTF-8 text", False) from None
        if not text.strip() or "\n" in text or len(done.stdout) > _MOST_BYTES:
            raise _failed("printed no single line of text", False)
        return text


def _failed(what: str, retriable: bool) -> HeadraceError:
    return HeadraceError(
        "config.credentials_command",
        f"The program of {COMMAND} {what}",
        "Run it by hand, as the user of headrace and on the same host: it prints the password or "
        "token on one line and ends with exit status 0. What it prints is not shown.",
        retriable=retriable,
    )
