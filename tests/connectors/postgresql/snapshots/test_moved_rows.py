"""Rows that come under other names, go or come with partitions, or stop being what their schema
says while a snapshot reads them: what the events make of a table is what it holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.connectors.postgresql.harness import Reader, properties_with
from tests.servers.postgresql import Database

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("small_chunks")]

PARTITIONS = """
CREATE TABLE m (id int NOT NULL, part int NOT NULL, v text{key}) PARTITION BY LIST (part);
CREATE TABLE m_a PARTITION OF m FOR VALUES IN (1);
CREATE TABLE m_b PARTITION OF m FOR VALUES IN (2);
CREATE TABLE m_c PARTITION OF m FOR VALUES IN (3);
INSERT INTO m SELECT i, 1 + (i - 1) / 550, repeat('row ' || i || ' ', 30)
FROM generate_series(1, 1650) i;
ALTER TABLE m REPLICA IDENTITY FULL; ALTER TABLE m_a REPLICA IDENTITY FULL;
ALTER TABLE m_b REPLICA IDENTITY FULL; ALTER TABLE m_c REPLICA IDENTITY FULL;
ANALYZE m
"""
KINDS = {
    "by key": (", PRIMARY KEY (id, part)", {}),
    "by page": ("", {"message__key__columns": "public.m:id,part"}),
    "without key": ("", {}),
}
OTHER_ROWS = "SELECT i + {shift}, {part}, 'other ' || i FROM generate_series(1, 550) i"


@dataclass(frozen=True)
class Change:
    """A statement on the partition `m_a`, whose rows are being read, and to `m_c`, which comes
    last. `loses`: their rows of before may stay in the events, because no event takes them away.
    `once`: no row is read twice."""

    sql: str
    loses: bool = False
    once: bool = False


def replaced(partition: str, part: int, shift: int) -> str:
    return (
        f"CREATE TABLE new (LIKE m INCLUDING ALL);"
        f"INSERT INTO new {OTHER_ROWS.format(part=part, shift=shift)};"
        f"ALTER TABLE m DETACH PARTITION {partition}; DROP TABLE {partition};"
        f"ALTER TABLE new RENAME TO {partition};"
        f"ALTER TABLE {partition} REPLICA IDENTITY FULL;"
        f"ALTER TABLE m ATTACH PARTITION {partition} FOR VALUES IN ({part});"
    )


CHANGES = {
    "rename": Change(
        "ALTER TABLE m_a RENAME TO x_a; ALTER TABLE m_c RENAME TO x_c;"
        "CREATE TABLE m_a AS SELECT id, part, 'of no partition' v FROM m;"
        "CREATE TABLE m_c (w int)",
        once=True,
    ),
    "swap": Change(
        "ALTER TABLE m_a RENAME TO x; ALTER TABLE m_c RENAME TO m_a; ALTER TABLE x RENAME TO m_c",
        once=True,
    ),
    "move to another schema": Change(
        "CREATE SCHEMA old; ALTER TABLE m_a SET SCHEMA old; ALTER TABLE m_c SET SCHEMA old",
        once=True,
    ),
    "replace": Change(replaced("m_a", 1, 250) + replaced("m_c", 3, 1250), loses=True),
    "detach": Change(
        "ALTER TABLE m DETACH PARTITION m_a; ALTER TABLE m DETACH PARTITION m_c;"
        "UPDATE m_a SET v = 'of no partition'; UPDATE m_c SET v = 'of no partition'",
        loses=True,
    ),
    "detach and attach again": Change(
        "ALTER TABLE m DETACH PARTITION m_a; ALTER TABLE m DETACH PARTITION m_c;"
        "UPDATE m_a SET v = 'changed aside'; UPDATE m_c SET v = 'changed aside';"
        "INSERT INTO m_a SELECT i, 1, 'aside' FROM generate_series(7001, 7009) i;"
        "ALTER TABLE m ATTACH PARTITION m_a FOR VALUES IN (1);"
        "ALTER TABLE m ATTACH PARTITION m_c FOR VALUES IN (3)",
    ),
    "drop": Change("DROP TABLE m_a, m_c", loses=True),
    "attach": Change(
        "CREATE TABLE m_d (LIKE m INCLUDING ALL); ALTER TABLE m_d REPLICA IDENTITY FULL;"
        f"INSERT INTO m_d {OTHER_ROWS.format(part=4, shift=10_000)};"
        "ALTER TABLE m ATTACH PARTITION m_d FOR VALUES IN (4)",
    ),
    "create": Change(
        "CREATE TABLE m_d PARTITION OF m FOR VALUES IN (4); ALTER TABLE m_d REPLICA IDENTITY FULL",
    ),
}
MOMENTS = ("before the first chunk", "between chunks", "planned", "after the last chunk")
EVERY_RUN = {
    ("rename", "between chunks", "by key"),
    ("swap", "planned", "by page"),
    ("replace", "planned", "by key"),
    ("replace", "between chunks", "without key"),
    ("detach and attach again", "between chunks", "by page"),
    ("detach", "planned", "by key"),
    ("attach", "after the last chunk", "by key"),
}

properties = properties_with(
    {
        "headrace.snapshot.chunk.bytes": "10kB",
        "headrace.slices": "1",
        "retriable.restart.connector.wait.ms": "50",
        "skipped.operations": "none",
        "publish.via.partition.root": "true",
        "publication.autocreate.mode": "filtered",
    }
)


def cells() -> list[Any]:
    every = itertools.product(CHANGES, MOMENTS, KINDS)
    return [
        pytest.param(
            *cell, id=", ".join(cell), marks=[] if cell in EVERY_RUN else [pytest.mark.chaos]
        )
        for cell in every
    ]


def chunks_read(reader: Reader) -> int:
    return sum(len((o.get("snapshot") or {}).get("chunks", ())) for o in reader.offsets)


def apply(reader: Reader, moment: str, change: Callable[[], object]) -> None:
    """Another session changes something at a moment of the snapshot."""
    reader.step()
    if moment == "before the first chunk":
        change()
        return
    if moment == "after the last chunk":
        reader.step_until(lambda: reader.offsets[-1]["snapshot"].get("done"))
        change()
        return
    reader.step_until(lambda: chunks_read(reader) >= 2)
    if moment == "between chunks":
        change()
        return
    end = reader.plan()
    change()
    reader.records += reader.read(end)
    reader.offsets.append(end)


def contents(database: Database) -> dict[tuple[int, int], str]:
    return {(i, part): v for i, part, v in database.execute("SELECT id, part, v FROM m")}


def events_of_last_epoch(reader: Reader) -> list[dict[str, Any]]:
    events = reader.events()
    last = events[-1]["sequence"][:4]
    return [event for event in events if event["sequence"][:4] == last]


def folded(reader: Reader) -> dict[tuple[int, int], str]:
    """The table out of the last epoch's events, by the columns that distinguish its rows."""
    rows: dict[tuple[int, int], str] = {}
    for event in events_of_last_epoch(reader):
        row = event["after"] or event["before"]
        if event["op"] == "d":
            rows.pop((row["id"], row["part"]), None)
        else:
            rows[row["id"], row["part"]] = row["v"]
    return rows


