"""Files of tables that are written for a commit: what a killed process leaves, the next one
deletes."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import CONFLICT, TableName

log = logging.getLogger(__name__)
Committing = Callable[[Iterable[str]], None]
"""Records that a commit is about to begin. The argument is the paths of the files to delete after
it."""
_FOLDER, _LOCK = "unfinished", "maintenance.lock"
_OTHER_HOST_S = 86_400
"""The age in seconds of a note of another host, whose locks may not be visible here, from which on
its process counts as ended."""


@dataclass(frozen=True)
class Unfinished:
    """The note of a process: the table, the prefix of the names of the files, whether a commit of
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
        self._state, self._folder = state, state / _FOLDER

    @contextmanager
    def maintenance(self, *, is_alone: bool) -> Iterator[None]:
        """Let no maintenance that is alone run beside this one while the context is open, or, if
        this one `is_alone`, no other. Raises HeadraceError("replicas.maintained"), OSError."""
        with (self._state / _LOCK).open("w") as file:
            kind = fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH
            try:
                fcntl.flock(file, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                raise HeadraceError(
                    "replicas.maintained",
                    f"Another headrace maintain uses the tables of {self._state}; an erasure of a "
                    "key must be alone",
                    "Run the command again when the other one has ended.",
                ) from None
            except OSError as error:
                log.debug("%s cannot be locked: %s", file.name, error)
            yield

    @contextmanager
    def writing(self, table: TableName, prefix: str) -> Iterator[Committing]:
        """Note, until the context ends without an exception, that files whose names begin with
        `prefix` are written for a table. Call the function that it yields before the commit: it
        raises HeadraceError("replicas.conflict") if another process has taken this one as ended.
        Without a file system that locks, nothing is noted. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{uuid4()}.jsonl"
        with path.open("x") as file:
            if not _lock(file):
                path.unlink(missing_ok=True)
                yield not_noted
                return

            def committing(deletes: Iterable[str]) -> None:
                if not _is_still(file, path):
                    raise _deleted(table, prefix)
                _append(file, {"is_committing": True, "deletes": [*deletes]})

            note = Unfinished(table.namespace, table.name, prefix, platform.node())
            _append(file, asdict(note))
            if not _is_still(file, path):  # another process has locked the empty note before
                raise _deleted(table, prefix)
            yield committing
            path.unlink(missing_ok=True)

    def finish(
        self,
        is_wanted: Callable[[Unfinished], bool],
        finish: Callable[[Unfinished], None],
        *,
        is_alone: bool = False,
    ) -> None:
        """Call `finish` with the notes of processes that have ended and that `is_wanted` accepts,
        and delete them. A note stays, with a warning in the log, if `finish` raises HeadraceError
        or OSError. `is_alone`: no other process, of any host, writes files for these tables. Raises
        OSError."""
        for path in sorted(self._folder.glob("*.jsonl")):
            try:
                file = path.open("r+")
            except FileNotFoundError:
                continue
            with file:
                if not _lock(file):
                    continue
                note = _read(file)
                if note is not None:
                    if not (is_wanted(note) and (is_alone or _is_over(note, path))):
                        continue
                    try:
                        finish(note)
                    except (HeadraceError, OSError) as error:
                        log.warning(
                            "%s: files whose names begin with %s, which a process that was killed "
                            "has left, stay: %s",
                            note.name,
                            note.prefix,
                            error,
                        )
                        continue
                path.unlink(missing_ok=True)


def not_noted(_: Iterable[str]) -> None:
    """See Committing: nothing is noted."""


def _lock(file: IO[Any]) -> bool:
    """Lock a file if no other process has locked it; return whether this one has."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_still(file: IO[Any], path: Path) -> bool:
    """Return whether an open file has its name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _is_over(note: Unfinished, path: Path) -> bool:
    return note.host == platform.node() or path.stat().st_mtime < time.time() - _OTHER_HOST_S


def _append(file: IO[str], members: dict[str, Any]) -> None:
    file.write(json.dumps(members) + "\n")
    file.flush()
    os.fsync(file.fileno())


def _read(file: IO[str]) -> Unfinished | None:
    """Return a note; None: the process was killed before it noted anything, or wrote a file."""
    first, _, rest = file.read().partition("\n")
    try:
        members = json.loads(first)
    except ValueError:
        return None
    note = Unfinished(**members | {n: tuple(members[n]) for n in ("namespace", "deletes")})
    if not rest:
        return note
    try:
        deletes = tuple(json.loads(rest)["deletes"])
    except ValueError:  # it was killed while it wrote this line
        deletes = ()
    return replace(note, is_committing=True, deletes=deletes)


def _deleted(table: TableName, prefix: str) -> HeadraceError:
    return HeadraceError(
        CONFLICT,
        f"{table}: another process took this one as ended and has deleted its files, whose names "
        f"begin with {prefix}",
        "Run the command again.",
    )
