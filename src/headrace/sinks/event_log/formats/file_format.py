"""The contract of a format: records become pieces, and pieces become files."""

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
"""The level of deflate, in gzip too: higher ones take several times the CPU time, and zstd makes
smaller files in less."""


@dataclass(frozen=True)
class Piece:
    """Records that a file takes whole. `content` is in the form of the format; a file grows by at
    most `size` bytes. `first` is the sequence of the first record. A file has pieces of one
    `schema` only."""

    content: Any
    rows: int
    size: int
    first: str
    schema: bytes = b""


class LogFile(Protocol):
    """A file that is written. All methods raise OSError."""

    @property
    def size(self) -> int:
        """The most bytes that the file has once it is closed, about."""
        ...

    @property
    def held(self) -> int:
        """Bytes of pieces that are in memory."""
        ...

    def append(self, piece: Piece) -> None:
        """Add records."""
        ...

    def flush(self) -> None:
        """Write what is held."""
        ...

    def close(self) -> None:
        """Write what is held, and the footer."""
        ...

    def abort(self) -> None:
        """Close a file that nobody will read."""
        ...


class FileFormat(Protocol):
    """One serves one process: it keeps what it has compiled and was answered."""

    extension: str
    """Of the names of its files, with the dot."""

    @abstractmethod
    def pieces(self, batch: pa.RecordBatch, commit_us: np.ndarray) -> Iterator[Piece]:
        """Records of one topic. The memory of `batch` may be used for others when the pieces were
        taken. `commit_us` are microseconds since 1970-01-01 UTC, or `rows.NULL`. Raises
        HeadraceError."""

    @abstractmethod
    def open(self, path: Path, schema: bytes) -> LogFile:
        """A new file for pieces of this schema. Raises OSError."""

    @abstractmethod
    def schema_of(self, path: Path) -> bytes:
        """Files of equal schemas can be merged. Raises OSError, and ValueError for a file that is
        not of the format."""

    @abstractmethod
    def merge(self, sources: Sequence[Path], target: Path) -> None:
        """Write the records of files of one schema to a new one, in their order. Raises OSError."""


def cut(ends: np.ndarray, limits: Limits) -> Iterator[tuple[int, int]]:
    """Records cut into pieces: first and last (exclusive) of each. `ends` (int64) is where each
    record ends, in bytes."""
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
    """The content of a buffer as one frame; frames can follow one another."""
    if codec == "none":
        return content
    level = FASTEST if codec == "gzip" else None
    return pa.Codec(codec, compression_level=level).compress(content, asbytes=True)
