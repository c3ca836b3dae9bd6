"""One key is one key: what renders the same has one hash and one slice, and stays an update."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from headrace.spark.task import read_slice
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

LONG = "".join(chr(97 + i % 26) for i in range(2500))


class SlicedReader(Reader):
    """Remembers in which slices the records of a key travelled, by range."""

    def __init__(self, properties: dict[str, str]) -> None:
        super().__init__(properties)
        self.slices: dict[tuple[int, str, str | None], set[int]] = defaultdict(set)

    def read(self, end: dict[str, Any]) -> list[dict[str, Any]]:
        all_records = []
        for number, part in enumerate(self.open().slices(self.offsets[-1], end)):
            for batch in read_slice(part, self.config):
                records = [dict(record) for record in batch.to_pylist()]
                for record in records:
                    self.slices[len(self.offsets), record["topic"], record["key"]].add(number)
                all_records += records
        return all_records

    def shown(self) -> list[tuple[str, Any]]:
        """(operation, key) of every record in total order."""
        ordered = sorted(self.records, key=lambda record: record["sequence"])
        return [
            ("tombstone" if r["value"] is None else json.loads(r["value"])["op"], r["key"])
            for r in ordered
        ]


def streamed(database: Database, table: str, changes: str, **more: str) -> SlicedReader:
    """The events of `changes`, which come in one transaction."""
    database.execute(table)
    reader = SlicedReader(
        database.properties()
        | {"snapshot.mode": "no_data"}
        | {name.replace("__", "."): value for name, value in more.items()}
    )
    reader.step()
    database.execute(f"BEGIN; {changes}; COMMIT")
    reader.drain()
    reader.stop()
    return reader


FILLER = "CREATE TABLE filler (id int PRIMARY KEY, v text);"
# Enough rows for several slices.
FILL = "INSERT INTO filler SELECT i, repeat('x', 500) FROM generate_series(1, 9000) i"


def test_the_events_of_a_key_stored_out_of_line_have_that_key(database: Database) -> None:
    reader = streamed(
        database,
        "CREATE TABLE t (k text PRIMARY KEY, v int); ALTER TABLE t ALTER k SET STORAGE EXTERNAL",
        f"INSERT INTO t VALUES ('{LONG}', 1); UPDATE t SET v = 2; DELETE FROM t",
    )
    key = json.dumps({"k": LONG}, separators=(",", ":"))
    assert reader.shown() == [(op, key) for op in ("c", "u", "d", "tombstone")]
    assert reader.events()[1]["after"] == {"k": LONG, "v": 2}


def test_a_change_of_the_other_key_column_keeps_the_one_stored_out_of_line(
    database: Database,
) -> None:
    reader = streamed(
        database,
        "CREATE TABLE t (a int, k text, v text, PRIMARY KEY (a, k));"
        "ALTER TABLE t ALTER k SET STORAGE EXTERNAL, ALTER v SET STORAGE EXTERNAL",
        f"INSERT INTO t VALUES (1, '{LONG}', '{LONG * 2}'); UPDATE t SET a = 2",
    )
    assert [(event["op"], event["key"]) for event in reader.events()] == [
        ("c", {"a": 1, "k": LONG}),
        ("d", {"a": 1, "k": LONG}),
        ("c", {"a": 2, "k": LONG}),
    ]
    created = max(reader.records, key=lambda record: record["sequence"])
    # The log has the key's old text, and nothing of what is no key.
    assert json.loads(created["value"])["after"] == {
        "a": 2,
        "k": LONG,
        "v": "__debezium_unavailable_value",
    }
    headers = {h["key"]: h["value"] for r in reader.records for h in r["headers"] or ()}
    assert json.loads(headers["__debezium.newkey"]) == {"a": 2, "k": LONG}
    assert json.loads(headers["__debezium.oldkey"]) == {"a": 1, "k": LONG}


@pytest.mark.parametrize(
    ("kind", "texts", "properties"),
    [
        ("numeric", ("1.0", "1.00", "1"), {}),
        ("numeric", ("1.0", "1.00", "1"), {"decimal.handling.mode": "double"}),
        ("interval", ("1 day", "24:00:00", "1 day"), {}),
        ("varbit", ("0", "00", "000"), {}),
        ("time", ("00:00:00", "24:00:00", "00:00:00"), {"time.precision.mode": "isostring"}),
        (
            "timestamp",
            ("2020-01-01 00:00:00.0001", "2020-01-01 00:00:00.0002", "2020-01-01"),
            {"time.precision.mode": "connect"},
        ),
        ("timetz", ("10:00:00+00", "11:00:00+01", "12:00:00+02"), {}),
    ],
)
def test_texts_that_render_as_one_key_are_one_key(
    database: Database, kind: str, texts: tuple[str, ...], properties: dict[str, str]
) -> None:
    first, second, third = texts
    reader = streamed(
        database,
        f"{FILLER} CREATE TABLE t (id {kind} PRIMARY KEY, v int)",
        f"INSERT INTO t VALUES ('{first}', 1); UPDATE t SET id = '{second}';"
        f"DELETE FROM t; INSERT INTO t VALUES ('{third}', 2); {FILL}",
        **properties,
    )
    ours = [
        (op, key)
        for (op, key), record in zip(
            reader.shown(), sorted(reader.records, key=lambda r: r["sequence"]), strict=True
        )
        if record["topic"].endswith(".t")
    ]
    assert len({key for _, key in ours}) == 1
    assert [op for op, _ in ours] == ["c", "u", "d", "tombstone", "c"]
    assert all(len(numbers) == 1 for numbers in reader.slices.values())
