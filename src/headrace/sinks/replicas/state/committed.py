"""The last micro-batch that a query has committed to each table, in a file of the sink's state:
detects tables that are older than their query, such as one that was restored from a backup."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from headrace.connect.disk import replace_text
from headrace.sinks.replicas.lake import TableName


class CommittedBatches:
    """Numbers of micro-batches by table. The file is written after the commits, so it never has
    more than the tables."""

    def __init__(self, folder: Path) -> None:
        """Read the numbers from `folder`, that of the sink's state."""
        self._path = folder / "committed.json"
        self._numbers: dict[str, int] = {}
        if self._path.is_file():
            self._numbers = json.loads(self._path.read_text())

    def of(self, name: TableName) -> int | None:
        """Return the last micro-batch of a table; None: nothing was committed to it."""
        return self._numbers.get(str(name))

    def note(self, numbers: Mapping[TableName, int | None]) -> None:
        """Record the last micro-batches of tables. Raises OSError."""
        known = {str(name): number for name, number in numbers.items() if number is not None}
        later = self._numbers | known
        if later != self._numbers:
            replace_text(self._path, json.dumps(later))
            self._numbers = later
