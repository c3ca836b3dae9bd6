"""A reader of `from-debezium.md`: what Debezium had not delivered comes, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import block, blocks
from tests.docs.shop import Shop, events, shop
from tests.docs.terminal import ENDS, Terminal
from tests.resident.resident import Resident
from tests.servers.mongodb import MongoDatabase

FIRST, PAGE = "docs/guides/first-steps.md", "docs/guides/from-debezium.md"
LEFT_BY_DEBEZIUM = """
SELECT pg_create_logical_replication_slot('debezium', 'pgoutput');
UPDATE inventory.orders SET quantity = 9 WHERE id = 3;
INSERT INTO inventory.customers VALUES (3, 'Cem');
"""


@pytest.fixture
def database() -> Iterator[Shop]:
    with shop() as created:
        yield created


@pytest.mark.postgres
@pytest.mark.spark
def test_a_slot_that_debezium_left_is_continued_from(
    database: Shop, tmp_path: Path, resident: Resident
) -> None:
    terminal = Terminal(tmp_path, database.substitutes, resident)
    database.run(block(FIRST, "CREATE ROLE"))
    # What is written while neither of the two runs is after the slot's place.
    for statement in LEFT_BY_DEBEZIUM.strip().split("\n"):
        database.execute(statement)
    database.run(block(PAGE, "confirmed_flush_lsn"))
    (only, _) = (block for block in blocks(PAGE, "properties") if "snapshot.mode" in block.text)
    more = terminal.text(only)
    terminal.write("application.properties", block(FIRST, "connector.class"), more)
    terminal.type("export CDC_PASSWORD=secret")
    terminal.run(block(PAGE, "headrace check"))
    terminal.run(block(PAGE, "headrace events"))
    assert [(topic, op) for topic, op, _ in events(tmp_path / "events.jsonl")] == [
        ("shop.inventory.orders", "u"),
        ("shop.inventory.customers", "c"),
    ]


@pytest.mark.mongodb
@pytest.mark.spark
def test_the_time_of_debeziums_last_event_is_where_mongodb_is_gone_on(
    mongo_database: MongoDatabase, tmp_path: Path, resident: Resident
) -> None:
    terminal = Terminal(tmp_path, {})
    (page_time,) = (json.loads(block(PAGE, '"sec"').text.replace("…", "")),)
    arithmetic = block(PAGE, "python3 -c")
    example_block = block(PAGE, "capture.start.op.time=")
    assert terminal.run(arithmetic).strip() in example_block.text
    orders = mongo_database.collections["orders"]
    orders.insert_one({"_id": 1})
    with mongo_database.client.start_session() as session:
        orders.insert_one({"_id": 2}, session=session)
        last = session.operation_time
    assert last is not None
    orders.insert_one({"_id": 3})
    here = Terminal(
        tmp_path,
        {
            f"({page_time['sec']} << 32) + {page_time['ord']}": f"({last.time} << 32) + {last.inc}",
            terminal.run(arithmetic).strip(): str((last.time << 32) + last.inc),
        },
        resident,
    )
    assert here.run(arithmetic).strip() in here.text(example_block)
    more = here.text(example_block)
    lines = "".join(f"{name}={text}\n" for name, text in mongo_database.properties().items())
    (tmp_path / "application.properties").write_text(
        lines
        + "value.converter.schemas.enable=false\nkey.converter.schemas.enable=false\n"
        + more
        + ENDS
    )
    here.run(block(PAGE, "headrace events"))
    changes = events(tmp_path / "events.jsonl")
    # That of the time itself comes again, the one before does not.
    assert [(op, json.loads(after)["_id"]) for _, op, after in changes] == [("c", 2), ("c", 3)]
