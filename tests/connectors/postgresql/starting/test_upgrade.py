"""A checkpoint that version 1 of the offsets wrote, whose sequences have 41 characters, goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.sinks.file.output import Output
from headrace.sinks.file.parts import FilePart, write_part
from headrace.spark.task import read_slice
from tests.connectors.harness import ConnectorReader
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

BETWEEN = ["v", "server", "epoch", "system", "lsn_commit", "last_commit", "ts_usec"]
INSIDE = ["txn", "txn_index", "lsn"]
CUT = ["slices", "order"]
SHORT, LONG = 41, 57


def of_version_1(offset: Mapping[str, Any]) -> dict[str, Any]:
    """The members that version 1 wrote, in their order."""
    if offset["epoch"] == 0 or "epoch" not in offset:
        return {"v": 1, "server": offset["server"]}
    inside = INSIDE if "txn" in offset else []
    snapshot = ["snapshot"] if "snapshot" in offset else []
    names = [*BETWEEN, *inside, *CUT, *snapshot]
    assert names == list(offset)
    return {**{name: offset[name] for name in names}, "v": 1}


@dataclass
class OldReader(Reader):
    """Writes offsets as version 1 did."""

    def plan(self, seconds: float = 0.1) -> dict[str, Any]:
        after = self.offsets[-1]
        self.offsets[-1] = after | {"v": 2}
        end = super().plan(seconds)
        is_new = end != self.offsets[-1]
        self.offsets[-1] = after
        return of_version_1(end) if is_new else after


def started(database: Database, **more: str) -> OldReader:
    properties = {name.replace("__", "."): value for name, value in more.items()}
    reader = OldReader(database.properties() | {"table.include.list": "public\\.t"} | properties)
    reader.offsets[:] = [{"v": 1, "server": reader.config.topic_prefix}]
    return reader


def upgraded(old: OldReader, in_flight: Mapping[str, Any]) -> Reader:
    """A reader of today over the checkpoint of `old`, whose last range, up to `in_flight`, was
    planned and is read again."""
    planned = old.read(in_flight)
    old.stop()
    reader = Reader(old.properties, offsets=old.offsets, records=old.records)
    again = reader.read(in_flight)
    assert [r["sequence"] for r in again] == [r["sequence"] for r in planned]
    assert [(r["topic"], r["key"]) for r in again] == [(r["topic"], r["key"]) for r in planned]
    assert {len(record["sequence"]) for record in again} <= {SHORT}
    reader.records += again
    reader.offsets.append(dict(in_flight))
    return reader


def check_upgrade(reader: Reader, database: Database) -> None:
    """The first new range is empty and raises the epoch; nothing is lost, double or misplaced."""
    last_offset = reader.offsets[-1]
    count = len(reader.records)
    assert reader.step()
    first = reader.offsets[-1]
    assert first == last_offset | {"v": 2, "epoch": last_offset["epoch"] + 1, "slices": 1}
    assert len(reader.records) == count
    reader.drain()
    database.execute("UPDATE t SET v = 'later' WHERE id % 3 = 0; DELETE FROM t WHERE id % 7 = 0")
    reader.drain()
    reader.stop()
    sequences = [record["sequence"] for record in reader.records]
    assert len(set(sequences)) == len(sequences)
    assert {len(sequence) for sequence in sequences} == {SHORT, LONG}
    assert {len(sequence) for sequence in sequences[count:]} == {LONG}
    assert max(sequences[:count]) < min(sequences[count:])
    assert reader.fold("t") == table(database)


def table(database: Database) -> dict[str, Any]:
    rows = database.execute("SELECT to_json(x) FROM t x")
    return {json.dumps({"id": row["id"]}): row for (row,) in rows}


TABLE = "CREATE TABLE t (id int PRIMARY KEY, v text)"


def until(old: OldReader, condition: Callable[[Mapping[str, Any]], bool]) -> dict[str, Any]:
    """The end of a range for which the condition holds; it is planned, not read."""
    for _ in range(1000):
        end = old.plan()
        if condition(end):
            return end
        old.records += old.read(end)
        old.offsets.append(end)
    raise AssertionError("no such end")


def test_an_upgrade_in_the_middle_of_a_transaction(database: Database) -> None:
    database.execute(TABLE)
    old = started(database, snapshot__mode="no_data", headrace__range__max__rows="100")
    old.step()
    database.execute("INSERT INTO t SELECT i, 'first' FROM generate_series(1, 50) i")
    database.execute(
        "BEGIN; INSERT INTO t SELECT i, 'many' FROM generate_series(51, 900) i;"
        " UPDATE t SET v = 'changed' WHERE id % 2 = 0; COMMIT"
    )
    in_flight = until(old, lambda end: end.get("txn_index", 0) > 300)
    check_upgrade(upgraded(old, in_flight), database)


def test_an_upgrade_in_the_middle_of_a_snapshot(database: Database) -> None:
    database.execute(
        f"{TABLE}; INSERT INTO t SELECT i, repeat('long ', 200) FROM generate_series(1, 3000) i"
    )
    old = started(database, headrace__snapshot__chunk__bytes="40kB", headrace__slices="1")
    in_flight = until(
        old, lambda end: end.get("snapshot", {}).get("chunks", []) != [] and len(old.offsets) > 3
    )
    database.execute("UPDATE t SET v = 'meanwhile' WHERE id % 5 = 0")
    check_upgrade(upgraded(old, in_flight), database)


def parts_of(
    reader: ConnectorReader, end: Mapping[str, Any], output: Output, batch: int, attempt: str
) -> list[FilePart]:
    """The range up to `end` as tasks of the file sink write it."""
    return [
        write_part(
            output.parts, f"{batch}-{number}-{attempt}", read_slice(part, reader.config),
            indexed=True,
        )
        for number, part in enumerate(reader.open().slices(reader.offsets[-1], end))
    ]  # fmt: skip


@pytest.mark.parametrize("commits_before", [False, True])
def test_an_upgrade_in_the_middle_of_a_file_batch(
    database: Database, tmp_path: Path, *, commits_before: bool
) -> None:
    database.execute(TABLE)
    old = started(database, snapshot__mode="no_data", headrace__slices="3")
    output = Output(tmp_path / "out.jsonl", tmp_path / "state")
    output.open()
    old.step()
    batch = 1

    def commit(reader: ConnectorReader, end: dict[str, Any]) -> None:
        nonlocal batch
        output.commit(parts_of(reader, end, output, batch, "a"), batch, "q")
        reader.offsets.append(end)
        batch += 1

    for value in ("first", "second"):
        database.execute(
            f"INSERT INTO t SELECT i, '{value}' FROM generate_series(1, 300) i"
            " ON CONFLICT (id) DO UPDATE SET v = excluded.v"
        )
        commit(old, until(old, lambda end: end != old.offsets[-1]))
    database.execute("UPDATE t SET v = v || id; DELETE FROM t WHERE id % 9 = 0")
    in_flight = until(old, lambda end: end != old.offsets[-1])
    # Parts are there, and the batch may be in the output; Spark's log has not heard of it.
    parts = parts_of(old, in_flight, output, batch, "before")
    if commits_before:
        output.commit(parts, batch, "q")
    old.stop()
    reader = Reader(old.properties, offsets=old.offsets)
    assert {len(part.first) for part in parts if part.rows} == {SHORT}
    output.open()
    commit(reader, dict(in_flight))
    commit(reader, reader.plan())
    assert reader.offsets[-1]["epoch"] == in_flight["epoch"] + 1
    database.execute("UPDATE t SET v = 'last' WHERE id % 2 = 0")
    end = reader.offsets[-1]
    while (end := reader.plan()) != reader.offsets[-1]:
        commit(reader, end)
    reader.stop()
    rows: dict[str, Any] = {}
    for line in (tmp_path / "out.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["value"] is None or record["value"]["op"] == "d":
            rows.pop(json.dumps(record["key"]), None)
        else:
            rows[json.dumps(record["key"])] = record["value"]["after"]
    assert rows == table(database)
