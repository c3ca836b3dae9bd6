"""A consistent cut, and its line in the log of cuts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.sinks.replicas.lake import TableName


@dataclass(frozen=True)
class Cut:
    """The versions of a query's tables after a micro-batch that ends between transactions.

    `place` is the end of the last transaction in the tables as a number, `position` the same for
    people, and `system` identifies the database. `time_ms` is the time of the source of the last
    change (0: unknown), `recorded_ms` the time of the host at which every table had the
    micro-batch. `versions` are those of `LakeTable.version`; `missing` are the tables that are not
    at this position, with the reasons.
    """

    batch: int
    place: int
    position: str
    system: str
    time_ms: int
    recorded_ms: int
    versions: Mapping[TableName, str]
    missing: Mapping[TableName, str] = field(default_factory=dict)

    def line(self, former: Cut | None) -> str:
        """Return the cut as a line of JSON: the versions that differ from those of the former line,
        and all of the first one."""
        before = {} if former is None else former.versions
        changed = [
            [_listed(name), version]
            for name, version in self.versions.items()
            if before.get(name) != version
        ]
        line: dict[str, Any] = {
            "batch": self.batch,
            "place": self.place,
            "position": self.position,
            "system": self.system,
            "time_ms": self.time_ms,
            "recorded_ms": self.recorded_ms,
            "versions": changed,
        }
        if without := [_listed(name) for name in before if name not in self.versions]:
            line["without"] = without
        if self.missing:
            line["missing"] = [[_listed(name), why] for name, why in self.missing.items()]
        return json.dumps(line, separators=(",", ":")) + "\n"

    @staticmethod
    def of_line(text: str, former: Cut | None) -> Cut:
        """Return the cut of a line, after that of the former line. Raises ValueError, KeyError."""
        line = json.loads(text)
        versions = {} if former is None else former.versions
        changed = {_name(name): version for name, version in line["versions"]}
        without = set(map(_name, line.get("without", ())))
        if changed or without:
            remaining = {name: version for name, version in versions.items() if name not in without}
            versions = remaining | changed
        return Cut(
            line["batch"],
            line["place"],
            line["position"],
            line["system"],
            line["time_ms"],
            line["recorded_ms"],
            versions,
            {_name(name): why for name, why in line.get("missing", ())},
        )


def _listed(name: TableName) -> list[str]:
    return [*name.namespace, name.name]


def _name(listed: Sequence[str]) -> TableName:
    *namespace, name = listed
    return TableName(tuple(namespace), name)
