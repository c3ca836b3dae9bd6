"""A reader of `first-steps.md` who types what it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import block
from tests.docs.shop import Shop, events, shop
from tests.docs.terminal import ENDS, Terminal
from tests.resident.resident import Resident

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
PAGE = "docs/guides/first-steps.md"


@pytest.fixture(scope="module")
def database() -> Iterator[Shop]:
    with shop() as created:
        yield created


def test_the_five_minutes_end_with_every_change_in_a_file_and_no_slot(
    database: Shop, tmp_path: Path, resident: Resident
) -> None:
    terminal = Terminal(tmp_path, database.substitutes)
    started = Terminal(tmp_path, database.substitutes, resident)
    started.type("export CDC_PASSWORD=secret")
    database.run(block(PAGE, "ALTER SYSTEM"))
    terminal.write("application.properties", block(PAGE, "connector.class"))
    database.run(block(PAGE, "CREATE ROLE"))
    checked = terminal.run(block(PAGE, "headrace check"))
    assert ", 0 errors, 1 warning" in checked
    watched = terminal.run(block(PAGE, "headrace run"))
    assert watched.count("read") == 5
    assert database.slots() == set()
    keep = block(PAGE, "headrace events")
    started.run(keep)
    output = tmp_path / "events.jsonl"
    assert [op for _, op, _ in events(output)] == ["r"] * 5
    database.run(block(PAGE, "UPDATE"))
    started.run(keep)
    assert [(op, after) for _, op, after in events(output)[5:]] == [
        ("u", {"id": 1, "customer": 1, "quantity": 7, "region": "EU"}),
        ("d", None),
    ]
    # Without a limit: it ends because its reader does, and not with the last change.
    file = tmp_path / "application.properties"
    file.write_text(file.read_text().removesuffix(ENDS))
    printed = terminal.run(block("docs/guides/command-line.md", "| head -2"))
    assert len([line for line in printed.splitlines() if line.startswith('{"topic"')]) == 2
    listed = terminal.run(block(PAGE, "headrace slots application"))
    assert "debezium" in listed
    terminal.run(block(PAGE, "headrace slots drop"))
    assert database.slots() == set()
    assert not output.exists()
