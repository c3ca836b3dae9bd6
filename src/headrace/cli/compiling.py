"""The compilation of the kernels at the first start of an installation, and how far it is."""

from __future__ import annotations

import subprocess
import sys
import threading

from headrace.cli.messages import Messages

_ALL = "compiling kernels, once per installation (about four minutes of CPU time)"


# What the compiler does first: it dies with the thread that started it. It would see only after the
# kernel that it compiles that nobody waits any more.
_DIES_WITH_ITS_PARENT = """
import ctypes, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
"""


class Compilation:
    """A process that compiles. Its progress is a phase of `messages` until it is over.

    The compiler has a process of its own, and so no part in a terminal's Ctrl-C: a thread that
    compiles cannot be ended, and a process that ends under it crashes.
    """

    def __init__(self, command: str, messages: Messages, phase: str = _ALL) -> None:
        self._messages, self._phase = messages, phase
        self._process = subprocess.Popen(
            [sys.executable, "-c", _DIES_WITH_ITS_PARENT + command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name="headrace compiling", daemon=True)
        self._reader.start()

    def is_over(self, seconds: float) -> bool:
        """Whether it ends within so many seconds; its progress is not reported any more then."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self._reader.join()
        return True

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                numbers = line.split()
                if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
                    continue  # what an imported module prints
                done, total = map(int, numbers)
                self._messages.phase(
                    self._phase,
                    f"{done} of {total} kernels",
                    {"kernels": done, "kernels_total": total},
                )


def compile_kernels(messages: Messages) -> Compilation | None:
    """Compiles the kernels in the background, and says so, where none are compiled yet."""
    from headrace.spark import kernels

    if kernels.kernels_are_compiled():
        return None
    missing, total = kernels.missing_kernels()
    phase = _ALL if missing == total else f"compiling the kernels that are missing ({missing})"
    messages.phase(phase)
    return Compilation(kernels.COMPILE, messages, phase)
