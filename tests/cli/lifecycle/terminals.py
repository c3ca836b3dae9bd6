"""Commands in a pseudo-terminal, and what they leave behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import uuid
from pathlib import Path

import psutil

_MARK = "HEADRACE_TEST_MARK"
COMMAND = [sys.executable, "-c", "import headrace_command, sys; sys.exit(headrace_command.main())"]


class TerminalRun:
    """`headrace` with `arguments` on a terminal of 80 columns, with a folder of its own for
    temporary files. Every process under it carries a mark in its environment."""

    def __init__(self, arguments: list[str]) -> None:
        self._mark = uuid.uuid4().hex
        folder = self._folder = Path(tempfile.mkdtemp(prefix="headrace-test-"))
        # A server that the demo starts as root is another user's.
        folder.chmod(0o755)
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {
            **os.environ,
            _MARK: self._mark,
            "TMPDIR": str(folder),
            "SPARK_LOCAL_DIRS": str(folder),
            "TERM": "xterm",
        }
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            preexec_fn=lambda: _own_terminal(slave),
        )
        self.begun = time.monotonic()
        os.close(slave)
        self._output = bytearray()

    def read(self, seconds: float) -> str:
        """The text that the terminal shows so far, after `seconds` of reading or the command's
        end."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self._master], [], [], min(left, 0.1))
            if not ready:
                if self.process.poll() is not None:
                    break
                continue
            try:
                chunk = os.read(self._master, 65536)
            except OSError:  # every process has closed the terminal
                break
            if not chunk:
                break
            self._output += chunk
        return self._output.decode(errors="replace")

    def read_until(self, text: str, seconds: float) -> None:
        """Read until the terminal has shown `text`; fails after `seconds`."""
        deadline = time.monotonic() + seconds
        while text not in self.output:
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            self.read(0.2)

    def press_ctrl_c(self) -> None:
        """The terminal sends SIGINT to the command's process group."""
        with contextlib.suppress(OSError):
            os.write(self._master, b"\x03")

    def terminate_group(self) -> None:
        """SIGTERM for every process of the command's group, as `timeout` and shells send it."""
        os.killpg(self.process.pid, signal.SIGTERM)

    def wait(self, seconds: float) -> int:
        """The exit status; what the command says meanwhile is read."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise TimeoutError(self.read(0.1))
            self.read(0.5)
        self.read(0.5)
        return self.process.returncode

    @property
    def output(self) -> str:
        """The text that the terminal showed."""
        return self._output.decode(errors="replace")

    def left_processes(self) -> list[str]:
        """Command lines of processes that carry the mark and live."""
        return [
            " ".join(process.cmdline())
            for process in psutil.process_iter()
            if self._is_marked(process)
        ]

    def left_files(self) -> list[str]:
        """Temporary files and folders that stayed; the user's folder of sockets, states and turns
        may, and a turn's file, whose lock is the turn."""
        user_folder = self._folder / f"headrace-{os.geteuid()}"
        turns = user_folder / "turns"
        permanent_files = {
            user_folder,
            user_folder / "lock",
            user_folder / "status",
            turns,
            *turns.glob("*"),
        }
        patterns = ("*", f"{user_folder.name}/*", f"{user_folder.name}/*/*")
        paths = {path for pattern in patterns for path in self._folder.glob(pattern)}
        left = (path for path in paths if path not in permanent_files)
        return sorted(str(path.relative_to(self._folder)) for path in left)

    def close(self) -> None:
        """End what is left, so that a failed test leaves nothing."""
        for process in psutil.process_iter():
            if self._is_marked(process):
                with contextlib.suppress(psutil.Error):
                    process.kill()
        self.process.wait()
        os.close(self._master)
        shutil.rmtree(self._folder)

    def _is_marked(self, process: psutil.Process) -> bool:
        try:
            zombie = process.status() == psutil.STATUS_ZOMBIE
            return not zombie and process.environ().get(_MARK) == self._mark
        except psutil.Error:
            return False


def _own_terminal(slave: int) -> None:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