@pytest.mark.parametrize(("what", "moment", "kind"), cells())
def test_partitions_may_come_go_and_be_renamed_at_any_moment(
    database: Database, what: str, moment: str, kind: str
) -> None:
    change = CHANGES[what]
    key, more = KINDS[kind]
    database.execute(PARTITIONS.format(key=key))
    before = contents(database)
    reader = Reader(properties(database, table__include__list="public.m", **more))
    apply(reader, moment, lambda: database.execute(change.sql))
    database.execute(
        "UPDATE m SET v = 'later' WHERE id % 50 = 7; DELETE FROM m WHERE id % 50 = 8;"
        "INSERT INTO m SELECT i, 2, 'inserted' FROM generate_series(20001, 20009) i"
    )
    if what == "create":
        database.execute("INSERT INTO m SELECT i, 4, 'new' FROM generate_series(20101, 20109) i")
    reader.drain().stop()
    rebuilt, present = folded(reader), contents(database)
    assert {row: rebuilt.get(row) for row in present} == present
    extra = {row: v for row, v in rebuilt.items() if row not in present}
    assert extra == ({row: before[row] for row in extra} if change.loses else {})
    read = [event["after"] for event in reader.events() if event["op"] == "r"]
    reads = [(row["id"], row["part"]) for row in read]
    begins_again = len(events_of_last_epoch(reader)) < len(reader.events())
    assert not begins_again or kind == "without key"
    if change.once:
        assert len(reads) == len(set(reads)), "a row was read twice"
