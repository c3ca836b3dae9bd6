"""Test readers that write the slices of a database as parts of replicas, and the changes in these
parts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from headrace.sinks.replicas.changes.part import Operation, Part
from headrace.sinks.replicas.changes.parts import parts_folder
from headrace.sinks.replicas.changes.parts_source import write_parts
from headrace.sinks.replicas.changes.schemas import of_json
from headrace.sinks.replicas.lake import TableSchema
from tests.connectors.mongodb.harness import Reader as MongoReader
from tests.connectors.oracle.reading import OracleReader
from tests.connectors.postgresql.harness import Reader

INSERT, UPDATE, DELETE, READ = Operation


@dataclass
class WrittenParts:
    """Parts, and the changes in their files."""

    folder: Path
    parts: list[Part] = field(default_factory=list)

    def table(self, part: Part) -> pa.Table:
        with pa.memory_map(str(parts_folder(self.folder) / part.path)) as file:
            return pa.ipc.open_file(file).read_all()

    def parts_of(self, topic: str) -> list[Part]:
        """Return the parts that have rows, of topics whose names end with `topic`."""
        return [part for part in self.parts if part.topic.endswith(topic) and part.path]

    def errors(self) -> list[dict[str, str]]:
        """Return the errors because of which changes could not be made."""
        return [json.loads(part.error) for part in self.parts if part.error]

    def changes(self, topic: str) -> list[dict[str, Any]]:
        """Return the changes in the order of their sequences; names of headrace's own columns have
        no prefix, and `unavailable` names the columns whose values the log does not carry."""
        rows = [row for part in self.parts_of(topic) for row in self.table(part).to_pylist()]
        return [_shown(row) for row in sorted(rows, key=lambda row: row["__headrace_sequence"])]

    def schema(self, topic: str) -> TableSchema:
        """Return the schema of the last part of the topic."""
        return of_json(self.parts_of(topic)[-1].schema)


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    unavailable = [
        name.partition(".")[2]
        for name, is_unavailable in row.items()
        if name.startswith("__headrace_untold.") and is_unavailable
    ]
    row_values = {
        name.removeprefix("__headrace_"): value
        for name, value in row.items()
        if not name.startswith("__headrace_untold.")
    }
    return row_values | {"unavailable": unavailable}


class _WritesParts:
    """Mixin of a test reader: writes each slice as parts into `written`, and returns no records."""

    def slices(self: Any, end: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
        if not hasattr(self, "written"):
            self.home = TemporaryDirectory()
            self.written = WrittenParts(Path(self.home.name))
        for number, slice_ in enumerate(self.open().slices(self.offsets[-1], end)):
            name = f"{len(self.offsets)}-{number}"
            self.written.parts += write_parts(self.written.folder, name, [slice_], self.config)
        return []


class PostgresChanges(_WritesParts, Reader):
    """A reader of PostgreSQL."""

    written: WrittenParts


class MongoChanges(_WritesParts, MongoReader):
    """A reader of MongoDB."""

    written: WrittenParts


class OracleChanges(_WritesParts, OracleReader):
    """A reader of the stand-in for Oracle."""

    written: WrittenParts
