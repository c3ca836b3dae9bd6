"""The output file and its state: parts are appended whole and exactly once.

The state has the number of bytes of finished micro-batches, and is replaced atomically after the
bytes are on disk. Bytes after that length come from a commit that did not finish: the next commit
truncates them, so that `kill -9` at any instant leaves nothing to repair by hand (Invariant 7).

Spark does not force its log to the disk. If the log loses its last entry, the same micro-batch is
planned again and may have other records; the state has the start of the last micro-batch, and the
new records replace the old ones.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from headrace.connect.disk import force_to_disk, replace_text
from headrace.errors import HeadraceError
from headrace.findings import counted
from headrace.sinks.file.parts import FilePart, not_writable
from headrace.sinks.file.spares import drop_spares, keep_spares
from headrace.sinks.file.tail import Tail
from headrace.sinks.ownership import exclusive_lock
from headrace.sinks.parts import sweep_parts

_LOG = logging.getLogger(__name__)
_VERSION = 1


class Content(NamedTuple):
    """Identifies the records of one micro-batch: two with the same content have the same
    records."""

    first: str
    last: str
    rows: int

    @classmethod
    def of(cls, parts: Sequence[FilePart]) -> Content:
        """The content of parts that have rows."""
        first = min((part.first for part in parts), default=b"")
        last = max((part.last for part in parts), default=b"")
        return cls(first.decode(), last.decode(), sum(part.rows for part in parts))


class State(NamedTuple):
    """The state of an output. `batch` is the last micro-batch in it (-1: none) of the query
    `query`. It begins at the byte `start` (-1: unknown, from an earlier release)."""

    batch: int
    length: int
    rows: int
    query: str
    start: int = -1
    content: Content = Content("", "", 0)


_NOTHING = State(-1, 0, 0, "", 0)


class Output:
    """An output file with its state folder. Every method may run in a new process.

    Without `sync` a commit does not wait for the disk: safe against the death of any process, but
    not of the machine.
    """

    def __init__(self, path: str | Path, folder: str | Path, *, sync: bool = True) -> None:
        self.sync = sync
        self.path = Path(path)
        self.folder = Path(folder)
        self.parts = self.folder / "parts"

    def open(self) -> State:
        """Create the folders and a first state; delete parts that will not be committed.

        To be called before the query starts. Raises HeadraceError("file.output_exists"),
        ("file.no_regular_file"), ("file.output_shortened"), ("file.other_output"),
        ("file.bad_state"), ("file.not_writable").
        """
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked():
                state = self._check()
                surplus = self.path.stat().st_size - state.length
            if surplus:
                _LOG.warning(
                    "%s has %s after the last complete micro-batch: a killed run or another "
                    "program wrote them; the next micro-batch replaces them",
                    self.path,
                    counted(surplus, "byte"),
                )
            for stale in self.parts.iterdir():
                stale.unlink(missing_ok=True)
        except OSError as error:
            raise not_writable(error) from error
        return state

    def rows(self) -> int:
        """The number of events in the output, from its state."""
        return (self._read() or _NOTHING).rows

    def commit(
        self, parts: Sequence[FilePart], batch: int, query: str, *, keep_files: bool = False
    ) -> None:
        """Append a micro-batch in total order, unless the output has it. The last micro-batch is
        replaced if it is repeated with other records. With `keep_files` the files of its parts
        become spare files, until `close`.

        Raises HeadraceError("file.other_checkpoint") if the output was written with another
        checkpoint or a later state of this one, ("file.overlapping_slices") if parts without index
        overlap, and errors of `open`.
        """
        try:
            # A process left over from a killed driver may still be committing.
            with self._locked():
                self._commit([part for part in parts if part.rows], batch, query)
            keep_spares(self.parts, [part.name for part in parts if part.rows and keep_files])
            self.sweep(batch)
        except OSError as error:
            raise not_writable(error) from error

    def sweep(self, batch: int) -> None:
        """Delete the parts of micro-batches up to `batch`, also of failed attempts."""
        sweep_parts(self.parts, batch)

    def close(self) -> None:
        """Delete spare files. To be called when the query has ended."""
        if self.parts.exists():
            drop_spares(self.parts)

    def _commit(self, parts: list[FilePart], batch: int, query: str) -> None:
        state = self._check()
        is_other = state.batch >= 0 and query != state.query and bool(query or parts)
        if batch < state.batch or is_other:
            raise HeadraceError(
                "file.other_checkpoint",
                f"{self.path} already holds micro-batches up to {state.batch} of "
                f"{'this' if query == state.query else 'another'} query, and micro-batch {batch} "
                "comes from another or an older checkpoint",
                "Use the checkpoint that belongs to this output, or start with a new output, "
                "state folder and checkpoint together.",
            )
        if batch == state.batch and query == state.query:
            state = self._without_last(state, Content.of(parts))
        if not parts or (batch == state.batch and state.length > state.start):
            if self.path.stat().st_size > state.length:
                os.truncate(self.path, state.length)  # from a commit that did not finish
            return
        added = sum(part.length for part in parts)
        with Tail(self.path, state.length, added, sync=self.sync) as tail:
            ordered = sorted(parts, key=lambda part: part.first)
            if _is_total_order(ordered):
                for part in ordered:
                    _append(tail, self.parts / part.name, part.length)
            elif all(part.indexed for part in ordered):
                from headrace.sinks.file.merge import merge

                merge(tail, ordered, self.parts)
            else:
                raise HeadraceError(
                    "file.overlapping_slices",
                    f"The slices of micro-batch {batch} overlap and cannot be joined in order",
                    "Set headrace.slice.order=position at the source, or the sink's option "
                    "slices=any.",
                )
            length = tail.finish()
        content = Content.of(parts)
        self._write(State(batch, length, state.rows + content.rows, query, state.length, content))

    def _without_last(self, state: State, content: Content) -> State:
        """Remove the last micro-batch if its content differs from `content`; returns the state."""
        if content == state.content or state.start in (-1, state.length):
            return state
        rows = state.rows - state.content.rows
        before = State(state.batch, state.start, rows, state.query, state.start)
        # The state goes first: an output that is longer than its state is truncated, a shorter one
        # is refused.
        self._write(before)
        os.truncate(self.path, before.length)
        return before

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Lock the open output against other processes while the context is open: with another
        state folder they would truncate this query's records. Raises
        HeadraceError("file.output_in_use")."""
        in_use = HeadraceError(
            "file.output_in_use",
            f"Another process writes {self.path}",
            "Stop it first, or name another output and state folder.",
        )
        with self.path.open("rb") as output, exclusive_lock(output, in_use):
            yield

    def look(self) -> None:
        """Refuse another query's file; creates nothing. Raises HeadraceError("file.output_exists"),
        ("file.no_regular_file"), ("file.bad_state"), ("file.other_output")."""
        self._require_file()
        if self._read() is None and self.path.exists() and self.path.stat().st_size > 0:
            raise HeadraceError(
                "file.output_exists",
                f"{self.path} exists and is not empty, and {self.folder} has no record of it",
                "Name a new output file, or the state folder that belongs to this one.",
            )

    def _require_file(self) -> None:
        if self.path.exists() and not self.path.is_file():
            raise HeadraceError(
                "file.no_regular_file",
                f"{self.path} is not a regular file, and the file sink needs one: after a failure "
                f"it truncates the file and writes the end again",
                "Name a file; --output - writes to the standard output.",
            )

    def _check(self) -> State:
        """The state, created at first use; refuses an output that does not fit it."""
        self._require_file()
        state = self._read()
        length = self.path.stat().st_size if self.path.exists() else -1
        if state is None:
            self.look()
            state = _NOTHING
            self._write(state)
        if max(length, 0) < state.length:
            raise HeadraceError(
                "file.output_shortened",
                f"{self.path} has {max(length, 0)} bytes, but {state.length} were written",
                "Restore the file, or start with a new output, state folder and checkpoint.",
            )
        if length < 0:
            self.path.touch()
            force_to_disk(self.path.parent)
        return state

    def _read(self) -> State | None:
        try:
            text = (self.folder / "state.json").read_text()
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            members = json.loads(text)
            self._require_known(int(members["v"]))
            state = State(
                int(members["batchId"]),
                int(members["length"]),
                int(members["rows"]),
                members["query"],
                int(members.get("start", -1)),
                Content(*members.get("content", ("", "", 0))),
            )
            output = Path(members["output"])
        except (ValueError, KeyError, TypeError) as error:
            raise HeadraceError(
                "file.bad_state",
                f"{self.folder / 'state.json'} is not a valid state of the file sink",
                "Name the state folder that belongs to the output.",
            ) from error
        if output.name != self.path.name:
            raise HeadraceError(
                "file.other_output",
                f"The state folder {self.folder} belongs to {output.name}, not {self.path.name}",
                "Give each output its own state folder.",
            )
        return state

    def _require_known(self, version: int) -> None:
        if version > _VERSION:
            raise HeadraceError(
                "file.newer_state",
                f"{self.folder / 'state.json'} has version {version}; this release knows "
                f"{_VERSION}",
                "Use the newer release of headrace.",
            )

    def _write(self, state: State) -> None:
        document = {
            "v": _VERSION,
            "batchId": state.batch,
            "length": state.length,
            "rows": state.rows,
            "query": state.query,
            "start": state.start,
            "content": state.content,
            "output": str(self.path.absolute()),
        }
        replace_text(self.folder / "state.json", json.dumps(document) + "\n")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.folder / "lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _is_total_order(parts: Sequence[FilePart]) -> bool:
    """Whether concatenating the parts, ordered by first sequence, gives total order."""
    return all(part.sorted for part in parts) and all(
        left.last < right.first for left, right in pairwise(parts)
    )


def _append(tail: Tail, path: Path, length: int) -> None:
    """Append a part. Reading into one warm buffer is faster than sendfile and copy_file_range
    here."""
    with path.open("rb", buffering=0) as part:
        left = length
        while left:
            count = part.readinto(tail.room()[:left])
            if not count:
                raise OSError(f"part {path.name} is shorter than it was")
            tail.add(count)
            left -= count
