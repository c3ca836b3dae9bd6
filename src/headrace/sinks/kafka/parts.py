"""Arrow files of records that tasks pass to the one producer that writes a range whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def write_part(path: Path, batches: Iterable[pa.RecordBatch]) -> int:
    """Write batches in their order; returns the number of records. Leaves no file without batches,
    or if it fails."""
    import pyarrow as pa

    records = 0
    writer = None
    try:
        for batch in batches:
            if batch.num_rows == 0:
                continue
            if writer is None:
                writer = pa.ipc.new_file(str(path), batch.schema)
            writer.write_batch(batch)
            records += batch.num_rows
    except BaseException:
        if writer is not None:
            writer.close()
        path.unlink(missing_ok=True)
        raise
    if writer is not None:
        writer.close()
    return records


def read_parts(paths: Iterable[Path]) -> Iterator[pa.RecordBatch]:
    """The batches of parts, one part after the other. Raises OSError."""
    import pyarrow as pa

    for path in paths:
        with pa.memory_map(str(path)) as file:
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)
