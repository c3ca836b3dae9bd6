"""The input of a replica for a micro-batch, and its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.lake import (
    BATCH,
    BOUNDARY,
    POSITION,
    QUERY,
    RUN,
    TIME,
    TableSchema,
)


def files_of(query: str) -> str:
    """Return the prefix of the names of data files that a query's micro-batches write."""
    return f"headrace-{query[:8]}-"


@dataclass(frozen=True)
class MicroBatch:
    """A micro-batch of a query: its number, the query's id, the position after it (JSON), whether
    this is between transactions, and the id of the query's present run (empty: not known)."""

    query: str
    number: int
    position: str
    is_boundary: bool = False
    run: str = ""

    @property
    def name(self) -> str:
        """The prefix of the names of its files, in all runs."""
        return f"{files_of(self.query)}{self.number}"

    def attempt_name(self, attempt: int) -> str:
        """Return the prefix of the names of files that an attempt of this run writes."""
        return "-".join(filter(None, (self.name, self.run[:8], str(attempt))))

    @property
    def before(self) -> MicroBatch:
        """A separate commit to apply before the changes of this one."""
        return replace(self, number=self.number - 1, is_boundary=False)

    @property
    def upkeep_name(self) -> str:
        """The prefix of the names of files that the upkeep after it writes."""
        return f"{self.name}-upkeep-"

    def is_of_query(self, name: str) -> bool:
        """Return whether its query wrote a data file of that name."""
        return files_of(self.query) in name

    @property
    def properties(self) -> dict[str, str]:
        """The properties of a table after this micro-batch."""
        return {
            QUERY: self.query,
            **({RUN: self.run} if self.run else {}),
            BATCH: str(self.number),
            POSITION: self.position,
            TIME: datetime.now(UTC).isoformat(timespec="milliseconds"),
            BOUNDARY: "true" if self.is_boundary else "false",
        }


@dataclass(frozen=True)
class Work:
    """A micro-batch's changes of one table: parts, whose files are in `folder`, the newest schema,
    the prefix of the names of files to write, and `is_copied` and `may_empty` as in
    `Replica.apply`."""

    parts: Sequence[Part]
    folder: Path
    schema: TableSchema
    name: str
    is_copied: bool
    may_empty: bool


@dataclass(frozen=True)
class Outcome:
    """The result of a micro-batch for a table: changes received, rows written and deleted, bytes
    and files written, and the time of the database of the last change (ms; 0: unknown).
    `is_repeated`: the table had the micro-batch already."""

    changes: int = 0
    written: int = 0
    deleted: int = 0
    bytes: int = 0
    files: int = 0
    source_ms: int = 0
    is_repeated: bool = False

    def after(self, earlier: Outcome) -> Outcome:
        """Return the outcome with the changes of an earlier one added."""
        return replace(self, changes=earlier.changes + self.changes)


@dataclass
class Figures:
    """The figures of a run for a table, and of its last commit: live data files, how many of them
    have a deletion vector, and the delay of the last change from its time in the database to its
    commit (ms; None: unknown)."""

    changes: int = 0
    written: int = 0
    deleted: int = 0
    bytes: int = 0
    commits: int = 0
    last_commit: str | None = None
    delay_ms: int | None = None
    files: int = 0
    vectors: int = 0
    error: str | None = None

    def add(self, outcome: Outcome) -> None:
        """Count a micro-batch that was just committed."""
        if outcome.is_repeated:
            return
        now = datetime.now(UTC)
        self.changes += outcome.changes
        self.written += outcome.written
        self.deleted += outcome.deleted
        self.bytes += outcome.bytes
        self.commits += 1
        self.last_commit = now.isoformat(timespec="milliseconds")
        self.error = None
        if outcome.source_ms:
            self.delay_ms = max(0, int(now.timestamp() * 1000) - outcome.source_ms)
