"""Databases are named in their connectors' folders; the few other lines have a reason each."""

from __future__ import annotations

import re
from pathlib import Path

import headrace

SOURCES = Path(headrace.__file__).parent
REASONS = SOURCES.parents[1] / "docs" / "architecture.md"
NAMES = re.compile(r"postgres|pgoutput|lsn|\bslot\b|mongo|oracle|db2", re.IGNORECASE)
MOST = 25


def naming_lines() -> list[tuple[str, str]]:
    """File (below `src/headrace`) and text of each line that names a database."""
    lines = []
    for path in sorted(SOURCES.rglob("*.py")):
        parts = path.relative_to(SOURCES).parts
        if parts[0] == "testing" or (parts[0] == "connectors" and len(parts) > 2):
            continue
        texts = filter(NAMES.search, path.read_text().splitlines())
        lines += [("/".join(parts), text.strip()) for text in texts]
    return lines


def listed_lines() -> list[tuple[str, str]]:
    """The same of the table in the documentation, whose third column is the reason."""
    table = REASONS.read_text().split("| File | Line | Reason |")[1]
    rows = re.findall(r"^\| `([^`]+)` \| ``? ?(.+?) ?``? \| [^|]+ \|$", table, re.M)
    return [(file, text.replace(r"\|", "|")) for file, text in rows]


def test_every_line_that_names_a_database_has_its_reason() -> None:
    assert sorted(naming_lines()) == sorted(listed_lines())


def test_they_are_few() -> None:
    assert len(listed_lines()) <= MOST
