"""Reads parts of changes as tables that are mapped into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from headrace.sinks.replicas.changes.part import OLD_KEY, UNAVAILABLE, Part
from headrace.sinks.replicas.keys import SomeKeys


def read_part(
    folder: Path,
    part: Part,
    key: Sequence[str],
    some_keys: SomeKeys | None = None,
    renamed: Mapping[str, str] | None = None,
) -> pa.Table:
    """Return the changes of a part, or of some of its keys. `renamed` maps former to new names; the
    names of the key are the new ones. Raises OSError."""
    reader = pa.ipc.open_file(pa.memory_map(str(folder / part.path)))
    batches = [
        reader.get_batch(number)
        for number in range(reader.num_record_batches)
        if some_keys is None or not part.buckets or part.buckets[number] in some_keys.buckets
    ]
    changes = pa.Table.from_batches(batches, reader.schema)
    if renamed:
        changes = _with_names(changes, renamed)
    if some_keys is not None and changes.num_rows and (not part.buckets or some_keys.shares > 1):
        changes = changes.filter(pa.array(some_keys.mask(changes.select(list(key)))))
    return changes


def have_same_buckets(folder: Path, parts: Sequence[Part], key: Sequence[str]) -> bool:
    """Whether equal keys have the same bucket in all parts: the type of a column may differ between
    them. Raises OSError."""
    kinds = set()
    for part in parts:
        if part.path:
            with pa.memory_map(str(folder / part.path)) as file:
                schema = pa.ipc.open_file(file).schema
            # The key has a column with another name in an older part.
            if any(name not in schema.names for name in key):
                return False
            kinds.add(tuple(_kind(schema.field(name).type) for name in key))
    return len(kinds) < 2


def _kind(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_integer(kind):
        return "integer"
    if types.is_floating(kind):
        return "float"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return "binary"
    if types.is_decimal(kind):
        return f"decimal {kind.scale}"
    return str(kind)


def _with_names(changes: pa.Table, renamed: Mapping[str, str]) -> pa.Table:
    names = []
    for name in changes.column_names:
        flag, column = (
            (UNAVAILABLE, name[len(UNAVAILABLE) :]) if name.startswith(UNAVAILABLE) else ("", name)
        )
        names.append(flag + renamed.get(column, column))
    changes = changes.rename_columns(names)
    if OLD_KEY not in names:
        return changes
    fields = [
        field.with_name(renamed.get(field.name, field.name))
        for field in changes.schema.field(OLD_KEY).type
    ]
    chunks = [
        pa.StructArray.from_arrays(chunk.flatten(), fields=fields, mask=chunk.is_null())
        for chunk in changes[OLD_KEY].chunks
    ]
    structs = pa.chunked_array(chunks, pa.struct(fields))
    return changes.set_column(names.index(OLD_KEY), OLD_KEY, structs)
