"""Changes that wait beside their tables, until they can be applied together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.lake import NAME_NOT_TAKEN, TableName
from headrace.sinks.replicas.outcomes import MicroBatch, Outcome
from headrace.sinks.replicas.state.kept import WaitingTable, sweep_forgotten, waiting_tables

if TYPE_CHECKING:
    from headrace.sinks.replicas.replica import Replica
    from headrace.sinks.replicas.state.stopped import StoppedTable

log = logging.getLogger(__name__)
STAGED_TOO_MUCH = "replicas.staged_too_much"


@dataclass(frozen=True)
class WaitingRules:
    """The reasons for which changes of a micro-batch wait. `is_settled`: the log is as new as the
    rows of snapshots. `is_inside`: the micro-batch ends inside of a transaction, and tables take
    whole transactions. `is_staged`: a first copy is read that readers see when it is complete. At
    most `kept_bytes` wait for each table."""

    is_settled: bool = True
    is_inside: bool = False
    is_staged: bool = False
    kept_bytes: int = 0


class WaitingChanges:
    """The waiting changes of all tables of a sink: those of staged first copies, and those that
    wait for the log to reach the rows of a snapshot, or for the end of their transaction."""

    def __init__(self, state: Path, parts: Path) -> None:
        """Set the folders of the sink's state and of the parts of micro-batches."""
        self._waiting, self._staged, self._parts = state / "waiting", state / "staged", parts
        self._rules = WaitingRules()

    def begin(self, rules: WaitingRules) -> None:
        """Begin a micro-batch. Raises OSError."""
        self._rules = rules
        for folder in (self._staged, self._waiting):
            sweep_forgotten(folder)

    def ready(self) -> Iterator[TableName]:
        """Yield the tables whose changes need not wait any more, even if the micro-batch has no
        changes of them."""
        if self._rules.is_staged:
            return
        folders = [self._staged]
        if self._rules.is_settled and not self._rules.is_inside:
            folders.append(self._waiting)
        for folder in folders:
            for table in waiting_tables(folder):
                yield table.name

    def names(self) -> set[TableName]:
        """Return the tables with waiting changes."""
        return {
            table.name
            for folder in (self._staged, self._waiting)
            for table in waiting_tables(folder)
        }

    def apply(
        self,
        replica: Replica,
        batch: MicroBatch,
        parts: Sequence[Part],
        copy: Callable[[], Outcome] | None = None,
    ) -> Outcome:
        """Apply a micro-batch's changes of a table together with those that waited, or let them
        wait. `copy` applies them to a table that is being copied again. Raises HeadraceError."""
        staged, waiting = self._tables(replica.name)
        rules, last = self._rules, _last_batch(replica, batch)
        if copy is None and last is not None and last >= batch.number:
            self.forget(replica.name)  # killed after the commit: it contains what waited
            return Outcome(is_repeated=True)
        lacks = not rules.is_settled and any(part.has_untold for part in parts)
        is_held = rules.is_inside and copy is None
        is_in_order = not (waiting.is_waiting or lacks or is_held) and copy is None
        before = Outcome()
        if staged.is_waiting and not rules.is_staged:
            # If in order, they are one commit with the copy. Otherwise the copy is committed first.
            if is_in_order:
                staged.keep(batch.number, batch.position, parts, self._parts)
            of_copy = batch if is_in_order else batch.before
            before = replica.apply(of_copy, staged.parts(), staged.folder)
            staged.forget()
            if is_in_order:
                return before
        if not waiting.is_waiting:
            if copy is not None:
                return copy()
            if not lacks and rules.is_staged and last is None:
                return self._wait(staged, batch, parts)
            if not lacks and not is_held:
                return replica.apply(batch, parts, self._parts)
            if not parts:
                return before
            waiting.begin()
        self._wait(waiting, batch, parts)
        has_room = waiting.size <= rules.kept_bytes
        if staged.is_waiting or ((not rules.is_settled or is_held) and has_room):
            return before
        if is_held:
            log.warning(
                "A transaction has more changes of %s than headrace.sink.kept.max.bytes=%d: they "
                "are committed in several pieces, and readers see a part of the transaction until "
                "its end",
                replica.name,
                rules.kept_bytes,
            )
        outcome = replica.apply(batch, waiting.parts(), waiting.folder)
        waiting.forget()
        return outcome.after(before)

    def keep_in(self, stopped: StoppedTable) -> set[int]:
        """Keep a stopped table's waiting changes; returns the numbers of their micro-batches."""
        numbers = set()
        for waiting in filter(lambda changes: changes.is_waiting, self._tables(stopped.name)):
            if not stopped.is_lost:
                for number, position, waited in waiting.kept():
                    stopped.keep(number, position, waited, waiting.folder)
                    numbers.add(number)
            waiting.forget()
        return numbers

    def forget(self, name: TableName) -> None:
        """Delete a table's waiting changes."""
        for waiting in self._tables(name):
            waiting.forget()

    def _wait(self, waiting: WaitingTable, batch: MicroBatch, parts: Sequence[Part]) -> Outcome:
        """Keep the changes. Raises HeadraceError if a staged first copy exceeds the limit."""
        size, most = waiting.size_with(batch.number, parts), self._rules.kept_bytes
        if self._rules.is_staged and size > most:
            raise HeadraceError(
                STAGED_TOO_MUCH,
                f"The rows of {waiting.name} that are kept until its first copy is whole would "
                f"take {size} bytes",
                "Set headrace.sink.kept.max.bytes to more than now "
                f"({most}), or headrace.sink.first.copy=visible, and start "
                "again: the copy continues.",
            )
        if not waiting.is_waiting:
            waiting.begin()
        waiting.keep(batch.number, batch.position, parts, self._parts)
        return Outcome()

    def _tables(self, name: TableName) -> tuple[WaitingTable, WaitingTable]:
        """Return a table's staged changes, and those that wait for the log."""
        return WaitingTable(self._staged, name), WaitingTable(self._waiting, name)


def _last_batch(replica: Replica, batch: MicroBatch) -> int | None:
    """Return the number of the query's last micro-batch in a table; None: it has none, or cannot
    exist. Raises HeadraceError."""
    try:
        return replica.last_batch(batch.query)
    except HeadraceError as error:
        if error.code != NAME_NOT_TAKEN:
            raise
        return None
