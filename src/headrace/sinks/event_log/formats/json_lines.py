"""Files of JSON lines, in the form of the `file` sink."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.sinks.event_log.formats.byte_files import ByteFile
from headrace.sinks.event_log.formats.file_format import (
    FileFormat,
    LogFile,
    Piece,
    compress,
    cut,
    sequence_of,
)
from headrace.sinks.event_log.options import Limits

if TYPE_CHECKING:
    from headrace.sinks.lines import LineWriter

_SUFFIXES = {"none": "", "gzip": ".gz", "zstd": ".zst"}
_CHUNK = 4 << 20


class JsonLines(FileFormat):
    """Files of JSON lines. `texts` are those of key, value and header that are plain texts, not
    JSON."""

    def __init__(self, compression: str, limits: Limits, texts: Collection[str] = ()) -> None:
        self.extension = f".jsonl{_SUFFIXES[compression]}"
        self._compression, self._limits, self._texts = compression, limits, texts

    @cached_property
    def _lines(self) -> LineWriter:
        # Only tasks load the compiled pass; merging does not need it.
        from headrace.sinks.lines import LineWriter

        return LineWriter(with_ends=True, texts=self._texts)

    def pieces(self, batch: pa.RecordBatch, commit_us: np.ndarray) -> Iterator[Piece]:  # noqa: ARG002
        """See FileFormat. Raises HeadraceError("file.not_json")."""
        lines = self._lines.render(batch)
        ends, begin = self._lines.ends, 0
        for first, last in cut(ends, self._limits):
            end = int(ends[last - 1])
            content = compress(lines[begin:end], self._compression)
            yield Piece(content, last - first, len(content), sequence_of(batch, first))
            begin = end

    def open(self, path: Path, schema: bytes) -> LogFile:  # noqa: ARG002
        """See FileFormat."""
        return ByteFile(path)

    def schema_of(self, path: Path) -> bytes:  # noqa: ARG002
        """See FileFormat: lines have no schema."""
        return b""

    def merge(self, sources: Sequence[Path], target: Path) -> None:
        """See FileFormat."""
        if self._compression == "none":
            with target.open("xb") as merged:
                for source in sources:
                    with source.open("rb") as lines:
                        shutil.copyfileobj(lines, merged, _CHUNK)
            return
        file = ByteFile(target)
        try:
            waiting = b""
            for source in sources:
                with pa.CompressedInputStream(pa.OSFile(str(source)), self._compression) as lines:
                    while chunk := lines.read(_CHUNK - len(waiting)):
                        waiting += chunk
                        if len(waiting) == _CHUNK:
                            file.write(compress(waiting, self._compression))
                            waiting = b""
            if waiting:
                file.write(compress(waiting, self._compression))
        finally:
            file.close()
