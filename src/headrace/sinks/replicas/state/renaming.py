"""The source tables of which a sink has replicas, in a file of its state: detects renamed tables,
whose earlier rows were not read under the new name."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from headrace.connect.disk import replace_text
from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import TableName, TableSchema

RENAMED = "replicas.table_renamed"


class KnownTables:
    """Names of replicas by the ids of the source's tables. For several threads."""

    def __init__(self, folder: Path) -> None:
        """Read the names from `folder`, that of the sink's state."""
        self._path = folder / "known-tables.json"
        self._lock = threading.Lock()
        self._names: dict[str, str] = {}
        if self._path.is_file():
            self._names = json.loads(self._path.read_text())

    def add(self, name: TableName, schema: TableSchema) -> None:
        """Record a table that is copied, or complete from its first row. Raises OSError."""
        self._note(name, schema, is_copied=True)

    def require_new(self, name: TableName, schema: TableSchema) -> None:
        """Refuse a table that has another replica, and record one that has no replica. Raises
        HeadraceError("replicas.table_renamed"), OSError."""
        self._note(name, schema, is_copied=False)

    def _note(self, name: TableName, schema: TableSchema, *, is_copied: bool) -> None:
        number = schema.source_id
        with self._lock:
            former = self._names.get(number, str(name))
            if not number or (former == str(name) and number in self._names):
                return
            if former != str(name) and not is_copied:
                raise HeadraceError(
                    RENAMED,
                    f"{schema.source} was renamed at the source: its rows of before are in the "
                    f"replica {former}, and {name} would lack them",
                    f"Copy the table under its new name: headrace resync FILE {name} "
                    "--checkpoint STATE. Then drop "
                    f"{former}, if you do not need it.",
                )
            names = self._names | {number: str(name)}
            replace_text(self._path, json.dumps(names))
            self._names = names
