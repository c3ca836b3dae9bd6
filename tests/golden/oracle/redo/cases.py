"""Statements of redo, each with the table that it changes, in several modes of the types.

`python -m tests.golden.oracle.redo.record [NAME …]` records what Debezium's own parser and value
converters make of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CONNECTION = {
    "topic.prefix": "golden",
    "database.user": "C##DBZUSER",
    "database.password": "x",
    "database.dbname": "ORCLCDB",
    "database.pdb.name": "ORCLPDB1",
}


@dataclass(frozen=True)
class Case:
    """Statements on one table, read with the properties of one mode. `kind` is redo or ddl."""

    name: str
    mode: str
    kind: str
    properties: dict[str, str]
    database: dict[str, Any]
    tables: list[dict[str, Any]]
    statements: list[str]

    @property
    def title(self) -> str:
        return f"{self.name}-{self.mode}" if self.mode else self.name

    @property
    def recording(self) -> Path:
        return HERE / "recordings" / f"{self.title}.jsonl"

    def recorded(self) -> tuple[Any, list[dict[str, Any]]]:
        """The schema of the table, and what each statement became."""
        schema, *statements = map(json.loads, self.recording.read_text().splitlines())
        return schema, statements


def cases(*names: str) -> Iterator[Case]:
    """The cases of the named files, or of all of them."""
    for path in sorted((HERE / "cases").glob("*.json")):
        if names and path.stem not in names:
            continue
        definition = json.loads(path.read_text())
        for mode, properties in definition.get("modes", {"": {}}).items():
            yield Case(
                path.stem,
                mode,
                definition.get("kind", "redo"),
                definition.get("properties", {}) | properties,
                definition.get("database", {}),
                definition["tables"],
                definition["statements"],
            )
