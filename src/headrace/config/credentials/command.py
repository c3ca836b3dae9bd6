"""Secrets printed by a command: `headrace.credentials.command`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field

from headrace.config.credentials.kept import KeptSecret
from headrace.errors import HeadraceError

COMMAND = "headrace.credentials.command"
TIMEOUT = "headrace.credentials.timeout.ms"
LIFETIME = "headrace.credentials.lifetime.ms"
_MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class CommandSecret(KeptSecret):
    """The output of a program, which runs without a shell, kept for `lifetime_ms`."""

    arguments: tuple[str, ...] = field(repr=False)
    timeout_ms: int
    lifetime_ms: int

    def fetch(self) -> tuple[str, float]:
        """See KeptSecret. Raises HeadraceError("config.credentials_command"), which never shows the
        program's output."""
        return self._run(), self.lifetime_ms / 1000

    def _run(self) -> str:
        try:
            completed = subprocess.run(
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
        if completed.returncode:
            raise _failed(f"ended with exit status {completed.returncode}", True)
        try:
            text = completed.stdout.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise _failed("printed something else than UTF-8 text", False) from None
        if not text.strip() or "\n" in text or len(completed.stdout) > _MOST_BYTES:
            raise _failed("printed no single line of text", False)
        return text


def _failed(reason: str, retriable: bool) -> HeadraceError:
    return HeadraceError(
        "config.credentials_command",
        f"The program of {COMMAND} {reason}",
        "Run it by hand, as the user of headrace and on the same host: it prints the password or "
        "token on one line and ends with exit status 0. What it prints is not shown.",
        retriable=retriable,
    )
