"""The page of the events shows what is recorded, and names each member of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.docs.pages import ROOT

PAGE = "docs/guides/events.md"
TEXT = (ROOT / PAGE).read_text()
EXAMPLES = re.findall(
    r"^<!-- recorded: (\w+)/(\w+) (\d+) -->\n```json\n(.*?)^```$", TEXT, re.M | re.S
)
DATABASES = {"postgresql": "PostgreSQL", "mongodb": "MongoDB", "oracle": "Oracle", "db2": "Db2"}


def recorded(database: str, workload: str, line: str) -> dict[str, Any]:
    """A recorded record."""
    file = ROOT / "tests" / "golden" / database / "recordings" / f"{workload}.jsonl"
    record: dict[str, Any] = json.loads(file.read_text().splitlines()[int(line) - 1])
    return record


def members(section: str) -> list[str]:
    """The names in the first column of the first table of a section."""
    part = re.split(r"^#+ ", TEXT.split(f"\n{section}\n", 1)[1], maxsplit=1, flags=re.M)[0]
    table = next(table for table in part.strip().split("\n\n") if table.startswith("|"))
    return re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]*)\|", table, re.M)))


@pytest.mark.parametrize(("database", "workload", "line", "text"), EXAMPLES)
def test_an_example_is_a_record_of_a_recording(
    database: str, workload: str, line: str, text: str
) -> None:
    shown, record = json.loads(text), recorded(database, workload, line)
    headers = shown.pop("headers", {})
    assert headers.items() <= record["headers"].items()
    # As texts: members are in their order.
    assert json.dumps(shown) == json.dumps({name: record[name] for name in shown})
    assert {*shown} == {"topic", "key", "value"}


def test_every_block_of_the_page_is_recorded() -> None:
    assert TEXT.count("```json\n") == len(EXAMPLES) > 15


@pytest.mark.parametrize("database", DATABASES)
def test_each_database_shows_its_rows_its_changes_and_every_member_of_their_source(
    database: str,
) -> None:
    values = [json.loads(text)["value"] for name, _, _, text in EXAMPLES if name == database]
    events = [value for value in values if value and "op" in value]
    assert {event["op"] for event in events} >= {"r", "u", "d"}
    source = next(event["source"] for event in events if event["op"] == "u")
    explained = members("## The source block") + members(f"### {DATABASES[database]}")
    assert explained == sorted(source, key=explained.index)
    assert {*source} == {*explained}
    assert {*events[0]} <= {*members("## The envelope")}


def test_each_operation_is_explained_and_shown() -> None:
    shown = {(json.loads(text)["value"] or {}).get("op") for *_, text in EXAMPLES} - {None}
    assert shown == set(members("## What happened: `op`"))
