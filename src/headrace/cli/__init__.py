"""The `headrace` command: one module per verb."""

from __future__ import annotations

import argparse
import os
import signal as system_signals  # `signal` is a verb's module here
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from headrace.cli.messages import LogFormat, Messages, MessagesHandler
from headrace.cli.stopping import SIGNALS, STOP
from headrace.errors import HeadraceError
from headrace.sinks.closed import CLOSED
from headrace.version import VERSION

_VERBS = {
    verb: f"headrace.cli.{verb.replace('-', '_')}"
    for verb in (
        "run",
        "events",
        "check",
        "signal",
        "transform",
        "describe",
        "support-bundle",
        "compile",
        "demo",
        "status",
    )
} | {verb: f"headrace.cli.upkeep.{verb}" for verb in ("resync", "maintain", "verify")}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. Exit status: 0 done, 1 an error (message and remedy), 2 wrong usage."""
    began = time.monotonic()
    try:
        if threading.current_thread() is threading.main_thread():
            # `headrace_command` left SIGINT to the system while the modules were loaded.
            for number in SIGNALS:
                system_signals.signal(number, STOP.interrupt)
        words = sys.argv[1:] if arguments is None else list(arguments)
        parser = _parser(words[0] if words else "")
        if not words:
            parser.print_help()
            return 0
        chosen = parser.parse_args(words)
        chosen.began = began
        chosen.written = None  # the error that the verb has already written
        return _run(chosen)
    except KeyboardInterrupt:
        return STOP.status
    except RuntimeError as error:
        # Python 3.11 wraps an exception that interrupts `__set_name__` while a class is imported.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        return STOP.status
    finally:
        MessagesHandler.close_all()


def _run(chosen: argparse.Namespace) -> int:
    try:
        return int(chosen.run(chosen))
    except HeadraceError as error:
        if error.code == CLOSED:
            return 0
        if chosen.debug:
            traceback.print_exc()
        MessagesHandler.close_all()  # removes the live line before the error is written
        if chosen.written is not error:
            Messages(log_format=getattr(chosen, "log_format", LogFormat.TEXT)).failure(error)
        return 1
    except BrokenPipeError:
        # `headrace … | head`: the reader has closed the pipe, so the rest of the buffer is
        # discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser(first: str) -> argparse.ArgumentParser:
    """Return the parser of all verbs, those of connectors last; if `first` is a verb, of that verb
    only, so that no other module is loaded."""
    parser = argparse.ArgumentParser(
        prog="headrace",
        description="Change data capture with Debezium's configuration and events, on Spark.",
    )
    parser.add_argument("--version", action="version", version=f"headrace {VERSION}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    chosen = {first: _VERBS[first]} if first in _VERBS else _VERBS
    if first == "--version":
        chosen = {}
    modules = {verb: import_module(name) for verb, name in chosen.items()}
    if first not in (*_VERBS, "--version"):
        modules |= _connectors_verbs()
    for verb, module in modules.items():
        summary = (module.__doc__ or "").partition("\n")[0]
        sub = verbs.add_parser(verb, help=summary.replace("%", "%%"), description=summary)
        sub.add_argument("--debug", action="store_true", help="show stack traces and Spark's log")
        module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    return parser


def _connectors_verbs() -> dict[str, ModuleType]:
    """Return the verbs of installed connectors, and their modules. A verb whose module cannot be
    used, or that exists already, is left out with a warning."""
    from headrace.connectors.registry import definitions, warns_of_errors

    modules: dict[str, ModuleType] = {}
    for definition in definitions():
        for verb, name in definition.verbs.items():
            with warns_of_errors(f"The verb {verb}", definition):
                if verb in _VERBS or verb in modules:
                    raise ValueError("there is a verb of that name")
                module = import_module(name)
                if not callable(module.run):
                    raise TypeError(f"{name}.run is not a function")
                module.add_arguments(argparse.ArgumentParser())
                modules[verb] = module
    return modules


if __name__ == "__main__":
    sys.exit(main())
