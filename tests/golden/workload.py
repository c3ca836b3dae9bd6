"""A workload: Debezium's properties, and what happens in the database meanwhile."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PHASES = ("setup", "stream", "down", "again")
# Debezium events without schemas, unless a workload asks for them.
PLAIN = {f"{role}converter.schemas.enable": "false" for role in ("", "key.", "value.", "header.")}


@dataclass(frozen=True)
class Workload:
    """Blocks of statements by phase: `setup`, `stream`, `down` (the connector is stopped
    meanwhile) and `again` (it was started again). `properties` are Debezium's, and `options` say
    how it is recorded: the lines `property: recorder.…`."""

    name: str
    properties: dict[str, str]
    options: dict[str, str]
    phases: dict[str, list[str]]

    @property
    def pace(self) -> float:
        """Seconds between two blocks, in which the connector sees what the first one did; 0 when
        it does not matter."""
        return float(self.options.get("pace", "0"))

    @property
    def streams(self) -> bool:
        """Whether the connector gets as far as the log."""
        return self.options.get("streams", "true") == "true"


def read(path: Path) -> Workload:
    """The workload in a file. Its own lines are comments of the database's language: `property`,
    `phase`, and `transaction` or `then`, which begin another block."""
    comment = "--" if path.suffix == ".sql" else "//"
    properties: dict[str, str] = {}
    phases: dict[str, list[list[str]]] = {phase: [[]] for phase in PHASES}
    now: list[list[str]] | None = None
    for line in path.read_text().splitlines():
        if found := re.match(rf"{comment} property: ([^=]+)=(.*)", line):
            properties[found[1]] = found[2]
        elif found := re.match(rf"{comment} phase: (\w+)", line):
            now = phases[found[1]]
        elif re.match(rf"{comment} (transaction|then)\b", line) and now is not None:
            now.append([])
        elif now is not None:
            now[-1].append(line)
    options = {
        name.removeprefix("recorder."): properties.pop(name)
        for name in [*properties]
        if name.startswith("recorder.")
    }
    blocks = {
        phase: [text for block in blocks if (text := "\n".join(block).strip())]
        for phase, blocks in phases.items()
    }
    return Workload(path.stem, properties, options, blocks)
