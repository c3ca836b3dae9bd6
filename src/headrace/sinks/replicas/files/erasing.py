"""Erases the rows of keys from data files: files that contain one, dead or live, are rewritten
without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from headrace.sinks.replicas.files.live_rows import live_batches
from headrace.sinks.replicas.files.reading import DataFileReader
from headrace.sinks.replicas.keys import KeySet

if TYPE_CHECKING:
    from headrace.sinks.replicas.lake import DataFile, Storage


@dataclass(frozen=True)
class EraseStep:
    """The argument of the step: data files, the keys to erase as columns of the table, and the
    prefix of the names of new files."""

    storage: Storage
    files: Sequence[DataFile]
    keys: pa.Table
    name: str


@dataclass(frozen=True)
class Erasure:
    """The result of the step: the files that contain a row of the keys, the files that replace
    them, and the number of live rows that were erased."""

    removed: Sequence[DataFile]
    added: Sequence[DataFile]
    rows: int


def erase_keys(step: EraseStep) -> Erasure:
    """Write the live rows of files that contain a row of the keys to new files, without these rows.
    Raises HeadraceError, OSError."""
    storage, names = step.storage, step.keys.column_names
    keys = KeySet(step.keys)
    removed: list[DataFile] = []
    added: list[DataFile] = []
    erased = 0
    for file in step.files:
        bounds = [file.bounds.get(storage.field_id(name)) for name in names]
        if not all(keys.may_have(place, bound) for place, bound in enumerate(bounds)):
            continue
        with DataFileReader(storage, file) as reader:
            if not any(keys.mask(rows.columns).any() for rows in reader.batches(names)):
                continue
        removed.append(file)
        remaining = list[pa.Table]()
        for _, rows in live_batches(storage, file, storage.schema.names):
            is_erased = pa.array(keys.mask([rows[name] for name in names]))
            erased += pc.sum(is_erased).as_py() or 0
            remaining.append(rows.filter(pc.invert(is_erased)))
        if any(rows.num_rows for rows in remaining):
            added.append(storage.write_rows(pa.concat_tables(remaining), f"{step.name}{uuid4()}"))
    return Erasure(removed, added, erased)
