"""The contract of a format, which converts records to pieces, and writes pieces to files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from headrace.sinks.event_log.options import Limits

FASTEST = 1
"""The level of deflate, also in gzip: higher levels take several times the CPU time, and zstd makes
smaller files in less."""


@dataclass(frozen=True)
class Piece:
    """Consecutive records, which are not divided between files. `content` is in the format's own
    form; a file grows by at most `size` bytes. `first` is the sequence of the first record. A file
    has pieces of one `schema` only."""

    content: Any
    rows: int
    size: int
    first: str
    schema: bytes = b""


class LogFile(Protocol):
    """A file that is being written. All methods raise OSError."""

    @property
    def size(self) -> int:
        """The approximate maximum size of the file, in bytes, once it is closed."""
        ...

    @property
    def held(self) -> int:
        """Bytes of pieces that are still in memory."""
        ...

    def append(self, piece: Piece) -> None:
        """Append records."""
        ...

    def flush(self) -> None:
        """Write the pieces in memory."""
        ...

    def close(self) -> None:
        """Write the pieces in memory, and the footer."""
        ...

    def abort(self) -> None:
        """Close a file that will not be read."""
        ...


class FileFormat(Protocol):
    """A file format, one instance per process: it caches compiled schemas and answers of
    registries."""

    extension: str
    """The extension of file names, with the dot."""

    @abstractmethod
    def pieces(self, batch: pa.RecordBatch, commit_us: np.ndarray) -> Iterator[Piece]:
        """Convert records of one topic to pieces. The memory of `batch` may be reused once the
        pieces are taken. `commit_us` are microseconds since 1970-01-01 UTC, or `rows.NULL`. Raises
        HeadraceError."""

    @abstractmethod
    def open(self, path: Path, schema: bytes) -> LogFile:
        """Create a file for pieces of this schema. Raises OSError."""

    @abstractmethod
    def schema_of(self, path: Path) -> bytes:
        """The schema of a file; files of equal schemas can be merged. Raises OSError, and
        ValueError for a file of another format."""

    @abstractmethod
    def merge(self, sources: Sequence[Path], target: Path) -> None:
        """Write the records of files of one schema to a new one, in their order. Raises OSError."""


def cut(ends: np.ndarray, limits: Limits) -> Iterator[tuple[int, int]]:
    """Divide records into pieces: yields first and last (exclusive) of each. `ends` (int64) are the
    ends of the records, in bytes."""
    first, begin = 0, 0
    while first < len(ends):
        last = int(np.searchsorted(ends, begin + limits.piece_bytes, side="right"))
        last = min(max(last, first + 1), first + limits.piece_rows)
        yield first, last
        first, begin = last, int(ends[last - 1])


def sequence_of(batch: pa.RecordBatch, row: int) -> str:
    """The sequence of a record."""
    return str(batch.column("sequence")[row])


def compress(content: Any, codec: str) -> Any:
    """Compress the content of a buffer to one frame; frames can be concatenated."""
    if codec == "none":
        return content
    level = FASTEST if codec == "gzip" else None
    return pa.Codec(codec, compression_level=level).compress(content, asbytes=True)
