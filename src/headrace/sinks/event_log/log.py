"""An event log: a folder of immutable files, to which micro-batches are added exactly once.

Tasks stage files in a folder that readers ignore. The state that names them is replaced atomically
after they are on the disk: then the micro-batch is in the log. The files are renamed to their paths
afterwards, each atomically. A process that opens the log or commits to it first moves the files
that a killed process left, so that `kill -9` at any instant leaves nothing to repair by hand.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headrace.connect.disk import force_to_disk, replace_text
from headrace.errors import HeadraceError
from headrace.sinks.event_log.failures import writing
from headrace.sinks.event_log.staged import StagedFile
from headrace.sinks.event_log.state import State, read_state, write_state
from headrace.sinks.ownership import exclusive_lock
from headrace.sinks.parts import sweep_parts

OWN_FOLDER = "_headrace"
"""The folder within the log's that readers ignore."""


class EventLog:
    """A log at `path`, with the folder of its query's state. Every method may run in a new process.

    Without `sync` a commit does not wait for the disk: safe against the death of any process, but
    not of the machine.
    """

    def __init__(self, path: str | Path, folder: str | Path, *, sync: bool = True) -> None:
        self.path, self.folder, self.sync = Path(path), Path(folder), sync
        self.own_folder = self.path / OWN_FOLDER
        self.staged, self.replaced = self.own_folder / "staged", self.own_folder / "replaced"
        self.merging = self.own_folder / "merging"
        self._identity = self.own_folder / "log"

    def open(self) -> State:
        """Create the folders and a first state, complete the commit of a killed run, and delete
        staged files that will not be committed. To be called before the query starts. Raises as
        `look`, and HeadraceError("event_log.not_writable")."""
        with writing():
            self.look()
            self.folder.mkdir(parents=True, exist_ok=True)
            for folder in (self.staged, self.replaced, self.merging):
                folder.mkdir(parents=True, exist_ok=True)
            with self.locked():
                state = self._state()
                self._move(state.files)
                for stale in self.staged.iterdir():
                    stale.unlink(missing_ok=True)
        return state

    def look(self) -> None:
        """Refuse another query's log; creates nothing. Raises HeadraceError: "event_log.exists",
        "event_log.missing", "event_log.other_log", "event_log.no_folder", "event_log.bad_state",
        "event_log.newer_state"."""
        state, identity = read_state(self.folder), self._read_identity()
        if self.path.exists() and not self.path.is_dir():
            raise HeadraceError(
                "event_log.no_folder",
                f"{self.path} is a file, and an event log is a folder",
                "Name a folder; headrace creates it if it does not exist.",
            )
        if state is None and identity is not None:
            raise HeadraceError(
                "event_log.exists",
                f"{self.path} has the log of another query: {self.folder} has no record of it",
                "Name a new folder, or the state folder that belongs to this log.",
            )
        if state is not None and identity is None and state.batch >= 0:
            raise HeadraceError(
                "event_log.missing",
                f"{self.path} is not there, or has lost its folder {OWN_FOLDER}, but "
                f"{state.rows} events were written to it",
                "Restore the folder, or start with a new log, state folder and checkpoint.",
            )
        if state is not None and identity is not None and identity != state.log:
            raise HeadraceError(
                "event_log.other_log",
                f"The state folder {self.folder} belongs to another log than {self.path}",
                "Give each log its own state folder and checkpoint.",
            )

    def require_begun(self) -> None:
        """Refuse a log that no query has opened. Raises HeadraceError("event_log.not_begun"), and
        as `look`."""
        self.look()
        if read_state(self.folder) is None:
            raise HeadraceError(
                "event_log.not_begun",
                f"No query has written to the log {self.path} with the state folder {self.folder}",
                "Name the checkpoint of the query that writes the log.",
            )

    def state(self) -> State:
        """The state of an opened log. Raises HeadraceError."""
        with writing():
            return self._state()

    def commit(self, files: Sequence[StagedFile], batch: int, query: str) -> None:
        """Add a micro-batch, unless the log has it. Raises
        HeadraceError("event_log.other_checkpoint") if the log was written with another checkpoint
        or a later state of this one, ("event_log.file_lost") if a staged file is missing or has
        another length, and errors of `open`."""
        files = [file for file in files if file.rows]
        with writing():
            # A process left over from a killed driver may still be committing.
            with self.locked():
                self._commit(files, batch, query)
            sweep_parts(self.staged, batch)

    def _commit(self, files: Sequence[StagedFile], batch: int, query: str) -> None:
        state = self._state()
        self._move(state.files)
        is_other = state.batch >= 0 and query != state.query and bool(query or files)
        if batch < state.batch or is_other:
            raise HeadraceError(
                "event_log.other_checkpoint",
                f"{self.path} already holds micro-batches up to {state.batch} of "
                f"{'this' if query == state.query else 'another'} query, and micro-batch {batch} "
                "comes from another or an older checkpoint",
                "Use the checkpoint that belongs to this log, or start with a new log, state "
                "folder and checkpoint together.",
            )
        if batch == state.batch or not files:
            return
        self._require(files)
        now_ms = time.time_ns() // 1_000_000
        folders = {file.target.rpartition("/")[0]: now_ms for file in files}
        if self.sync:
            force_to_disk(self.staged)
        committed = State(
            state.log,
            batch,
            query,
            state.rows + sum(file.rows for file in files),
            state.length + sum(file.length for file in files),
            tuple(files),
            {**state.unfinished, **folders},
        )
        write_state(self.folder, committed)
        self._move(files)

    def _require(self, files: Iterable[StagedFile]) -> None:
        for file in files:
            path = self.staged / file.name
            if not path.exists() or path.stat().st_size != file.length:
                raise HeadraceError(
                    "event_log.file_lost",
                    f"The staged file {path} is gone, or its length has changed",
                    "Leave the folder to headrace; the micro-batch is written again.",
                    retriable=True,
                )

    def _move(self, files: Iterable[StagedFile]) -> None:
        """Move staged files to their paths; missing ones were moved before."""
        changed: set[Path] = set()
        for file in files:
            source, target = self.staged / file.name, self.path / file.target
            if not source.exists():
                continue
            missing = [parent for parent in target.parents if not parent.exists()]
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)
            changed |= {target.parent, *(parent.parent for parent in missing)}
        if self.sync:
            for folder in sorted(changed):
                force_to_disk(folder)

    def finished(self, folder: str, added_ms: int) -> None:
        """Note that the files of a folder were merged, unless one was added after `added_ms`."""
        with writing(), self.locked():
            state = self._state()
            if state.unfinished.get(folder) == added_ms:
                left = {name: at for name, at in state.unfinished.items() if name != folder}
                write_state(self.folder, state._replace(unfinished=left))

    def folders(self) -> Iterator[str]:
        """The folders of the log that have files, ordered by name, relative to the log's."""
        for folder, inner, files in os.walk(self.path):
            inner[:] = sorted(name for name in inner if name != OWN_FOLDER)
            if files and folder != str(self.path):
                yield str(Path(folder).relative_to(self.path))

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Lock the open log against other queries while the context is open. Raises
        HeadraceError("event_log.in_use")."""
        in_use = HeadraceError(
            "event_log.in_use",
            f"Another process writes the log {self.path}",
            "Stop it first, or name another log and state folder.",
        )
        with (self.own_folder / "owner").open("ab") as owner, exclusive_lock(owner, in_use):
            yield

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the log against adding, moving and exchanging files. Raises OSError."""
        with (self.own_folder / "lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def merging_alone(self, *, waits: bool) -> Iterator[bool]:
        """Whether no other process merges files; locks merging, and deletes what a killed process
        left. With `waits`, waits for the lock. Raises OSError."""
        with (self.own_folder / "merging.lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            for stale in self.merging.iterdir():
                shutil.rmtree(stale)
            yield True

    def _state(self) -> State:
        """The state, created at first use; refuses a log that does not fit it."""
        self.look()
        state = read_state(self.folder)
        if state is None:
            state = State(log=secrets.token_hex(8))
            write_state(self.folder, state)
        if self._read_identity() is None:
            # After the state: a process that is killed in between starts over.
            replace_text(self._identity, state.log + "\n")
        return state

    def _read_identity(self) -> str | None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return self._identity.read_text().strip()
        return None
