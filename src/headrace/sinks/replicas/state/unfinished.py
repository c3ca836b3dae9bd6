"""Files of tables that are written for a commit: what a killed process leaves, the next one
deletes."""

from __future__ import annotations

import fcntl
import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from headrace.connect.disk import replace_text
from headrace.sinks.replicas.lake import TableName

_FOLDER = "unfinished"
Committing = Callable[[Iterable[str]], None]
"""Notes that the commit begins, and the paths of the files that are deleted after it."""
_OTHER_HOST_S = 86_400
"""The age in seconds of a note of another host, whose locks may not be visible here, from which on
its process counts as ended."""


@dataclass(frozen=True)
class Unfinished:
    """What a process noted: the table, the prefix of the names of the files, whether a commit of
    them was begun, and the paths of the files that it deletes after the commit."""

    namespace: tuple[str, ...]
    table: str
    prefix: str
    host: str
    is_committing: bool = False
    deletes: tuple[str, ...] = ()

    @property
    def name(self) -> TableName:
        """The name of the table."""
        return TableName(self.namespace, self.table)


class UnfinishedFiles:
    """Notes in the sink's state folder, one for each set of files that is being written. The
    process that writes the files locks its note as long as it lives."""

    def __init__(self, state: Path) -> None:
        self._folder = state / _FOLDER

    @contextmanager
    def writing(self, table: TableName, prefix: str) -> Iterator[Committing]:
        """Note, until the context ends, that files whose names begin with `prefix` are written for
        a table. Call the function that it yields before the commit, with the paths of files that
        are deleted after it. The note stays if the context ends with an error after that call, or
        with another exception than an Exception. Without a file system that locks, nothing is
        noted. Raises OSError."""
        note = Unfinished(table.namespace, table.name, prefix, platform.node())
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = self._folder / f"{uuid4()}.lock"
        path = lock.with_suffix(".json")
        with lock.open("w") as locked:
            if not _is_locked(locked):
                lock.unlink(missing_ok=True)
                yield not_noted
                return
            is_committing = False

            def committing(deletes: Iterable[str]) -> None:
                nonlocal is_committing
                is_committing = True
                _write(path, replace(note, is_committing=True, deletes=tuple(deletes)))

            _write(path, note)
            try:
                yield committing
            except Exception:
                if is_committing:  # it is not known whether the commit was made
                    raise
                path.unlink(missing_ok=True)
                lock.unlink(missing_ok=True)
                raise
            path.unlink(missing_ok=True)
            lock.unlink(missing_ok=True)

    def left(
        self, is_wanted: Callable[[Unfinished], bool], *, is_alone: bool = False
    ) -> Iterator[Unfinished]:
        """Yield the wanted ones of what ended processes noted; a note is deleted after the consumer
        has used it. `is_alone`: no other process, of any host, writes files for these tables.
        Raises OSError."""
        for lock in sorted(self._folder.glob("*.lock")):
            path = lock.with_suffix(".json")
            try:
                locked = lock.open("r+")
            except FileNotFoundError:
                continue
            with locked:
                if not _is_locked(locked):
                    continue
                note = _read(path)
                if note is not None:
                    is_over = is_alone or _is_over(note, path)
                    if not (is_over and is_wanted(note)):
                        continue
                    yield note
                path.unlink(missing_ok=True)
                lock.unlink(missing_ok=True)


def not_noted(_: Iterable[str]) -> None:
    """See Committing: nothing is noted."""


def _is_locked(file: IO[Any]) -> bool:
    """Lock a file if no other process has locked it; return whether it is locked here."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_over(note: Unfinished, path: Path) -> bool:
    return note.host == platform.node() or path.stat().st_mtime < time.time() - _OTHER_HOST_S


def _write(path: Path, note: Unfinished) -> None:
    replace_text(path, json.dumps(asdict(note)))


def _read(path: Path) -> Unfinished | None:
    """Return a note; None: the process was killed before it wrote it, and before it wrote files."""
    try:
        members = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    tuples = {name: tuple(members[name]) for name in ("namespace", "deletes")}
    return Unfinished(**members | tuples)
