"""The pages of the events show what is recorded, and explain each member of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.docs.generated.blocks import MARKED, at, record
from tests.docs.generated.manual import MANUAL, SOURCE
from tests.docs.pages import ROOT

COMMON = "docs/guides/events.md"
DATABASES = sorted(MANUAL)
OPERATIONS = {
    "postgresql": set("crudtm"),
    "oracle": set("crudt"),
    "db2": set("crud"),
    "mongodb": set("crud"),
}


def text_of(database: str) -> str:
    return (ROOT / f"docs/guides/events/{database}.md").read_text()


def section(text: str, title: str) -> str:
    """A section, up to the next heading."""
    return re.split(r"^#+ ", text.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.M)[0]


def column(part: str, number: int) -> list[str]:
    """The cells of a column of the tables of a section, without their heads."""
    rows = re.findall(r"^\| (.*) \|$", part, re.M)
    cells = [row.split(" | ")[number] for row in rows]
    return [cell for cell in cells if cell not in ("Field", "Item", "member")]


def names(cells: list[str]) -> list[str]:
    return re.findall(r"`(\w+)`", " ".join(cells))


def examples(text: str) -> list[tuple[list[str], str]]:
    """The arguments of each recorded example of a page, and what follows it."""
    matches = [match for match in MARKED.finditer(text) if match[1] == "recorded"]
    return [(match[2].split(), text[match.end() :]) for match in matches]


def records(database: str) -> list[dict[str, Any]]:
    """The records that a page shows as a whole or in part, without schemas."""
    events = [record(*arguments[:2]) for arguments, _ in examples(text_of(database))]
    for each in events:
        if isinstance(each["value"], dict) and "payload" in each["value"]:
            each["value"] = each["value"]["payload"]
    return events


@pytest.mark.parametrize("database", DATABASES)
def test_the_table_below_an_example_explains_its_numbers(database: str) -> None:
    numbered = [each for each in examples(text_of(database)) if len(each[0]) > 3]
    assert len(numbered) >= 5
    for (workload, line, part, *items), after in numbered:
        table = after.split("\n\n")[0]
        assert column(table, 0) == [str(number) for number in range(1, len(items) + 1)]
        for item, cell in zip(items, column(table, 1), strict=True):
            assert names([cell]) == [path.rpartition(".")[2] for path in item.split(",")]
        value = at(record(workload, line), part)
        assert {path.partition(".")[0] for item in items for path in item.split(",")} <= {*value}


@pytest.mark.parametrize(
    ("database", "title"), [(name, title) for name in DATABASES for title in MANUAL[name]]
)
def test_each_row_of_the_manual_has_its_row(database: str, title: str) -> None:
    explained = names(column(section(text_of(database), title), 1))
    for field in set(MANUAL[database][title]):
        assert explained.count(field) >= MANUAL[database][title].count(field), field


@pytest.mark.parametrize("database", DATABASES)
def test_each_operation_a_tombstone_and_a_change_of_the_key_are_shown(database: str) -> None:
    events = records(database)
    operations = {each["value"].get("op") for each in events if each["value"]}
    assert operations == OPERATIONS[database]
    assert any(each["value"] is None for each in events)
    headers = {name for each in events for name in each["headers"]}
    moved = {"__debezium.newkey", "__debezium.oldkey"}
    assert (headers & moved == moved) is (database != "mongodb")


@pytest.mark.parametrize("database", DATABASES)
def test_each_member_of_the_source_block_is_explained(database: str) -> None:
    source = next(
        each["value"]["source"]
        for each in records(database)
        if (each["value"] or {}).get("op") == "u"
    )
    common = names(column(section((ROOT / COMMON).read_text(), "The source block"), 0))
    explained = common + names(column(section(text_of(database), "The source block"), 0))
    assert set(source) == set(explained)
    assert set(SOURCE[database].split()) <= set(source)


@pytest.mark.parametrize("database", DATABASES)
def test_the_formats_are_compared_member_by_member(database: str) -> None:
    compared = [match for match in MARKED.finditer(text_of(database)) if match[1] == "compared"]
    assert compared
    for match in compared:
        part, *both = match[2].split()
        now, then = (at(record(*each), part)["source"] for each in (both[:2], both[2:]))
        assert now["version"].startswith("3.6.")
        assert then["version"].startswith("2.5.")
        paths = re.findall(r"^\| `source\.(\w+)`", match[0], re.M)
        assert {*paths} == {*now} | {*then}


def test_the_common_page_explains_every_member_and_operation() -> None:
    text = (ROOT / COMMON).read_text()
    envelope = names(column(section(text, "The envelope"), 0))
    for database in DATABASES:
        events = [each["value"] for each in records(database) if each["value"]]
        assert {name for each in events if "op" in each for name in each} - {"message"} <= {
            *envelope
        }
    operations = names(column(section(text, "What happened: `op`"), 0))
    assert set(operations) == set.union(*OPERATIONS.values())


def test_the_examples_of_transactions_are_a_beginning_and_an_end() -> None:
    statuses = [
        record(*arguments)["value"]["status"]
        for arguments, _ in examples((ROOT / COMMON).read_text())
        if "transactions" in arguments[0]
    ]
    assert statuses == ["BEGIN", "END"]


def test_the_blocks_of_json_are_all_recorded() -> None:
    for page in (COMMON, *(f"docs/guides/events/{name}.md" for name in DATABASES)):
        text = (ROOT / page).read_text()
        assert len(re.findall(r"^```json", text, re.M)) == len(examples(text))
    assert json.dumps(record("postgresql/basics", "1")["key"]) == '{"id": 1}'
