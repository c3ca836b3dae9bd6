"""`python -m benchmarks.kafka`: a backlog of PostgreSQL into one broker, in turn by `headrace run`,
exactly once, and by Debezium's connector in a standalone worker of Kafka Connect.

Prints rates and CPU (the broker's not included) and our ratio. Rates count from the first read of
the log to the last record in the topic, CPU from the launch; the ratio of CPU is printed from the
first read, too. Results go to benchmarks/results/.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from benchmarks import report
from benchmarks.contenders import HERE, Run
from benchmarks.postgresql import workload
from benchmarks.postgresql.__main__ import SETTINGS
from benchmarks.postgresql.server import Server
from benchmarks.processes import PeakMemory, cpu_seconds
from benchmarks.scenarios import QUICK
from headrace.testing.embedded import PostgresServer
from tests.golden.kafka.record import class_path
from tests.servers.kafka import KafkaServer

INSERTS = 40_000 if QUICK else 400_000
ROUNDS = 1 if QUICK else 3
PARTITIONS = 4
_STILL_S = 3.0
_NO_LEADER = (
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)
_LIMIT_S = 900.0


class Topic:
    """A contender's topic, seen from outside."""

    def __init__(self, kafka: KafkaServer, name: str) -> None:
        kafka.create_topic(name, PARTITIONS)
        self._places = [TopicPartition(name, number) for number in range(PARTITIONS)]
        self._settings = {
            "bootstrap.servers": kafka.address, "group.id": "bench", "log_level": "2",
            "auto.offset.reset": "earliest", "enable.partition.eof": "true",
        }  # fmt: skip
        self._consumer = Consumer(self._settings)
        self._end = 0

    def end(self) -> int:
        """Records, those that end transactions included; as many as the last time while a partition
        has no leader yet."""
        consumer = self._consumer
        try:
            ends = [consumer.get_watermark_offsets(place, timeout=60)[1] for place in self._places]
        except KafkaException as error:
            if error.args[0].code() not in _NO_LEADER:
                raise
            return self._end
        self._end = sum(ends)
        return self._end

    def count(self) -> int:
        """Records that a reader of committed ones gets."""
        consumer = Consumer(self._settings)
        consumer.assign([TopicPartition(one.topic, one.partition, 0) for one in self._places])
        records, unread = 0, PARTITIONS
        while unread:
            for message in consumer.consume(10_000, 1):
                if message.error() is None:
                    records += 1
                else:
                    unread -= 1
        consumer.close()
        return records


def measure(command: list[str], server: Server, topic: Topic, count: int, log: Path) -> Run:
    """Launch a contender and watch the topic until `count` records are in it."""
    launched = time.time()
    with log.open("wb") as out, server.watching() as connection:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=HERE.parent
        )
        memory = PeakMemory(process.pid)
        memory.start()
        try:
            first, end, ended, cpu, start_cpu = None, -1, launched, 0.0, 0.0
            while end < count or time.time() - ended < _STILL_S:
                if first is None:
                    first = server.first_read(connection, "stream")
                    start_cpu = cpu_seconds(process.pid) if first is not None else 0.0
                now = topic.end()
                if now != end:
                    end, ended, cpu = now, time.time(), cpu_seconds(process.pid)
                if process.poll() is not None or time.time() - launched > _LIMIT_S:
                    raise RuntimeError(f"{end} of {count} records: {log.read_text()[-3000:]}")
                time.sleep(0.02)
        finally:
            process.terminate()
            process.wait(60)
            peak = memory.stop()
    seen = topic.count()
    if seen != count:
        raise RuntimeError(f"{seen} records in the topic, {count} are right")
    return Run(count, ended - (first or launched), ended - launched, cpu, peak, start_cpu)


def write(path: Path, properties: Mapping[str, str]) -> Path:
    """A properties file."""
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return path


