"""Files of parts: written by the process that reads a slice, and described in rows of a stream.

The module `headrace.sinks.replicas.changes.part` describes their contents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.disk import replace_text
from headrace.errors import HeadraceError
from headrace.offsets.offset import NO_END, OffsetSummary
from headrace.sinks.replicas.changes.changed_rows import Changes, Failure, joined
from headrace.sinks.replicas.changes.part import OLD_KEY, SEQUENCE, UNAVAILABLE, Part
from headrace.sinks.replicas.changes.schemas import TableShape
from headrace.sinks.replicas.keys import bucket_of

COLUMNS = (
    "topic string, path string, rows bigint, size bigint, schema string, buckets binary, "
    "first string, last string, truncated string, has_untold boolean, has_old_keys boolean, "
    "source_ms bigint, error string, truncates string"
)
"""The columns of descriptions in a stream, in the order of the fields of `Part`."""
UNDIVIDED_ROWS = 50_000
"""The number of rows above which a part is divided by buckets."""
PENDING_BYTES = 128 << 20
"""The size of changes in memory above which they are written as parts."""
_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
}
_SCHEMA = pa.schema(
    [(name, _TYPES[kind]) for name, kind in (column.split() for column in COLUMNS.split(", "))]
)


@dataclass
class _Pending:
    """Changes of one table and schema that are not written yet."""

    table: TableShape
    tables: list[pa.Table] = field(default_factory=list)
    source_ms: int = 0
    last: str = ""
    is_ordered: bool = True


class PartWriter:
    """Writes the changes of a slice as parts of their tables. The context manager deletes the
    written files if it exits with an error."""

    def __init__(self, folder: Path, name: str) -> None:
        """Set the prefix `name` of all files' names."""
        self._folder, self._name = folder, name
        self._pending: dict[tuple[str, str], _Pending] = {}
        self._bytes = 0
        self._parts: list[Part] = []
        self._truncates: dict[str, dict[str, int]] = {}
        self._failed: dict[str, Failure] = {}
        self._written: list[Path] = []

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for path in self._written:
                path.unlink(missing_ok=True)

    def add(self, changes: Changes) -> None:
        """Add changes. Raises HeadraceError("replicas.part_not_written")."""
        topic = changes.topic
        self._truncates.setdefault(topic, {}).update(changes.truncates)
        if not len(changes.rows):
            return
        identity = (topic, changes.table.json)
        pending = self._pending.setdefault(identity, _Pending(changes.table))
        sequences = changes.rows.column(SEQUENCE)
        # Slices of keys do not follow one another.
        pending.is_ordered &= pending.last < sequences[0].as_py()
        pending.last = sequences[-1].as_py()
        pending.tables.append(changes.rows)
        pending.source_ms = max(pending.source_ms, changes.source_ms)
        self._bytes += changes.rows.nbytes
        if self._bytes > PENDING_BYTES:
            self._flush()

    def fail(self, failure: Failure) -> None:
        """Record the first failure of a table, and how many records failed."""
        first = self._failed.get(failure.topic)
        if first is not None:
            failure = replace(first, records=first.records + failure.records)
        self._failed[failure.topic] = failure

    def finish(self) -> list[Part]:
        """Write the remaining changes. Returns all parts, and a part without a file for each topic
        with only a TRUNCATE, or with a failure. Raises as `add`."""
        self._flush()
        parts = [self._with_truncates(part) for part in self._parts]
        with_rows = {part.topic for part in parts}
        for topic, truncates in self._truncates.items():
            if truncates and topic not in with_rows:
                parts.append(self._with_truncates(_without_rows(topic, max(truncates))))
        for topic, failure in self._failed.items():
            error = failure.error
            known = {"code": error.code, "message": error.message, "remedy": error.remedy}
            none = _without_rows(topic, "")
            parts.append(replace(none, rows=failure.records, error=json.dumps(known)))
        return parts

    def _with_truncates(self, part: Part) -> Part:
        truncates = sorted(self._truncates[part.topic].items())
        if not truncates:
            return part
        return replace(
            part,
            truncated=truncates[-1][0],
            truncates=json.dumps(truncates),
            source_ms=max(part.source_ms, *(time // 1000 for _, time in truncates)),
        )

    def _flush(self) -> None:
        for (topic, _), pending in self._pending.items():
            self._parts.append(self._write(topic, pending))
        self._pending.clear()
        self._bytes = 0

    def _write(self, topic: str, pending: _Pending) -> Part:
        rows = joined(pending.tables)
        has_untold = any(name.startswith(UNAVAILABLE) for name in rows.column_names)
        if not pending.is_ordered:
            rows = rows.combine_chunks().take(pc.sort_indices(rows.column(SEQUENCE)))
        sequences = rows.column(SEQUENCE)
        path = self._folder / f"{self._name}-{len(self._written)}.arrow"
        batches, buckets = _divided(rows, pending.table.key)
        with _writing(path):
            self._folder.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            self._written.append(path)
            with path.open("xb") as file, pa.ipc.new_file(file, rows.schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            size = path.stat().st_size
        return Part(
            topic,
            path.name,
            len(rows),
            size,
            pending.table.json,
            buckets,
            sequences[0].as_py(),
            sequences[-1].as_py(),
            "",
            has_untold,
            OLD_KEY in rows.column_names,
            pending.source_ms,
        )


def _without_rows(topic: str, truncated: str) -> Part:
    return Part(
        topic,
        path="",
        rows=0,
        size=0,
        schema="",
        buckets=(),
        first=truncated,
        last=truncated,
        truncated=truncated,
        has_untold=False,
        has_old_keys=False,
        source_ms=0,
    )


def _divided(rows: pa.Table, key: Sequence[str]) -> tuple[list[pa.RecordBatch], tuple[int, ...]]:
    """Return rows as record batches, and the bucket of each batch; empty if rows are not
    divided."""
    if len(rows) <= UNDIVIDED_ROWS or not key:
        return rows.combine_chunks().to_batches(), ()
    buckets = bucket_of(rows.select(key))
    order = np.argsort(buckets, kind="stable")
    ordered = rows.combine_chunks().take(pa.array(order)).combine_chunks()
    present, starts = np.unique(buckets[order], return_index=True)
    batches: list[pa.RecordBatch] = []
    numbers: list[int] = []
    for number, start, end in zip(present, starts, [*starts[1:], len(rows)], strict=True):
        bucket_batches = ordered.slice(int(start), int(end - start)).to_batches()
        batches += bucket_batches
        numbers += [int(number)] * len(bucket_batches)
    return batches, tuple(numbers)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HeadraceError(
            "replicas.part_not_written",
            f"{error.filename or path} cannot be written ({error.strerror or error})",
            "Check the free space and the permissions of the folder of the sink's state.",
            retriable=True,
        ) from error


def as_rows(parts: Sequence[Part]) -> pa.RecordBatch:
    """Convert parts to a batch with COLUMNS."""
    rows = [asdict(part) | {"buckets": bytes(part.buckets)} for part in parts]
    return pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def of_rows(batches: Iterable[pa.RecordBatch]) -> list[Part]:
    """Convert rows with COLUMNS to parts."""
    return [
        Part(**(row | {"buckets": tuple(row["buckets"])}))
        for batch in batches
        for row in batch.to_pylist()
    ]


def describe(folder: Path, batch: int, parts: Sequence[Part]) -> None:
    """Write the note of a micro-batch's parts that the source process wrote, in place of an earlier
    note. Raises HeadraceError("replicas.part_not_written")."""
    note = _note(folder, batch)
    with _writing(note):
        note.parent.mkdir(parents=True, exist_ok=True)
        replace_text(note, json.dumps([asdict(part) for part in parts]))


def expect_tasks(folder: Path, batch: int) -> None:
    """Delete the note of a micro-batch, because tasks write its parts. Raises as `describe`."""
    with _writing(_note(folder, batch)):
        _note(folder, batch).unlink(missing_ok=True)


def note_end(folder: Path, batch: int, end: OffsetSummary) -> None:
    """Note where a micro-batch ends. The note is written again whenever the micro-batch is planned,
    so it need not survive a power failure. Raises as `describe`."""
    note = _end(folder, batch)
    with _writing(note):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps(asdict(end)))


def noted_end(folder: Path, batch: int) -> OffsetSummary:
    """Return what `note_end` noted of a micro-batch; without a note, a settled end that is no
    boundary."""
    try:
        return OffsetSummary(**json.loads(_end(folder, batch).read_text()))
    except FileNotFoundError:
        return NO_END


def described(folder: Path, batch: int) -> list[Part] | None:
    """Return the parts of a micro-batch that the source process wrote itself; None: its parts are
    in the rows of the stream. `folder` is that of the sink's state."""
    try:
        text = _note(folder, batch).read_text()
    except FileNotFoundError:
        return None
    return [Part(**(row | {"buckets": tuple(row["buckets"])})) for row in json.loads(text)]


def parts_folder(folder: Path) -> Path:
    """Return the folder of the parts' `path`, which `headrace.sinks.parts.sweep_parts` sweeps."""
    return folder / "parts"


def _note(folder: Path, batch: int) -> Path:
    return parts_folder(folder) / f"{batch}-descriptions.json"


def _end(folder: Path, batch: int) -> Path:
    return parts_folder(folder) / f"{batch}-end.json"
