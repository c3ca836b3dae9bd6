"""Batches of events as the converters make them, and the records that a log holds."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fastavro import _read_py as fastavro
from fastavro.io.binary_decoder import BinaryDecoder

from headrace.connectors.registry import parse_options
from headrace.sinks.event_log.formats.configured import file_format
from headrace.sinks.event_log.formats.file_format import FileFormat
from headrace.sinks.event_log.log import OWN_FOLDER, EventLog
from headrace.sinks.event_log.options import EventLogOptions
from headrace.sinks.event_log.staged import StagedFile, StagedFiles

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
HOUR_START_US = 1_785_000_000_000_000 // 3_600_000_000 * 3_600_000_000
"""The beginning of an hour: 2026-07-25 17:00 UTC."""
HOUR_US = 3_600_000_000


def _zstd(decoder: Any) -> io.BytesIO:
    """What fastavro needs another package for."""
    content = decoder.read_fixed(decoder.read_long())
    with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
        return io.BytesIO(stream.read())


def _snappy(decoder: Any) -> io.BytesIO:
    content = decoder.read_fixed(decoder.read_long())
    number = BinaryDecoder(io.BytesIO(content)).read_long()  # of Avro, whose longs are zig-zag
    size = 2 * number if number >= 0 else -2 * number - 1
    decompressed = pa.decompress(content[:-4], size, codec="snappy", asbytes=True)
    assert zlib.crc32(decompressed) == int.from_bytes(content[-4:], "big")
    return io.BytesIO(decompressed)


fastavro.BLOCK_READERS["zstandard"] = _zstd
fastavro.BLOCK_READERS["snappy"] = _snappy


def event_batch(
    sequences: Sequence[int],
    *,
    topics: Sequence[str] | None = None,
    keys: Sequence[Any] | None = None,
    values: Sequence[Any] | None = None,
    headers: Sequence[Any] | None = None,
    kind: pa.DataType | None = None,
) -> pa.RecordBatch:
    """Events whose value is their number."""
    count, kind = len(sequences), kind or pa.string()
    return pa.record_batch({
        "topic": pa.array(topics or ["t"] * count, pa.string()),
        "partition": pa.nulls(count, pa.int32()),
        "key": pa.array(keys or [None] * count, kind),
        "value": pa.array(values or [str(number) for number in sequences], kind),
        "headers": pa.array(headers or [None] * count, HEADERS),
        "sequence": pa.array([f"{number:08x}" for number in sequences]),
    })  # fmt: skip


def log_options(path: Path, **more: str) -> EventLogOptions:
    """Options of a log; `more` are options with `_` for `.`."""
    named = {name.replace("_", "."): text for name, text in more.items()}
    return EventLogOptions.of({"path": str(path), **named})


def form_of(options: EventLogOptions, **converters: str) -> FileFormat:
    """The format of options, with these converters."""
    source = {
        "connector.class": "postgresql",
        "topic.prefix": "p",
        "database.hostname": "h",
        "database.user": "u",
        "database.dbname": "d",
        **{f"{role}.converter": name for role, name in converters.items()},
    }
    return file_format(options, parse_options(source))


def stage(
    log: EventLog,
    options: EventLogOptions,
    name: str,
    batch: pa.RecordBatch,
    commit_us: int | Sequence[int] = HOUR_START_US,
) -> list[StagedFile]:
    """The files of one task."""
    times = np.broadcast_to(np.array(commit_us, np.int64), batch.num_rows).copy()
    staged = StagedFiles(
        log.staged, name, form_of(options), options.layout, options.limits, sync=options.sync
    )
    return staged.write(iter([(batch, times)]), HOUR_START_US)


def add(
    log: EventLog,
    options: EventLogOptions,
    number: int,
    sequences: Sequence[int],
    commit_us: int | Sequence[int] = HOUR_START_US,
) -> None:
    """A micro-batch of the query `q`."""
    files = stage(log, options, f"{number}-0-0", event_batch(sequences), commit_us)
    log.commit(files, number, "q")


def visible(path: Path) -> list[Path]:
    """The files that a reader sees, in the order of their names."""
    return sorted(
        file for file in path.rglob("*") if file.is_file() and OWN_FOLDER not in file.parts
    )


def records(file: Path) -> Iterator[dict[str, Any]]:
    """The records of a file."""
    if file.suffix == ".parquet":
        yield from pq.ParquetFile(file).read().to_pylist()
    elif file.suffix == ".avro":
        with file.open("rb") as content:
            yield from fastavro.reader(content)
    else:
        compression = {".gz": "gzip", ".zst": "zstd"}.get(file.suffix)
        with pa.input_stream(str(file), compression=compression) as content:
            yield from map(json.loads, content.read().splitlines())


def numbers(path: Path) -> list[int]:
    """The values of all events that a reader sees, in the order of folders and names."""
    return [int(record["value"]) for file in visible(path) for record in records(file)]
