"""Databases are named in their connectors' folders, and Kafka in those of its sink and its client;
the few other lines have a reason each."""

from __future__ import annotations

import re
from pathlib import Path

import headrace

SOURCES = Path(headrace.__file__).parent
REASONS = SOURCES.parents[1] / "docs" / "architecture.md"
NAMES = re.compile(r"postgres|pgoutput|lsn|\bslot\b|mongo|oracle|db2", re.IGNORECASE)
MOST = 25


KAFKA = re.compile("kafka", re.IGNORECASE)
CONNECT = re.compile(r"kafka[ .]connect", re.IGNORECASE)
MOST_OF_KAFKA = 25


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


def lines_with_kafka() -> list[tuple[str, str]]:
    """Lines in `cli`, `config` and `spark` that name Kafka, and not Kafka Connect."""
    lines = []
    for folder in ("cli", "config", "spark"):
        for path in sorted((SOURCES / folder).rglob("*.py")):
            name = path.relative_to(SOURCES).as_posix()
            if not name.startswith("config/properties/"):
                texts = path.read_text().splitlines()
                lines += [
                    (name, text.strip()) for text in texts if KAFKA.search(CONNECT.sub("", text))
                ]
    return lines


def listed_lines(number: int) -> list[tuple[str, str]]:
    """Files and lines of a table in the documentation, whose third column is the reason."""
    table = REASONS.read_text().split("| File | Line | Reason |")[number]
    rows = re.findall(r"^\| `([^`]+)` \| ``? ?(.+?) ?``? \| [^|]+ \|$", table, re.M)
    return [(file, text.replace(r"\|", "|")) for file, text in rows]


def test_every_line_that_names_a_database_has_its_reason() -> None:
    assert sorted(naming_lines()) == sorted(listed_lines(1))


def test_every_line_that_names_kafka_outside_its_sink_has_its_reason() -> None:
    assert sorted(lines_with_kafka()) == sorted(listed_lines(2))


def test_they_are_few() -> None:
    assert len(listed_lines(1)) <= MOST
    assert len(listed_lines(2)) <= MOST_OF_KAFKA
