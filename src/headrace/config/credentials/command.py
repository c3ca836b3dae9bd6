"""Secrets printed by a command: `headrace.credentials.command`."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass, field

from headrace.config.credentials.kept import KeptSecret
from headrace.errors import HeadraceError

COMMAND = "headrace.credentials.command"
TIMEOUT = "headrace.credentials.timeout.ms"
LIFETIME = "headrace.credentials.lifetime.ms"
_MAX_BYTES = 1 << 16
_LOOK_S = 0.02
"""Seconds between two looks whether a program has ended whose output is still open."""


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
            status, output = _output(self.arguments, self.timeout_ms / 1000)
        except TimeoutError:
            raise _failed(f"took longer than {TIMEOUT} = {self.timeout_ms}", True) from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "an argument is impossible"
            raise _failed(f"cannot be started ({reason})", False) from None
        if status:
            raise _failed(f"ended with exit status {status}", True)
        try:
            text = output.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise _failed("printed something else than UTF-8 text", False) from None
        if not text.strip() or "\n" in text or len(output) > _MAX_BYTES:
            raise _failed("printed no single line of text", False)
        return text


def _output(arguments: tuple[str, ...], seconds: float) -> tuple[int, bytes]:
    """Return a program's exit status (0 if it printed too much), and what it printed until it
    ended, up to `_MAX_BYTES` + 1 bytes. Processes that it leaves may keep its output open. A
    program that takes longer, prints more or is interrupted is killed, with its process group.
    Raises TimeoutError, and the errors of Popen."""
    latest = time.monotonic() + seconds
    process = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return _read(process, latest)
    finally:
        if process.returncode is None:
            with contextlib.suppress(PermissionError):  # macOS: it has just ended
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _read(process: subprocess.Popen[bytes], latest: float) -> tuple[int, bytes]:
    """See `_output`; `latest` is a time of the monotonic clock."""
    assert process.stdout is not None
    stream = process.stdout.fileno()
    os.set_blocking(stream, False)
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    output = bytearray()
    is_open = True
    while True:
        status = process.poll()  # before the read, which then has all that the program printed
        while is_open and len(output) <= _MAX_BYTES:
            try:
                more = os.read(stream, _MAX_BYTES + 1 - len(output))
            except BlockingIOError:
                break
            is_open = bool(more)
            output += more
        if status is not None or len(output) > _MAX_BYTES:
            return status or 0, bytes(output)
        left = latest - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if is_open:
            poll.poll(min(_LOOK_S, left) * 1000)
        else:
            time.sleep(min(_LOOK_S, left))


def _failed(reason: str, retriable: bool) -> HeadraceError:
    return HeadraceError(
        "config.credentials_command",
        f"The program of {COMMAND} {reason}",
        "Run it by hand, as the user of headrace and on the same host: it prints the password or "
        "token on one line and ends with exit status 0. What it prints is not shown.",
        retriable=retriable,
    )
