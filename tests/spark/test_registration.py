"""Schemas are registered in the source process, and their ids travel with slices."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest

from headrace.errors import HeadraceError
from headrace.kafka import registry as client
from headrace.kafka.registry import Registry
from headrace.kafka.schema_ids import SchemaIds
from headrace.spark import task
from headrace.spark.data_source import HeadraceReader
from headrace.spark.registration import SchemaRegistration
from headrace.spark.slice_partition import partitions_of
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database
from tests.servers.registry import RegistryServer
from tests.servers.registry_door import Door

pytestmark = pytest.mark.postgres
TABLES = """
CREATE TABLE orders (id int PRIMARY KEY, n int NOT NULL);
CREATE TABLE others (id int PRIMARY KEY);
ALTER TABLE orders REPLICA IDENTITY FULL;
INSERT INTO orders VALUES (1, 10), (2, 20);
"""
CHAIN = {
    "transforms": "unwrap,big,route",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "transforms.big.type": "io.debezium.transforms.Filter",
    "transforms.big.language": "groovy",
    "transforms.big.condition": "topic.endsWith('orders') && value.n > 15",
    "transforms.route.type": "RegexRouter",
    "transforms.route.regex": ".*[.](.*)",
    "transforms.route.replacement": "$1",
}
BY_VALUE = {
    "transforms": "sort",
    "transforms.sort.type": "io.debezium.transforms.ContentBasedRouter",
    "transforms.sort.language": "groovy",
    "transforms.sort.topic.expression": "value.after == null ? null : 'n' + value.after.n",
}


@pytest.fixture
def door(registry_server: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    monkeypatch.setattr(client, "_FIRST_WAIT_MS", 10)
    with Door(registry_server.url) as opened:
        yield opened


class Stream:
    """A stream with Avro through a door; each range is read in a worker of its own."""

    def __init__(
        self, database: Database, door: Door, patch: pytest.MonkeyPatch, **more: str
    ) -> None:
        database.execute(TABLES)
        self._patch, self.door = patch, door
        avro = {
            f"{role}.converter{option}": text
            for role in ("key", "value")
            for option, text in (("", "avro"), (".schema.registry.url", door.url_with_credentials))
        }
        chosen = {name.replace("_", "."): text for name, text in more.items()}
        self.reader = Reader(database.properties() | avro | CHAIN | chosen)
        self.start()

    def start(self) -> None:
        """A source process."""
        self.registration = SchemaRegistration(self.reader.config, SchemaIds())

    def partitions(self) -> list[bytes]:
        """The next range as it travels to tasks; the same one until it is read."""
        end = self.reader.plan()
        slices = self.reader.open().slices(self.reader.offsets[-1], end)
        self._end = end
        return [pickle.dumps(p) for p in partitions_of(slices, None, self.registration.ids_of)]

    def read(self, partitions: list[bytes]) -> list[dict[str, Any]]:
        self._patch.setattr(task, "schema_ids", SchemaIds())
        self._patch.setattr(task, "_converters", {})
        self.reader.offsets.append(self._end)
        task_side = HeadraceReader(self.reader.config)
        return [
            row
            for partition in partitions
            for batch in task_side.read(pickle.loads(partition))
            for row in batch.to_pylist()
        ]

    def read_until(self, count: int) -> list[dict[str, Any]]:
        """Ranges until there are so many records; no task may come to the door."""
        rows: list[dict[str, Any]] = []
        while len(rows) < count:
            partitions = self.partitions()
            before = self.door.requests
            rows += self.read(partitions)
            assert self.door.requests == before, "a task asked the registry"
        return rows


def decoded(server: RegistryServer, raw: bytes) -> Any:
    text = Registry({"url": server.url}).by_id(int.from_bytes(raw[1:5], "big"))
    return fastavro.schemaless_reader(io.BytesIO(raw[5:]), fastavro.parse_schema(json.loads(text)))


def test_tasks_of_a_snapshot_and_of_the_log_need_no_registry(
    database: Database, door: Door, registry_server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(database, door, monkeypatch)
    (read,) = stream.read_until(1)
    assert (read["topic"], decoded(registry_server, read["key"])) == ("orders", {"id": 2})
    assert decoded(registry_server, read["value"]) == {"id": 2, "n": 20, "__deleted": "false"}
    database.execute("INSERT INTO orders VALUES (3, 30); DELETE FROM orders WHERE id = 2")
    rows = stream.read_until(2)
    values = [decoded(registry_server, row["value"]) for row in rows]
    assert sorted((each["id"], each["__deleted"]) for each in values) == [(2, "true"), (3, "false")]
    assert {row["value"][:5] for row in rows} == {read["value"][:5]}
    database.execute("ALTER TABLE orders ADD note text; INSERT INTO orders VALUES (4, 40, 'x')")
    (wider,) = stream.read_until(1)
    assert decoded(registry_server, wider["value"])["note"] == "x"
    # What no record can have was not registered.
    subjects = set(registry_server.subjects())
    assert {"orders-key", "orders-value"} <= subjects
    assert not {subject for subject in subjects if subject.startswith("others")}
    stream.reader.stop()


def test_a_range_that_is_planned_again_takes_the_same_ids_along(
    database: Database, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(database, door, monkeypatch, snapshot_mode="no_data")
    stream.reader.step()
    database.execute("INSERT INTO orders VALUES (5, 50)")
    schema_ids = []
    for _ in range(2):
        partitions = stream.partitions()
        while not partitions:
            stream.reader.step()
            partitions = stream.partitions()
        schema_ids.append([pickle.loads(partition).schema_ids for partition in partitions])
        stream.reader.restart()
        stream.start()
    assert schema_ids[0] == schema_ids[1] != [{}]


def test_what_only_values_show_is_asked_for_once_per_worker(
    database: Database, door: Door, registry_server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(database, door, monkeypatch, snapshot_mode="no_data", **BY_VALUE)
    stream.reader.step()
    database.execute("INSERT INTO orders SELECT i, i % 2 FROM generate_series(100, 199) i")
    partitions: list[bytes] = []
    while not partitions:
        partitions = stream.partitions()
    before = door.requests
    rows = stream.read([*partitions, *partitions])
    assert {row["topic"] for row in rows} == {"n0", "n1"}
    assert len(rows) == 200
    assert door.requests == before + 4  # key and value of two topics
    assert decoded(registry_server, rows[0]["value"])["op"] == "c"
    stream.reader.stop()


def test_without_a_registry_the_source_process_says_so_and_tasks_are_not_begun(
    database: Database, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(database, door, monkeypatch)
    door.shut()
    stream.reader.offsets.append(stream.reader.plan())
    with pytest.raises(HeadraceError) as raised:
        stream.partitions()
    error = raised.value
    assert error.code == "registry.unreachable"
    assert error.retriable
    assert "schema.registry.url" in error.remedy
    assert "secret" not in str(error)
    assert f"{door.url} does not answer" in error.message
    door.failures = 0
    assert stream.read_until(1)
    stream.reader.stop()
