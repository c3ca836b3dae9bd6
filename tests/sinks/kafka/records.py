"""Records for a broker, and what an independent client reads of them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from headrace.sinks.kafka.options import KafkaOptions
from tests.servers.kafka import KafkaServer

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
Headers = list[tuple[str, bytes | None]] | None


class Record(NamedTuple):
    """A record as it is produced; `partition` None: the partition of its key."""

    key: bytes | None
    value: bytes | None
    headers: Headers = None
    partition: int | None = None


def batch_of(topic: str, records: Sequence[Record]) -> pa.RecordBatch:
    """The columns that a stream has."""
    return pa.record_batch({
        "topic": pa.array([topic] * len(records), pa.string()),
        "partition": pa.array([record.partition for record in records], pa.int32()),
        "key": pa.array([record.key for record in records], pa.binary()),
        "value": pa.array([record.value for record in records], pa.binary()),
        "headers": pa.array([record.headers for record in records], HEADERS),
        "sequence": pa.array([f"{number:057x}" for number in range(len(records))], pa.string()),
    })  # fmt: skip


def numbered(topic: str, first: int, last: int) -> pa.RecordBatch:
    """Records with the values `first` to `last`, of ten keys."""
    return batch_of(topic, [Record(b"k%d" % (n % 10), b"%d" % n) for n in range(first, last + 1)])


def fresh_name() -> str:
    """A name for topics and queries, which share the broker."""
    return f"t{uuid.uuid4().hex[:12]}"


def options_for(kafka: KafkaServer, name: str, **more: str) -> KafkaOptions:
    """The options of a query; `more` uses `_` for `.`."""
    options = {f"kafka.{option}": text for option, text in kafka.client.items()}
    options |= {option.replace("_", "."): text for option, text in more.items()}
    return KafkaOptions.of(
        {
            "kafka.bootstrap.servers": kafka.address,
            "topic.creation.default.partitions": "3",
            **options,
        },
        name=name,
    )


def read_topic(kafka: KafkaServer, topic: str, *, committed: bool = True) -> list[Record]:
    """All records of a topic, partition by partition, each with its partition."""
    isolation = "read_committed" if committed else "read_uncommitted"
    consumer = Consumer({
        "bootstrap.servers": kafka.address, "group.id": "reader", "enable.partition.eof": "true",
        "isolation.level": isolation,
        "auto.offset.reset": "earliest", "fetch.wait.max.ms": "10", **kafka.client,
    })  # fmt: skip
    try:
        ends = kafka.ends(topic, isolation)
        consumer.assign([TopicPartition(topic, number, 0) for number in ends])
        unread = set(ends)
        records = []
        deadline = time.monotonic() + 120
        while unread:
            assert time.monotonic() < deadline, f"{topic}: {unread} do not end"
            for message in consumer.consume(1000, 0.05):
                number = message.partition()
                if message.error() is None:
                    records.append(
                        Record(message.key(), message.value(), message.headers(), number)
                    )
                elif message.offset() >= ends[number] or committed:
                    unread.discard(number)
        return records
    finally:
        consumer.close()


def values(records: Sequence[Record]) -> list[int]:
    """The values of `numbered` records, sorted."""
    return sorted(int(record.value or b"-1") for record in records)
