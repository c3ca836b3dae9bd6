"""Files whose pieces are consecutive bytes."""

from __future__ import annotations

import os
from pathlib import Path

from headrace.sinks.event_log.formats.file_format import LogFile, Piece
from headrace.sinks.parts import write_all


class ByteFile(LogFile):
    """A new file, which begins with `head`. Raises OSError."""

    def __init__(self, path: Path, head: bytes = b"") -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._size = 0
        self.write(head)

    @property
    def size(self) -> int:
        """See LogFile."""
        return self._size

    @property
    def held(self) -> int:
        """See LogFile: always 0."""
        return 0

    def append(self, piece: Piece) -> None:
        """See LogFile."""
        self.write(piece.content)

    def write(self, content: bytes | memoryview) -> None:
        """Append bytes."""
        write_all(self._file, memoryview(content))
        self._size += len(content)

    def flush(self) -> None:
        """See LogFile."""

    def close(self) -> None:
        """See LogFile."""
        os.close(self._file)

    def abort(self) -> None:
        """See LogFile."""
        os.close(self._file)
