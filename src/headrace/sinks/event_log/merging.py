"""Merges small files of finished folders while readers read and the query adds files.

A folder with the merged files, and links to the other files, is created outside of the log, and
exchanged atomically with the original folder. So a listing shows either the former files or the
merged ones. A process that is killed before or after leaves a folder that readers ignore, and that
the next process deletes.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from headrace.connect.disk import force_to_disk
from headrace.errors import HeadraceError
from headrace.sinks.event_log.exchange import NoExchange, exchange
from headrace.sinks.event_log.failures import writing
from headrace.sinks.event_log.formats.file_format import FileFormat
from headrace.sinks.event_log.log import EventLog
from headrace.sinks.event_log.options import EventLogOptions, Limits
from headrace.sinks.event_log.staged import LogName, file_name


@dataclass(frozen=True)
class Merged:
    """The result for a folder: the number of merged files, and of the files that replace them."""

    folder: str
    files: int
    made: int


@dataclass(frozen=True)
class _File:
    """A file in a folder of the log."""

    path: Path
    sequence: str
    rows: int
    size: int


class Merging:
    """Merges the small files of a log, in the calling process."""

    def __init__(self, log: EventLog, options: EventLogOptions, form: FileFormat) -> None:
        self._log, self._options, self._format = log, options, form

    def merge_finished(self, now_ms: int) -> Merged | None:
        """Merge the files of one folder to which this query added files, if its period is over and
        no file was added for a while; None if there is no such folder, or another process merges.
        Raises HeadraceError("event_log.not_writable") and ("event_log.no_exchange")."""
        after, layout = self._options.compaction.after_ms, self._options.layout
        unfinished = self._log.state().unfinished
        ready = [
            (added_ms, folder)
            for folder, added_ms in unfinished.items()
            if added_ms + after <= now_ms and layout.is_over(folder, now_ms)
        ]
        if not ready:
            return None
        added_ms, folder = min(ready)
        with writing(), self._log.merging_alone(waits=False) as is_alone:
            if not is_alone:
                return None
            self.expire(now_ms)
            merged = self._merge(folder)
        self._log.finished(folder, added_ms)
        return merged

    def merge_all(self, now_ms: int) -> Iterator[Merged]:
        """Merge the files of every folder whose period is over and to which no file was added for a
        while. Raises as `merge_finished`."""
        after = self._options.compaction.after_ms
        with writing(), self._log.merging_alone(waits=True):
            self.expire(now_ms)
            for folder in self._log.folders():
                changed_ms = (self._log.path / folder).stat().st_mtime_ns // 1_000_000
                is_over = self._options.layout.is_over(folder, now_ms)
                if is_over and changed_ms + after <= now_ms:
                    yield self._merge(folder)

    def expire(self, now_ms: int) -> None:
        """Delete replaced files after their retention. Raises OSError."""
        oldest = now_ms - self._options.compaction.keep_ms
        with os.scandir(self._log.replaced) as entries:
            for entry in entries:
                # The removal of a link when the file was replaced changed the inode's ctime.
                if entry.stat().st_ctime_ns // 1_000_000 < oldest:
                    Path(entry.path).unlink(missing_ok=True)

    def _merge(self, folder: str) -> Merged:
        """Merge the files of a folder that are worth merging. Raises OSError, HeadraceError."""
        place = self._log.path / folder
        groups = [
            group
            for run in self._runs(_files(place, self._format.extension))
            for group in _groups(run, self._options.limits)
            if len(group) > 1
        ]
        if not groups:
            return Merged(folder, 0, 0)
        fresh = self._log.merging / secrets.token_hex(8)
        fresh.mkdir()
        try:
            for group in groups:
                rows = sum(file.rows for file in group)
                target = fresh / file_name(group[0].sequence, rows, self._format.extension)
                self._format.merge([file.path for file in group], target)
                if self._options.sync:
                    force_to_disk(target)
            gone = [file.path for group in groups for file in group]
            is_done = self._exchange(place, fresh, gone)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        return Merged(folder, len(gone), len(groups)) if is_done else Merged(folder, 0, 0)

    def _exchange(self, place: Path, fresh: Path, gone: Sequence[Path]) -> bool:
        """Exchange the folders; returns False for a folder with subfolders, which is left
        unchanged."""
        names = {path.name for path in gone}
        for path in gone:
            with contextlib.suppress(FileExistsError):
                (self._log.replaced / path.name).hardlink_to(path)
        with self._log.locked():  # files that were added in between are kept, too
            others = [path for path in place.iterdir() if path.name not in names]
            if any(path.is_dir() for path in others):
                return False
            for path in others:
                (fresh / path.name).hardlink_to(path)
            if self._options.sync:
                force_to_disk(fresh)
            try:
                exchange(place, fresh)
            except NoExchange as error:
                raise HeadraceError(
                    "event_log.no_exchange",
                    f"Two folders of {self._log.path} cannot exchange their names ({error})",
                    "Set headrace.sink.compact=false, or put the log on a local file system of "
                    "Linux, such as ext4 or XFS.",
                ) from error
            if self._options.sync:
                force_to_disk(place.parent)
        return True

    def _runs(self, files: Sequence[_File]) -> Iterator[list[_File]]:
        """Yield runs of consecutive small files of one schema."""
        limits = self._options.limits

        def kind(file: _File) -> bytes | None:
            is_large = 2 * file.size > limits.bytes or 0 < limits.rows < 2 * file.rows
            if is_large:
                return None
            try:
                return self._format.schema_of(file.path)
            except ValueError:
                return None  # a foreign file

        for schema, run in groupby(files, kind):
            if schema is not None:
                yield list(run)


def _files(folder: Path, extension: str) -> list[_File]:
    """The files of a folder in the order of the log, without foreign files."""
    files = []
    for path in folder.iterdir():
        name = LogName.of(path.name, extension)
        if name is not None:
            files.append(_File(path, name.sequence, name.rows, path.stat().st_size))
    return sorted(files, key=lambda file: file.path.name)


def _groups(run: Sequence[_File], limits: Limits) -> Iterator[list[_File]]:
    """Yield groups of files that become one file, in their order."""
    group = list[_File]()
    for file in run:
        size = sum(member.size for member in group) + file.size
        rows = sum(member.rows for member in group) + file.rows
        if group and (size > limits.bytes or 0 < limits.rows < rows):
            yield group
            group = []
        group.append(file)
    if group:
        yield group
