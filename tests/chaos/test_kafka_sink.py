"""kill -9 of every process and of the broker, while events go to Kafka: the bank test."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from headrace.testing.embedded import PostgresServer
from tests.chaos.databases.postgresql import ChaosPostgres
from tests.chaos.forms import Envelopes
from tests.chaos.killer import EARLY, KINDS, Kill, Killer
from tests.chaos.run import Run, newest_of, wait_for
from tests.chaos.transfers import Transfers, check
from tests.servers.kafka import KafkaServer

CLIENTS = 8
PARTITIONS = 4


class KafkaRun(Run):
    """`headrace run` into the topics of a broker."""

    def __init__(self, database: ChaosPostgres, folder: Path, kafka: KafkaServer) -> None:
        super().__init__(
            database,
            folder,
            headrace_sink_type="kafka",
            headrace_sink_kafka_producer_bootstrap_servers=kafka.address,
            headrace_sink_kafka_sequence_header="true",
            topic_creation_default_partitions=str(PARTITIONS),
            headrace_slices="3",
            headrace_range_max_rows="5000",
        )
        self.broker = kafka

    def words(self) -> list[str]:
        return ["run", str(self.folder / "connector.properties"), "--checkpoint", str(self.state)]

    def lines(self) -> int:
        """Finished micro-batches: each has something."""
        return newest_of(self.checkpoint / "commits") + 1

    def fetch(self) -> int:
        """Write what a reader of committed records sees in order of `headrace.sequence` to the
        output, and look at the order of each key; returns the number of records."""
        assert self.broker is not None
        records = read_committed(self.broker, "chaos.")
        sequences = Counter(sequence for _, _, sequence, _, _ in records)
        assert [sequence for sequence, count in sequences.items() if count > 1][:5] == [], "twice"
        orders = defaultdict(list)
        for topic, number, sequence, key, _ in records:
            orders[topic, key].append((number, sequence))
        for (topic, key), places in orders.items():
            assert len({number for number, _ in places}) == 1, f"{topic} {key}: two partitions"
            assert places == sorted(places), f"{topic} {key} is out of order"
        with self.output.open("w") as lines:
            for topic, _, _, key, value in sorted(records, key=lambda record: record[2]):
                lines.write(f'{{"topic":"{topic}","key":{key},"value":{value}}}\n')
        return len(records)


def read_committed(kafka: KafkaServer, prefix: str) -> list[tuple[str, int, str, str, str]]:
    """Topic, partition, sequence, key and value of each record, partition by partition in order."""
    consumer = Consumer({
        "bootstrap.servers": kafka.address, "group.id": "bank", "enable.partition.eof": "true",
        "auto.offset.reset": "earliest", "log_level": "2",
    })  # fmt: skip
    try:
        topics = consumer.list_topics(timeout=60).topics
        places = [
            TopicPartition(name, number, 0)
            for name, topic in topics.items()
            if name.startswith(prefix)
            for number in topic.partitions
        ]
        consumer.assign(places)
        unread = {(place.topic, place.partition) for place in places}
        records = []
        deadline = time.monotonic() + 300
        while unread:
            assert time.monotonic() < deadline, f"they do not end: {unread}"
            for message in consumer.consume(10_000, 0.5):
                if message.error() is not None:
                    unread.discard((message.topic(), message.partition()))
                    continue
                headers = dict(message.headers())
                value = message.value()
                records.append((
                    message.topic(), message.partition(), headers["headrace.sequence"].decode(),
                    message.key().decode(), "null" if value is None else value.decode(),
                ))  # fmt: skip
        return records
    finally:
        consumer.close()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[KafkaRun]:
    kafka = KafkaServer()
    kafka.start()
    try:
        with PostgresServer() as server:
            kafka_run = KafkaRun(ChaosPostgres(server), tmp_path, kafka)
            yield kafka_run
            kafka_run.close()
    finally:
        kafka.close()


def survive(run: KafkaRun, kills: Sequence[Kill], seed: int) -> None:
    """One kill after the other under transfers of eight clients, then compare everything."""
    database = run.database
    clients = [
        Transfers(database, seed + n, clients=CLIENTS, creates=n == 0) for n in range(CLIENTS)
    ]
    killer = Killer(run, random.Random(seed))
    for client in clients:
        client.start()
    try:
        for number, (moment, kind) in enumerate(kills, 1):
            killer.strike(number, moment, kind)
        wait_for(run.tail, killer.streams(), pause=0.2)
        wait_for(run.tail, killer.goes_on(), pause=0.2)
    finally:
        for client in clients:
            client.stop()
    run.catch_up()
    run.end()
    assert run.begun is not None
    first, consistent = database.place(run.begun), database.consistent(run.offset())
    count = run.fetch()
    counts = check(database, run.output, first, consistent, Envelopes())
    print(counts, f"{count} records, {len(run.sessions)} starts")
    plan = json.loads((run.state / "kafka" / "plan.json").read_text())
    assert plan["turn"]["width"] == 3, "no range was cut into slices"


TWO = (("batch", "broker"), ("streaming", "driver"))
FIVE = (("batch", "worker"), TWO[0], ("progress", "source"), TWO[1], ("streaming", "broker"))


@pytest.mark.spark
@pytest.mark.postgres
@pytest.mark.parametrize(
    "kills",
    [pytest.param(TWO, id="two"), pytest.param(FIVE, marks=pytest.mark.chaos, id="five")],
)
def test_kills_lose_nothing_and_double_nothing_in_kafka(
    run: KafkaRun, kills: Sequence[Kill]
) -> None:
    survive(run, kills, seed=11)


@pytest.mark.spark
@pytest.mark.postgres
@pytest.mark.chaos
def test_twenty_kills_lose_nothing_and_double_nothing_in_kafka(run: KafkaRun) -> None:
    seed = int(os.environ.get("SEED") or time.time())
    print(f"SEED={seed}")
    chance = random.Random(seed)
    every = (*KINDS, "broker")
    kinds = [*every, *every, *chance.choices(every, k=20 - 2 * len(every))]
    chance.shuffle(kinds)
    moments = [*EARLY, *["progress"] * (15 - len(EARLY)), *["streaming"] * 5]
    survive(run, list(zip(moments, kinds, strict=True)), seed)
