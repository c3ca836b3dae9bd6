"""One remark about one property."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

_IGNORED = "config.ignored"


class PropertyFinding(NamedTuple):
    """`code` is dotted and stable, `property` is Debezium's name (or empty: the whole)."""

    code: str
    property: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]. {self.remedy}"


def ignored(name: str) -> PropertyFinding:
    """The warning of a property that the connector does not have, and its surroundings do."""
    return PropertyFinding(
        _IGNORED,
        name,
        f"{name} belongs to the process of Kafka Connect or Debezium Server and is ignored",
        "It may stay in the configuration.",
    )


def summarized(findings: Iterable[PropertyFinding]) -> Iterator[PropertyFinding]:
    """As an operator reads them: one finding for all properties that are ignored alike, its
    `property` that of the first; it comes last."""
    names = []
    for finding in findings:
        if finding.code == _IGNORED:
            names.append(finding.property)
        else:
            yield finding
    if len(names) == 1:
        yield ignored(names[0])
    elif names:
        yield PropertyFinding(
            _IGNORED,
            names[0],
            f"{', '.join(names[:-1])} and {names[-1]} belong to the process of Kafka Connect or "
            "Debezium Server and are ignored",
            "They may stay in the configuration.",
        )
