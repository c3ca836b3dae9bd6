"""Parquet data files of both table formats, and the statistics of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.sinks.replicas.files.s3 import answering

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.fs

ROW_GROUP = 131_072
"""Rows of a row group: a scan of keys skips groups by their statistics."""
DICTIONARY_BYTES = 1 << 17
"""The size of the distinct values of a row group above which a column is written without a
dictionary, which would take longer to make, to compress and to read than it saves."""
FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True)
class ColumnStatistics:
    """The statistics of one leaf column of a file: bytes on disk, values (nulls included), nulls
    (None: unknown), and the least and greatest value as Python values (None: unknown or no
    value)."""

    size: int
    values: int
    nulls: int | None
    least: Any = None
    greatest: Any = None


@dataclass(frozen=True)
class WrittenFile:
    """A data file with the statistics of its leaf columns by field id."""

    path: str
    rows: int
    size: int
    columns: Mapping[int, ColumnStatistics]
    split_offsets: tuple[int, ...]


def write_parquet(filesystem: pyarrow.fs.FileSystem, path: str, rows: pa.Table) -> WrittenFile:
    """Write a table whose fields, nested ones too, have FIELD_ID in their metadata. `path` is the
    file system's; its folder is created. No file is left after a failure. Raises OSError."""
    import pyarrow.parquet as pq

    collected: list[Any] = []
    with new_file(filesystem, path) as output:
        with pq.ParquetWriter(
            output,
            rows.schema,
            compression="zstd",
            metadata_collector=collected,
            coerce_timestamps=None,
            write_batch_size=4096,
            dictionary_pagesize_limit=DICTIONARY_BYTES,
        ) as writer:
            writer.write_table(rows, row_group_size=ROW_GROUP)
        size = output.tell()
    metadata = collected[0]
    return WrittenFile(path, rows.num_rows, size, _statistics(metadata), tuple(_offsets(metadata)))


@contextmanager
def new_file(filesystem: pyarrow.fs.FileSystem, path: str) -> Iterator[pa.NativeFile]:
    """Open a new file for writing; its folder is created if the file system has folders. No file is
    left after a failure. Raises OSError, HeadraceError("replicas.storage_failed")."""
    with answering(path):
        if filesystem.type_name != "s3":
            filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        try:
            with filesystem.open_output_stream(path) as output:
                yield output
        except BaseException:
            with suppress(OSError):
                if filesystem.get_file_info(path).is_file:
                    filesystem.delete_file(path)
            raise


def sweep_files(
    filesystem: pyarrow.fs.FileSystem, folder: str, prefix: str, live: Iterable[str] = ()
) -> int:
    """Delete the files of a folder whose names begin with `prefix` and whose paths are not `live`;
    returns their number. Raises OSError, HeadraceError("replicas.storage_failed")."""
    from pyarrow.fs import FileSelector

    live_names = {path.rpartition("/")[2] for path in live}

    with answering(folder):
        swept = [
            file.path
            for file in filesystem.get_file_info(FileSelector(folder, allow_not_found=True))
            if file.is_file
            and file.base_name.startswith(prefix)
            and file.base_name not in live_names
        ]
        for path in swept:
            filesystem.delete_file(path)
    return len(swept)


def _statistics(metadata: Any) -> dict[int, ColumnStatistics]:
    """Return the statistics of leaf columns, by field id."""
    schema = metadata.schema
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    by_field_id: dict[int, ColumnStatistics] = {}
    arrow = leaf_ids(schema.to_arrow_schema())
    for place, field_id in enumerate(arrow):
        if field_id is None:
            continue
        chunks = [group.column(place) for group in groups]
        known = [chunk.statistics for chunk in chunks if chunk.is_stats_set]
        nulls = least = greatest = None
        if len(known) == len(chunks):
            if all(statistics.has_null_count for statistics in known):
                nulls = sum(statistics.null_count for statistics in known)
            if known and all(
                statistics.has_min_max for statistics in known if statistics.num_values
            ):
                ranges = [statistics for statistics in known if statistics.has_min_max]
                if ranges:
                    least, greatest = _bounds(ranges)
        by_field_id[field_id] = ColumnStatistics(
            sum(chunk.total_compressed_size for chunk in chunks),
            sum(chunk.num_values for chunk in chunks),
            nulls,
            least,
            greatest,
        )
    return by_field_id


def _bounds(ranges: list[Any]) -> tuple[Any, Any]:
    """Return the least and greatest value; both None if Python has no such value (a date after
    9999)."""
    try:
        return min(statistics.min for statistics in ranges), max(
            statistics.max for statistics in ranges
        )
    except (OverflowError, ValueError):
        return None, None


def leaf_ids(schema: pa.Schema) -> list[int | None]:
    """Return the field ids of the leaf columns of a schema, in the order of Parquet's columns;
    None: the leaf has none (elements of lists and maps in Delta)."""
    import pyarrow as pa

    def leaves(field: pa.Field) -> list[int | None]:
        kind = field.type
        if pa.types.is_struct(kind):
            return [leaf for inner in kind for leaf in leaves(inner)]
        if pa.types.is_map(kind):
            return leaves(kind.key_field) + leaves(kind.item_field)
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return leaves(kind.value_field)
        named = (field.metadata or {}).get(FIELD_ID)
        return [None if named is None else int(named)]

    return [leaf for field in schema for leaf in leaves(field)]


def _offsets(metadata: Any) -> list[int]:
    """Return the offsets of the row groups."""
    offsets = []
    for number in range(metadata.num_row_groups):
        first = metadata.row_group(number).column(0)
        places = (first.dictionary_page_offset, first.data_page_offset)
        offsets.append(min(place for place in places if place))
    return offsets
