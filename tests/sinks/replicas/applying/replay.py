"""A naive replica: rows by key, changed one after the other; and parts made of the same changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from headrace.sinks.replicas.changes.part import (
    COMMIT_TIME,
    OLD_KEY,
    OPERATION,
    SEQUENCE,
    UNAVAILABLE,
    Operation,
    Part,
)
from headrace.sinks.replicas.keys import bucket_of
from headrace.sinks.replicas.lake import TableSchema

Key = tuple[object, ...]


@dataclass(frozen=True)
class Change:
    """One change. `values` lacks what the log does not carry."""

    operation: Operation
    key: Key
    values: Mapping[str, object] = field(default_factory=dict)
    old_key: Key | None = None


@dataclass(frozen=True)
class Truncate:
    """All rows of the table are deleted."""


Step = Change | Truncate


class Replay:
    """The content of a table after changes."""

    def __init__(self) -> None:
        self.rows: dict[Key, dict[str, object]] = {}
        self._before_delete: dict[Key, dict[str, object]] = {}

    def apply(self, steps: Iterable[Step], schema: TableSchema) -> None:
        for step in steps:
            if isinstance(step, Truncate):
                self.rows.clear()
            elif step.operation is Operation.DELETE:
                if step.key in self.rows:
                    self._before_delete[step.key] = self.rows.pop(step.key)
            else:
                changed = dict(zip(schema.key, step.key, strict=True)) | dict(step.values)
                former = self.rows.get(step.key, {})
                if step.old_key is not None:
                    former = self._before_delete[step.old_key]
                self.rows[step.key] = {
                    name: changed[name] if name in changed else former[name]
                    for name in schema.names
                }


def sequence(number: int) -> str:
    return f"{number:020}"


def commit_us(number: int) -> int:
    """The time of the commit of a change: three places of the log are one transaction."""
    return number // 3 * 1_000_000


def changes_table(
    numbered: Sequence[tuple[int, Change]],
    schema: TableSchema,
    large: bool = False,
    with_past: bool = False,
) -> pa.Table:
    """Changes as the columns of a part; `with_past`: deletes have the values before them."""
    names = schema.names
    columns: dict[str, pa.Array] = {
        SEQUENCE: pa.array([sequence(number) for number, _ in numbered], pa.large_string()),
        OPERATION: pa.array([change.operation for _, change in numbered], pa.int8()),
        COMMIT_TIME: pa.array([commit_us(number) for number, _ in numbered], pa.int64()).cast(
            pa.timestamp("us", "UTC")
        ),
    }
    kinds = [schema.column(name).type for name in schema.key]  # type: ignore[union-attr]
    if any(change.old_key for _, change in numbered):
        fields = [pa.field(name, kind) for name, kind in zip(schema.key, kinds, strict=True)]
        olds = [
            change.old_key and dict(zip(schema.key, change.old_key, strict=True))
            for _, change in numbered
        ]
        columns[OLD_KEY] = pa.array(olds, pa.struct(fields))
    for name in names:
        if name in schema.key:
            continue
        flags = [
            (with_past or change.operation is not Operation.DELETE) and name not in change.values
            for _, change in numbered
        ]
        if any(flags):
            columns[UNAVAILABLE + name] = pa.array(flags)
    for name in names:
        kind = schema.column(name).type  # type: ignore[union-attr]
        kind = pa.large_string() if large and pa.types.is_string(kind) else kind
        place = schema.key.index(name) if name in schema.key else None
        values = [
            change.values.get(name) if place is None else change.key[place]
            for _, change in numbered
        ]
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def write_part(
    folder: Path,
    name: str,
    numbered: Sequence[tuple[int, Step]],
    schema: TableSchema,
    divided: bool = False,
    buckets: int = 16,
    with_past: bool = False,
) -> Part:
    """A part of steps in the order of the log."""
    truncates = [number for number, step in numbered if isinstance(step, Truncate)]
    truncated = max(truncates, default=-1)
    changes = [(number, step) for number, step in numbered if isinstance(step, Change)]
    table = changes_table(changes, schema, large=True, with_past=with_past)
    path, of_batches = "", []
    if changes:
        path = f"{name}.arrow"
        with pa.ipc.new_file(str(folder / path), table.schema) as writer:
            if divided:
                of_rows = bucket_of(table.select(list(schema.key)), buckets)
                for bucket in range(buckets):
                    chosen = table.filter(pa.array(of_rows == bucket)).combine_chunks()
                    for batch in chosen.to_batches(max_chunksize=3):
                        writer.write_batch(batch)
                        of_batches.append(bucket)
            else:
                writer.write_table(table)
    return Part(
        "topic",
        path,
        len(changes),
        (folder / path).stat().st_size if path else 0,
        "",
        tuple(of_batches),
        sequence(numbered[0][0]),
        sequence(numbered[-1][0]),
        sequence(truncated) if truncated >= 0 else "",
        any(name.startswith(UNAVAILABLE) for name in table.column_names),
        OLD_KEY in table.column_names,
        0,
        truncates=json.dumps([(sequence(number), commit_us(number)) for number in truncates]),
    )