def headrace(work: Path, name: str, connector: Mapping[str, str], brokers: str) -> list[str]:
    """The command that users run."""
    sink = {
        "headrace.sink.type": "kafka",
        "headrace.sink.kafka.producer.bootstrap.servers": brokers,
    }
    path = write(work / f"{name}.properties", {**connector, **sink})
    return [sys.executable, "-m", "headrace.cli", "run", str(path), "--checkpoint",
            str(work / name)]  # fmt: skip


def connect(work: Path, name: str, connector: Mapping[str, str], brokers: str) -> list[str]:
    """A standalone worker with Debezium's connector."""
    converter = "org.apache.kafka.connect.json.JsonConverter"
    worker = write(work / f"{name}-worker.properties", {
        "bootstrap.servers": brokers, "key.converter": converter, "value.converter": converter,
        "offset.storage.file.filename": str(work / f"{name}.offsets"),
        "offset.flush.interval.ms": "1000", "listeners": "http://127.0.0.1:0",
        "plugin.discovery": "only_scan",
    })  # fmt: skip
    path = write(work / f"{name}.properties", {**connector, "tasks.max": "1"})
    logging = work / "log4j2.properties"
    logging.write_text("rootLogger.level=warn\nrootLogger.appenderRef.c.ref=c\n"
                       "appender.c.type=Console\nappender.c.name=c\n"
                       "appender.c.layout.type=PatternLayout\n")  # fmt: skip
    return ["java", "-Xmx1g", "-Duser.timezone=UTC", f"-Dlog4j2.configurationFile={logging}",
            "-cp", class_path(), "org.apache.kafka.connect.cli.ConnectStandalone",
            str(worker), str(path)]  # fmt: skip


LANES = {"Kafka Connect": connect, "headrace run": headrace}


def main() -> None:
    """All rounds."""
    runs: dict[str, list[Run]] = {lane: [] for lane in LANES}
    kafka = KafkaServer()
    kafka.start()
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            PostgresServer(settings=SETTINGS) as postgres,
        ):
            work, server = Path(folder), Server(postgres)
            workload.make_table(postgres, "orders", 0)
            connectors: dict[str, dict[str, Any]] = {}
            for number in range(ROUNDS):
                for lane, word in (("Kafka Connect", "connect"), ("headrace run", "headrace")):
                    name = f"{word}{number}"
                    connectors[f"{lane} {number}"] = {
                        "name": name, "topic.prefix": name, **server.properties(),
                        "key.converter.schemas.enable": "false",
                        "value.converter.schemas.enable": "false",
                        **server.from_now_on("orders", name),
                    }  # fmt: skip
            changes = workload.make_backlog(postgres, "orders", INSERTS)
            count = changes + INSERTS // 2  # a tombstone behind each delete
            for number in range(ROUNDS):
                for lane, command in LANES.items():
                    connector = connectors[f"{lane} {number}"]
                    name = str(connector["name"])
                    topic = Topic(kafka, f"{name}.public.orders")
                    if lane == "Kafka Connect":
                        for role in ("key", "value"):
                            connector[f"{role}.converter"] = (
                                "org.apache.kafka.connect.json.JsonConverter"
                            )
                    words = command(work, name, connector, kafka.address)
                    result = measure(words, server, topic, count, work / f"{name}.log")
                    runs[lane].append(result)
                    print(report.line(lane, result), flush=True)
    finally:
        kafka.close()
    best = {lane: max(of_lane, key=lambda one: one.rate) for lane, of_lane in runs.items()}
    ours, peer = best["headrace run"], best["Kafka Connect"]
    print(
        f"{ours.rate / peer.rate:.1f}x the events/s, {ours.cpu / peer.cpu:.2f}x the CPU, "
        f"{ours.steady_cpu / peer.steady_cpu:.2f}x from the first read"
    )
    figures = {
        lane: {"records": count, "runs": [one.figures() for one in of_lane]}
        for lane, of_lane in runs.items()
    }
    report.write("kafka-quick" if QUICK else "kafka", ROUNDS, {"backlog": figures})


if __name__ == "__main__":
    main()
