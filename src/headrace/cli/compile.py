"""Compile the kernels of connectors ahead of time, for a container's image.

Otherwise the first start of an installation compiles the kernels of its query. With the name of a
connector, all kernels that its queries may need are compiled, with transforms. With the names of a
converter and a sink, too, only the kernels of queries with these are compiled, without transforms.
"""

from __future__ import annotations

import argparse
import subprocess
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.cli.messages import Messages
from headrace.cli.stopping import STOP
from headrace.spark.kernels import process

if TYPE_CHECKING:
    from headrace.spark.kernels.needed import Kernels

COMPILING = "compiling kernels"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "name",
        nargs="*",
        metavar="CONNECTOR",
        help="a connector, or a converter or sink that its queries use (with a converter, "
        "transforms are left out); default: all kernels",
    )


def run(arguments: argparse.Namespace) -> int:
    """Compile the kernels, and print how many they were. Raises HeadraceError."""
    from headrace.spark.kernels.compiled import folder, missing_kernels
    from headrace.spark.kernels.needed import kernels_by_name

    messages = Messages()
    STOP.listen()
    kernels = kernels_by_name(arguments.name)
    compilation = start_compiling(kernels, messages)
    if compilation is not None:
        try:
            while not compilation.is_over(0.1):
                STOP.check()
        except BaseException:
            compilation.kill()
            raise
        compilation.require_success()
    messages.end()
    # The log has the reason for each of another package's kernels that does not compile.
    count = sum(map(len, kernels.values())) - len(missing_kernels(kernels))
    outcome = "were compiled already" if compilation is None else "are compiled"
    messages.info(f"{count} kernels {outcome}, in {folder()}")
    return 0


class Compilation:
    """A process that compiles. Its progress is a phase of `messages` until it ends.

    The compiler has a process of its own, which does not get a terminal's Ctrl-C: a thread that
    compiles cannot be ended, and a process that ends while a thread compiles crashes.
    """

    def __init__(self, command: Sequence[str], messages: Messages) -> None:
        """`command` is the command line of Python."""
        self._messages = messages
        self._process = process.start(command)
        self._reader = threading.Thread(target=self._read, name="headrace compiling", daemon=True)
        self._reader.start()

    def is_over(self, seconds: float) -> bool:
        """Return whether it ends within so many seconds; then its progress is not reported any
        more."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self._reader.join()
        return True

    def require_success(self) -> None:
        """Raise HeadraceError("kernels.not_compiled") if it failed; called after its end."""
        process.require_success(self._process)

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        for compiled, total in process.read_progress(self._process):
            self._messages.phase(
                COMPILING, f"{compiled} of {total}", {"kernels": compiled, "kernels_total": total}
            )


def start_compiling(kernels: Kernels, messages: Messages) -> Compilation | None:
    """Compile the kernels that are not compiled yet, in the background, and report that."""
    from headrace.spark.kernels.compiled import missing_kernels

    missing = missing_kernels(kernels)
    if not missing:
        return None
    messages.phase(COMPILING, f"0 of {len(missing)}, once per installation")
    return Compilation(process.command(missing), messages)
