"""The common steps of every demo: existing rows, live changes, a comparison with the database."""

from __future__ import annotations

import argparse
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from headrace.cli.messages import Messages
from headrace.cli.pipeline import Pipeline, Session, open_session
from headrace.cli.stopping import STOP
from headrace.connect.deadline import Deadline
from headrace.connectors.definition import DemoDatabase

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.spark.supervisor import Summary

Row = Mapping[str, Any]
_FIRST_ROWS_S = 300.0
_MAX_SHOWN = 20


class Demonstration(ABC):
    """A demonstration on a running server."""

    catch_up_s = 60.0
    """Seconds that changes may take to arrive."""

    def __init__(
        self, database: DemoDatabase, folder: Path, console: Console, arguments: argparse.Namespace
    ) -> None:
        self._database = database
        self._folder = folder
        self._console = console
        self._arguments = arguments
        self._shop = database.workload
        self._end = threading.Event()
        self._done = threading.Event()
        self._is_early = False
        self._differences: list[str] = ["the comparison did not take place"]
        self._messages = Messages()
        self._pipeline = self._configured()

    @abstractmethod
    def _configured(self) -> Pipeline:
        """Return the pipeline to run. Raises HeadraceError."""

    def _kernels(self) -> Mapping[str, Sequence[str]]:
        """Return the kernels of the sink."""
        return {}

    def _settings(self) -> Mapping[str, str]:
        """Return the settings of Spark."""
        return {}

    @abstractmethod
    def _opened(
        self, session: Session
    ) -> AbstractContextManager[tuple[Callable[[], StreamingQuery], Callable[[Any], None]]]:
        """Return a context of a function that starts the query, and one that is called with the
        progress of each micro-batch."""

    @abstractmethod
    def _has_begun(self) -> bool:
        """Return whether the first rows have arrived."""

    @abstractmethod
    def _compare(self) -> list[str]:
        """Return the present differences from the database."""

    @abstractmethod
    def _said(self, summary: Summary) -> Sequence[str]:
        """Return a line for each result, with its correctness; if the comparison failed, only the
        first is shown."""

    def _closing(self) -> Sequence[str]:
        """Return suggestions of what to do next, whatever the result."""
        return ()

    def run(self) -> int:
        """Run the demonstration; return the exit status."""
        from headrace.spark.supervisor import Supervisor

        session = open_session(
            "demo",
            self._messages,
            kernels=self._pipeline.kernels(self._kernels()),
            master=None,
            idle_exit=None,
            debug=self._arguments.debug,
            user_settings=self._settings(),
        )
        try:
            self._messages.phase("starting the query")
            self._messages.end()  # a demo has its own live line
            with self._opened(session) as (start, progressed):
                supervisor = Supervisor(
                    session.spark,
                    start,
                    self._pipeline.limits(idle_exit=None, seconds=None),
                    on_progress=progressed,
                    on_signal=self._end.set,
                    on_stop=session.jvm.mute,
                    on_repeat=session.jvm.terminate,
                )
                if STOP.requested:
                    self._end.set()
                director = threading.Thread(target=self._direct, args=(supervisor.stop,))
                director.start()
                try:
                    summary = supervisor.run()
                finally:
                    self._end.set()
                    self._done.set()
                    director.join()
        finally:
            session.close()
        return self._report(summary)

    def _direct(self, stop: Callable[[], None]) -> None:
        """Run the snapshot, the live part and the comparison; then let the query stop. Ctrl-C
        before the first event leaves nothing to compare."""
        try:
            deadline = Deadline(_FIRST_ROWS_S)
            while not self._has_begun() and not deadline.is_over:
                if self._end.wait(0.1):
                    self._is_early = True
                    return
            self._shop.start()
            self._end.wait(self._arguments.seconds)
            self._shop.stop()
            deadline = Deadline(self.catch_up_s)
            while True:
                self._differences = self._compare()
                if not self._differences or deadline.is_over or self._done.wait(0.3):
                    break
        finally:
            self._shop.stop()
            stop()

    def _report(self, summary: Summary) -> int:
        self._console.print()
        if self._is_early:
            self._console.print("stopped before the first event")
            return STOP.status
        headline, *lines_if_right = self._said(summary)
        self._console.print(headline)
        if self._shop.failure is not None:
            self._differences.append(f"the workload failed: {self._shop.failure}")
        if self._differences:
            for difference in self._differences[:_MAX_SHOWN]:
                self._console.print(f"  {difference}", style="red", markup=False)
            self._console.print("self-check failed", style="bold red")
            return 1
        for line in lines_if_right:
            self._console.print(line, markup=False, soft_wrap=True)
        self._console.print("self-check passed", style="bold green")
        for line in self._closing():
            self._console.print(line, markup=False, soft_wrap=True)
        self._console.print("your own database: headrace check FILE, with Debezium's properties")
        return 0


def row_differences(
    table: str,
    shown_rows: Mapping[tuple[Any, ...], Row],
    stored: Mapping[tuple[Any, ...], Row],
    where: str,
    same_value: Callable[[object, object], bool],
) -> list[str]:
    """Return the differences between rows that are shown `where` and those of the database."""
    differences = [f"{table} {key}: not in the {where}" for key in stored if key not in shown_rows]
    differences += [
        f"{table} {key}: not in the database" for key in shown_rows if key not in stored
    ]
    for key in shown_rows.keys() & stored.keys():
        copy, row = shown_rows[key], stored[key]
        for name in {**row, **copy}:
            if name not in copy or name not in row:
                only = "database" if name in row else where
                differences.append(f"{table} {key} {name}: only in the {only}")
            elif not same_value(copy[name], row[name]):
                differences.append(
                    f"{table} {key} {name}: {copy[name]!r} in the {where}, {row[name]!r} stored"
                )
    return differences
