"""The cases: files as their users have them, and the pair of files with which Kafka Connect's
standalone worker does the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.golden.database import PREFIX, Database
from tests.golden.kafka.records import PARTITIONS
from tests.golden.mongodb.database import MongoDatabase
from tests.golden.postgresql.database import PostgresDatabase
from tests.golden.workload import Workload, read

HERE = Path(__file__).parent
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_PLAIN_JSON = {
    "key.converter": _JSON, "key.converter.schemas.enable": "false",
    "value.converter": _JSON, "value.converter.schemas.enable": "false",
    "header.converter": _JSON, "header.converter.schemas.enable": "false",
}  # fmt: skip
_UNWRAP = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.add.fields": "op,table",
    # The last one is null: the events of this connector have no transaction.
    "transforms.unwrap.add.headers": "op,db,source.table,transaction.id",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite-with-tombstone",
}
_UNWRAP_DOCUMENTS = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
    "transforms.unwrap.add.headers": "op,db,source.collection",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite-with-tombstone",
}
_CREATION = {
    "topic.creation.default.partitions": str(PARTITIONS),
    "topic.creation.default.replication.factor": "1",
}

Files = dict[str, str]
"""Names and contents."""
Write = Callable[[Mapping[str, str], str], Files]
"""Writes files from the database's properties and the brokers' address."""


@dataclass(frozen=True)
class Case:
    """`ours` are the files that `headrace run` gets, `theirs` those of `connect-standalone`.
    `creates` where the files say how topics are created; else they are there before."""

    name: str
    kind: type[Database]
    ours: Write
    theirs: Write
    creates: bool

    @property
    def topic(self) -> str:
        """The topic of the table or collection."""
        schema = PREFIX if self.kind is MongoDatabase else "public"
        return f"{PREFIX}.{schema}.orders"

    @property
    def rows(self) -> int:
        """The number of rows that exist before the connector starts."""
        return 30 if self.kind is MongoDatabase else 40

    def workload(self) -> Workload:
        """The statements of the workload."""
        return read(HERE / "workloads" / f"orders{self.kind.suffix}")

    @property
    def recording(self) -> Path:
        """Debezium's records: a line each, partition by partition."""
        return HERE / "recordings" / f"{self.name}.jsonl"


def properties(texts: Mapping[str, str]) -> str:
    """A properties file."""
    return "".join(f"{name}={text}\n" for name, text in texts.items())


def worker(brokers: str, converters: Mapping[str, str]) -> str:
    """A worker as Kafka's own example has it."""
    return properties({
        "bootstrap.servers": brokers, "key.converter": _JSON, "value.converter": _JSON,
        **converters, "offset.storage.file.filename": "connect.offsets",
        "offset.flush.interval.ms": "1000", "listeners": "http://127.0.0.1:0",
        "plugin.discovery": "only_scan",
    })  # fmt: skip


def _server_file(transforms: Mapping[str, str]) -> Write:
    """Debezium Server's application.properties."""

    def write(database: Mapping[str, str], brokers: str) -> Files:
        serializer = "org.apache.kafka.common.serialization.StringSerializer"
        return {"application.properties": properties({
            "debezium.sink.type": "kafka",
            "debezium.sink.kafka.producer.bootstrap.servers": brokers,
            "debezium.sink.kafka.producer.key.serializer": serializer,
            "debezium.sink.kafka.producer.value.serializer": serializer,
            **{f"debezium.source.{name}": text for name, text in database.items()},
            "debezium.source.offset.storage.file.filename": "data/offsets.dat",
            "debezium.source.offset.flush.interval.ms": "0",
            "debezium.format.schemas.enable": "false",
            **{f"debezium.{name}": text for name, text in transforms.items()},
            "quarkus.log.console.json": "false",
        })}  # fmt: skip

    return write


def _pair(connector: Mapping[str, str], converters: Mapping[str, str]) -> Write:
    """`connect-standalone worker.properties connector.properties`."""

    def write(database: Mapping[str, str], brokers: str) -> Files:
        connector_properties = {"name": "orders", "tasks.max": "1", **database, **connector}
        return {
            "worker.properties": worker(brokers, converters),
            "connector.properties": properties(connector_properties),
        }

    return write


def _body(connector: Mapping[str, str]) -> Write:
    """The body that is posted to Kafka Connect."""

    def write(database: Mapping[str, str], brokers: str) -> Files:
        config = {
            **database, **connector, "headrace.sink.type": "kafka",
            "producer.override.bootstrap.servers": brokers,
        }  # fmt: skip
        return {"connector.json": json.dumps({"name": "orders", "config": config})}

    return write


_CHANGES = {
    "transforms": "changes",
    "transforms.changes.type": "io.debezium.transforms.ExtractChangedRecordState",
    "transforms.changes.header.changed.name": "Changed",
}
_ENVELOPES = {**_CHANGES, **_PLAIN_JSON, **_CREATION}
CASES = {
    case.name: case
    for case in (
        Case("postgresql_server", PostgresDatabase, _server_file(_UNWRAP),
             _pair({**_UNWRAP, **_PLAIN_JSON}, {}), creates=False),
        Case("mongodb_server", MongoDatabase, _server_file(_UNWRAP_DOCUMENTS),
             _pair({**_UNWRAP_DOCUMENTS, **_PLAIN_JSON}, {}), creates=False),
        Case("postgresql_body", PostgresDatabase, _body(_ENVELOPES), _pair(_ENVELOPES, {}),
             creates=True),
        Case("postgresql_pair", PostgresDatabase, _pair(_CREATION, {}), _pair(_CREATION, {}),
             creates=True),
    )
}  # fmt: skip
