"""Parts: files that tasks write for a micro-batch, in the folder of parts, and as rows of a
stream."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import HeadraceError
from headrace.sinks.file.spares import take_spare
from headrace.sinks.parts import write_all

if TYPE_CHECKING:
    from pyarrow import RecordBatch

COLUMNS = (
    "name string, events bigint, length bigint, first string, last string, sorted boolean, "
    "indexed boolean"
)


class FilePart(NamedTuple):
    """A part that one task wrote, by its name in the folder of parts. `first` and `last` are
    sequences.

    `sorted`: its lines are in total order; `indexed`: it has an index file with the sequences and
    ends of its lines.
    """

    name: str
    rows: int
    length: int
    first: bytes
    last: bytes
    sorted: bool
    indexed: bool


def write_part(
    folder: Path,
    name: str,
    batches: Iterator[RecordBatch],
    *,
    indexed: bool,
    texts: Collection[str] = (),
) -> FilePart:
    """Write one part, in the order given; leaves no file if it fails. `texts` are those of key,
    value and header that are plain texts, not JSON. Raises HeadraceError("file.not_writable")."""
    # Only tasks load the compiled pass; the committing process does not need it.
    from headrace.sinks.lines import LineWriter

    lines = LineWriter(with_ends=indexed, texts=texts)
    paths = [folder / name, folder / f"{name}.index"][: 2 if indexed else 1]
    index = IndexWriter()
    rows = length = 0
    try:
        with contextlib.ExitStack() as opened:
            files: list[int] = []
            for batch in batches:
                content = lines.render(batch)
                if not content:
                    continue
                with _writing():
                    if not files:
                        files = [_create(path, opened, of_lines=path == paths[0]) for path in paths]
                    write_all(files[0], content)
                if indexed:
                    index.add(batch.column("sequence"), lines.ends + length)
                rows += batch.num_rows
                length += len(content)
            with _writing():
                if files:
                    os.ftruncate(files[0], length)
                if indexed and files:
                    write_all(files[1], memoryview(index.content()))
                opened.close()
    except BaseException:
        for path in paths:
            path.unlink(missing_ok=True)
        raise
    return FilePart(name, rows, length, lines.first or b"", lines.last, lines.sorted, indexed)


def _create(path: Path, opened: contextlib.ExitStack, *, of_lines: bool) -> int:
    """Create a file that only this process writes: a process that has a file of this name open
    keeps writing into the unlinked one. For `of_lines`, it may be a spare file, which may be longer
    than what is written."""
    path.unlink(missing_ok=True)
    is_spare = of_lines and take_spare(path)
    fresh = 0 if is_spare else os.O_CREAT | os.O_EXCL
    file = os.open(path, os.O_WRONLY | fresh, 0o644)
    opened.callback(os.close, file)
    return file


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    """Translate an OSError of writing, but not of the batches' source."""
    try:
        yield
    except OSError as error:
        raise not_writable(error) from error


def not_writable(error: OSError) -> HeadraceError:
    """The retriable error of an output or a state folder that cannot be written."""
    return HeadraceError(
        "file.not_writable",
        f"The file sink cannot write {error.filename or 'its output'} ({error.strerror or error})",
        "Check the free space and the permissions of the output and its state folder.",
        retriable=True,
    )


def as_row(part: FilePart) -> RecordBatch:
    """A part as a batch of one row with COLUMNS."""
    import pyarrow as pa

    values = part._replace(first=part.first.decode(), last=part.last.decode())  # type: ignore[arg-type]
    names = [column.split()[0] for column in COLUMNS.split(", ")]
    return pa.RecordBatch.from_pylist([dict(zip(names, values, strict=True))], schema=_schema())


def of_rows(batches: Iterator[RecordBatch]) -> list[FilePart]:
    """The parts in rows with COLUMNS."""
    return [
        FilePart(
            row["name"],
            row["events"],
            row["length"],
            row["first"].encode(),
            row["last"].encode(),
            row["sorted"],
            row["indexed"],
        )
        for batch in batches
        for row in batch.to_pylist()
    ]


def _schema() -> Any:
    import pyarrow as pa

    text, number, flag = pa.string(), pa.int64(), pa.bool_()
    kinds = {"string": text, "bigint": number, "boolean": flag}
    return pa.schema([(c.split()[0], kinds[c.split()[1]]) for c in COLUMNS.split(", ")])


class IndexWriter:
    """Collects the index of a part: line ends, then sequences of one width."""

    def __init__(self) -> None:
        self._ends: list[bytes] = []
        self._sequences: list[bytes] = []
        self._width = 0

    def add(self, sequences: Any, ends: Any) -> None:
        """Add a batch's sequences (an Arrow string array) and line ends (int64, from the start)."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        extremes = pc.min_max(pc.binary_length(sequences)).as_py()
        width = self._width or extremes["max"]
        if extremes["min"] != width or extremes["max"] != width:
            raise HeadraceError(
                "file.sequence_width",
                "The sequences of a micro-batch have different widths",
                "Do not change the column `sequence` of the headrace source.",
            )
        self._width = width
        self._ends.append(ends.tobytes())
        text = sequences.cast(pa.string())
        _, offsets, data = text.buffers()
        start = int(np.frombuffer(offsets, np.int32)[text.offset])
        self._sequences.append(bytes(data)[start : start + width * len(text)])

    def content(self) -> bytes:
        """The content of the index file."""
        return b"".join(self._ends + self._sequences)
