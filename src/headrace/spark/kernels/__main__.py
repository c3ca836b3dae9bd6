"""`python -m headrace.spark.kernels NAME …`: compiles kernels, and prints the costs.

Names are those of connectors, converters and sinks; with connectors alone all converters and sinks
are compiled. It prints CPU seconds (including those of child processes), the number of compiled
kernels, and the number of files of compiled kernels. The exit status is 1 if nothing had to be
compiled.
"""

from __future__ import annotations

import argparse
import os
import sys
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from headrace.errors import HeadraceError
from headrace.spark.kernels.compiled import folder
from headrace.spark.kernels.compiler import compile_kernels, die_with_parent
from headrace.spark.kernels.needed import Kernels, all_kernels, kernels_by_name
from headrace.spark.kernels.process import ANOTHER_COMPILES


def _cpu_seconds() -> float:
    used = (getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def print_progress(compiled: int, total: int) -> None:
    """Print a line of two numbers for the process that started this one; end this process if its
    reader is gone."""
    _print_line(f"{compiled} {total}")


def _print_wait() -> None:
    """Print a line that says that this process waits for another one."""
    _print_line(ANOTHER_COMPILES)


def _print_line(text: str) -> None:
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(1)


def _read(listed: list[str]) -> Kernels:
    kernels: dict[str, list[str]] = {}
    for text in listed:
        module, _, name = text.partition(":")
        kernels.setdefault(module, []).append(name)
    return kernels


def main(arguments: list[str]) -> int:
    """Compile kernels; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m headrace.spark.kernels", description="Compile kernels."
    )
    parser.add_argument("name", nargs="*", help="a connector, converter or sink")
    parser.add_argument("--all", action="store_true", help="all kernels, as without a name")
    parser.add_argument("--progress", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    os.umask(os.umask(0o022) | 0o022)  # kernels that others could write are not used
    if options.progress:
        die_with_parent()
        compile_kernels(_read(options.name), print_progress, _print_wait)
        return 0
    try:
        kernels = (
            kernels_by_name(options.name) if options.name and not options.all else all_kernels()
        )
    except HeadraceError as error:
        parser.error(str(error))
    compiled = compile_kernels(kernels)
    files = sum(1 for _ in folder().rglob("*.nbc"))
    sys.stdout.write(
        f"{_cpu_seconds():.1f} CPU-s, {compiled} kernels compiled, {files} files in {folder()}\n"
    )
    return 0 if compiled else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
