"""Staged files: files that tasks wrote for a micro-batch, before readers see them."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headrace.connect.disk import force_to_disk
from headrace.sinks.event_log.failures import writing
from headrace.sinks.event_log.formats.file_format import FileFormat, LogFile, Piece
from headrace.sinks.event_log.layout import Layout
from headrace.sinks.event_log.options import Limits

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

COLUMNS = "name string, target string, events bigint, length bigint"
_MAX_OPEN = 64
_MAX_HELD = 64 << 20
"""The maximum bytes that the files of a task hold in memory."""


class StagedFile(NamedTuple):
    """A file in the folder of staged files, its path in the log, its records and its length in
    bytes."""

    name: str
    target: str
    rows: int
    length: int


def file_name(sequence: str, rows: int, extension: str) -> str:
    """The name of a file in its folder: names sort in the order of the log, and are never
    reused."""
    return f"{sequence}-{rows}-{secrets.token_hex(4)}{extension}"


class LogName(NamedTuple):
    """The parsed name of a file in the log: the sequence of its first record, and the number of its
    records."""

    sequence: str
    rows: int

    @classmethod
    def of(cls, name: str, extension: str) -> LogName | None:
        """Parse a name; None for a foreign file."""
        parts = name.removesuffix(extension).split("-")
        if not name.endswith(extension) or len(parts) != 3 or not parts[1].isdecimal():
            return None
        return cls(parts[0], int(parts[1]))


class StagedFiles:
    """Writes the records of one task as staged files whose names begin with `name`."""

    def __init__(
        self,
        folder: Path,
        name: str,
        form: FileFormat,
        layout: Layout,
        limits: Limits,
        *,
        sync: bool,
    ) -> None:
        # Names are never reused: the state lists by name the files that are still to be moved.
        self._folder, self._name = folder, f"{name}-{secrets.token_hex(8)}"
        self._format, self._layout, self._limits, self._sync = form, layout, limits, sync
        self._open: dict[tuple[str, bytes], _Open] = {}
        self._made: list[StagedFile] = []
        self._count = 0

    def write(
        self, batches: Iterator[tuple[pa.RecordBatch, np.ndarray]], now_us: int
    ) -> list[StagedFile]:
        """Write batches with their commit times (`rows.NULL`: `now_us`, microseconds since
        1970-01-01 UTC, determines the folder). Leaves no file if it fails. Raises
        HeadraceError("event_log.not_writable"), and errors of the format."""
        try:
            for batch, commit_us in batches:
                if batch.num_rows:
                    for folder, part, times in self._layout.split(batch, commit_us, now_us):
                        self._add(folder, part, times)
            for key in list(self._open):
                self._close(key)
        except BaseException:
            self._abort()
            raise
        return self._made

    def _add(self, folder: str, batch: pa.RecordBatch, commit_us: np.ndarray) -> None:
        for piece in self._format.pieces(batch, commit_us):
            with writing():
                self._append((folder, piece.schema), piece)

    def _append(self, key: tuple[str, bytes], piece: Piece) -> None:
        opened = self._open.pop(key, None)
        if opened is not None and not opened.takes(piece, self._limits):
            self._open[key] = opened
            self._close(key)
            opened = None
        if opened is None:
            if len(self._open) >= _MAX_OPEN:
                self._close(next(iter(self._open)))
            name = f"{self._name}-{self._count}"
            self._count += 1
            target = f"{key[0]}/{piece.first}"
            opened = _Open(name, target, self._format.open(self._folder / name, piece.schema))
        self._open[key] = opened  # most recently used
        opened.file.append(piece)
        opened.rows += piece.rows
        self._bound_memory()

    def _bound_memory(self) -> None:
        held_bytes = sum(staged.file.held for staged in self._open.values())
        if held_bytes > _MAX_HELD:
            max(self._open.values(), key=lambda staged: staged.file.held).file.flush()

    def _close(self, key: tuple[str, bytes]) -> None:
        opened = self._open.pop(key)
        path = self._folder / opened.name
        folder, _, sequence = opened.target.rpartition("/")
        with writing():
            opened.file.close()
            if self._sync:
                force_to_disk(path)
            target = f"{folder}/{file_name(sequence, opened.rows, self._format.extension)}"
            length = path.stat().st_size
        self._made.append(StagedFile(opened.name, target, opened.rows, length))

    def _abort(self) -> None:
        for opened in self._open.values():
            with contextlib.suppress(OSError):
                opened.file.abort()
        for number in range(self._count):
            (self._folder / f"{self._name}-{number}").unlink(missing_ok=True)


class _Open:
    def __init__(self, name: str, target: str, file: LogFile) -> None:
        self.name, self.target, self.file, self.rows = name, target, file, 0

    def takes(self, piece: Piece, limits: Limits) -> bool:
        """Whether the file has room for these records, too."""
        fits = self.file.size + piece.size <= limits.bytes
        return fits and (not limits.rows or self.rows + piece.rows <= limits.rows)


def as_batch(files: list[StagedFile]) -> pa.RecordBatch:
    """Files as a batch with COLUMNS."""
    import pyarrow as pa

    names, targets, rows, lengths = zip(*files, strict=True)
    return pa.RecordBatch.from_pydict(
        {
            "name": pa.array(names, pa.string()),
            "target": pa.array(targets, pa.string()),
            "events": pa.array(rows, pa.int64()),
            "length": pa.array(lengths, pa.int64()),
        }
    )


def of_table(table: pa.Table) -> list[StagedFile]:
    """The files in rows with COLUMNS."""
    return [StagedFile(*row.values()) for row in table.to_pylist()]
