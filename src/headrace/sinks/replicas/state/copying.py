"""Copies of tables that are in progress, as a sink follows them from micro-batch to micro-batch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headrace.errors import HeadraceError
from headrace.sinks.replicas import refusals
from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.outcomes import MicroBatch, Outcome, files_of
from headrace.sinks.replicas.state.resyncing import (
    COMPLETE_RESULTS,
    Resync,
    Stage,
    copies,
    new_epoch,
    requests,
)
from headrace.sinks.replicas.state.stopped import StoppedTable
from headrace.sinks.replicas.state.waiting import WaitingChanges

if TYPE_CHECKING:
    from headrace.sinks.replicas.replica import Replica

log = logging.getLogger(__name__)


class Stop(Protocol):
    """Stops the replication of a table; `loses`: its changes cannot be kept."""

    def __call__(self, stopped: StoppedTable, error: HeadraceError, *, loses: bool) -> None:
        """Stop it."""


@dataclass(frozen=True)
class CopiedTables:
    """The tables of a sink, as far as copies need them: the replica of a name, how a table stops,
    and which errors end the query."""

    replica: Callable[[TableName], Replica]
    stop: Stop
    ends_query: Callable[[HeadraceError], bool]


class TableCopies:
    """The copies of one query. `folder` has the requests, `stopped` the stopped tables."""

    def __init__(
        self, folder: Path, stopped: Path, waiting: WaitingChanges, tables: CopiedTables
    ) -> None:
        self._folder, self._stopped, self._waiting = folder, stopped, waiting
        self._tables = tables
        self._copying: dict[TableName, Resync] = {}
        self._ended: dict[TableName, list[str]] = {}

    def names(self) -> set[TableName]:
        """Return the tables that are being copied."""
        return {copy.name for copy in copies(self._folder)}

    def __contains__(self, name: object) -> bool:
        """Whether a table is copied in this micro-batch."""
        return name in self._copying

    def request_epoch(
        self,
        before: Mapping[str, Any],
        offset: Mapping[str, Any],
        sources: Mapping[TableName, Iterable[str]],
        is_read: Callable[[str], bool],
    ) -> None:
        """Look for a new epoch, which begins if the log was lost. Then request a copy of each table
        that the snapshot reads again, and stop the others: deletes in between are unknown."""
        epoch = new_epoch(before, offset)
        if not epoch:
            return
        begun = {copy.name for copy in copies(self._folder) if copy.epoch == epoch}
        for name, tables in sources.items():
            stopped = StoppedTable(self._stopped, name)
            if name not in begun and all(map(is_read, tables)):
                Resync(self._folder, name, "", tables=(*tables,), epoch=epoch).write()
            elif name not in begun and not (stopped.is_stopped and stopped.is_lost):
                self._tables.stop(stopped, refusals.not_read_again(name), loses=True)

    def begin(self, offset: Mapping[str, Any]) -> None:
        """Begin the requested copies whose rows this micro-batch is the first to have: record the
        data files of their tables. Note which copies are in progress, and which end with this
        micro-batch. `offset` is the end of its range."""
        self._copying, self._ended = {}, {}
        for request in requests(self._folder):
            ended = request.ended(offset)
            if request.is_in(offset) or (ended and COMPLETE_RESULTS.issuperset(ended)):
                self._begin(request)
            elif ended:
                log.warning("%s; the table stays as it is", refusals.no_copy(request.name, ended))
                request.finish()
        for copy in copies(self._folder):
            stopped = StoppedTable(self._stopped, copy.name)
            if copy.stage is Stage.BEGUN:
                stopped.resume()
                self._waiting.forget(copy.name)
                copy = copy.copying()
            elif stopped.is_stopped:  # by a start, or the query was killed while the table stopped
                self.end(stopped, stopped.error)
                copy.finish()
                continue
            if ended := copy.ended(offset):
                self._ended[copy.name] = ended
            elif not copy.is_in(offset):
                # Offsets of an earlier version of headrace do not say how the copy ended.
                self._ended[copy.name] = ["UNKNOWN"]
            self._copying[copy.name] = copy

    def _begin(self, request: Resync) -> None:
        log.warning("A new copy of the table %s begins", request.name)
        try:
            request.begin(self._tables.replica(request.name).files())
        except HeadraceError as error:
            if self._tables.ends_query(error):
                raise
            stopped = StoppedTable(self._stopped, request.name)
            loses = stopped.is_stopped and stopped.is_lost
            self._tables.stop(stopped, error, loses=loses)
            request.finish()

    def apply_to(
        self, name: TableName, replica: Replica, batch: MicroBatch, parts: Sequence[Part], at: Path
    ) -> Callable[[], Outcome] | None:
        """Return the function that applies changes to a table that is copied; None: it is not.
        `at` has the files of the parts."""
        copy = self._copying.get(name)
        if copy is None:
            return None
        return partial(
            replica.apply,
            batch,
            parts,
            at,
            is_copied=True,
            may_empty=copy.is_empty(batch.number),
            count_left_out=partial(copy.count, batch.number),
        )

    def end(self, stopped: StoppedTable, error: HeadraceError) -> None:
        """Stop a table whose copy cannot continue, if it is not stopped. Its changes are left out:
        another copy has them."""
        if not (stopped.is_stopped and stopped.is_lost):
            failed = refusals.copy_failed(stopped.name, error)
            self._tables.stop(stopped, failed, loses=True)
        if (copy := self._copying.get(stopped.name)) is not None:
            copy.finish()

    def finish(self, query: str) -> None:
        """Remove the former files of each table whose copy is complete. Stop tables whose copies
        ended incomplete."""
        for copy in copies(self._folder):
            if (ended := self._ended.get(copy.name)) is None:
                continue
            stopped = StoppedTable(self._stopped, copy.name)
            try:
                self._remove_former(copy, ended, files_of(query))
                log.warning("The new copy of the table %s is complete", copy.name)
            except HeadraceError as error:
                if error.code == refusals.COPY_INCOMPLETE:
                    self._tables.stop(stopped, error, loses=True)
                elif self._tables.ends_query(error):
                    raise
                else:
                    self.end(stopped, error)
            copy.finish()

    def _remove_former(self, copy: Resync, ended: Sequence[str], own_names: str) -> None:
        if not COMPLETE_RESULTS.issuperset(ended):
            raise refusals.copy_ended(copy.name, ended)
        if lost := copy.lost + copy.lost_in_batch:
            raise refusals.copy_lacks(copy.name, lost)
        self._tables.replica(copy.name).remove(set(copy.files), own_names)
