"""`python -m benchmarks.kafka`, part of `make bench`: a backlog of PostgreSQL into one broker, in
turn by `headrace run`, exactly once, and by Debezium's connector in a standalone worker of Kafka
Connect.

Both run at two sizes, and every run's records, rate and CPU (the broker's not included) are
printed. The differences between the sizes are compared, so that no start counts: the rate is the
difference in records divided by that in seconds, and CPU the difference in CPU seconds divided by
that in records. Results go to benchmarks/results/.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from benchmarks.contenders import HERE, Run
from benchmarks.postgresql import workload
from benchmarks.postgresql.__main__ import SETTINGS
from benchmarks.postgresql.server import Server
from benchmarks.processes import PeakMemory, cpu_seconds
from benchmarks.scenarios import QUICK, Benchmark, Sizes, arguments, run_all
from headrace.spark.kernels.beforehand import compile_beforehand
from headrace.spark.kernels.needed import kernels_by_name
from headrace.testing.embedded import PostgresServer
from tests.golden.kafka.record import class_path
from tests.servers.kafka import KafkaServer

SCENARIOS: dict[str, Sizes] = {"stream": (100_000, 1_000_000) if QUICK else (200_000, 2_000_000)}
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
        consumer.assign([TopicPartition(place.topic, place.partition, 0) for place in self._places])
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
            first, end, ended, cpu = None, -1, launched, 0.0
            while end < count or time.time() - ended < _STILL_S:
                if first is None:
                    first = server.first_read(connection, "stream")
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
    topic_count = topic.count()
    if topic_count != count:
        raise RuntimeError(f"{topic_count} records in the topic, {count} are right")
    if first is None:
        raise RuntimeError("nobody saw when the contender began to read")
    return Run(count, ended - first, ended - launched, cpu, peak)


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
    converters = {f"{role}.converter": converter for role in ("key", "value")}
    path = write(work / f"{name}.properties", {**connector, **converters, "tasks.max": "1"})
    logging = work / "log4j2.properties"
    logging.write_text("rootLogger.level=warn\nrootLogger.appenderRef.c.ref=c\n"
                       "appender.c.type=Console\nappender.c.name=c\n"
                       "appender.c.layout.type=PatternLayout\n")  # fmt: skip
    return ["java", "-Xmx1g", "-Duser.timezone=UTC", f"-Dlog4j2.configurationFile={logging}",
            "-cp", class_path(), "org.apache.kafka.connect.cli.ConnectStandalone",
            str(worker), str(path)]  # fmt: skip


Command = Callable[[Path, str, Mapping[str, str], str], list[str]]


class KafkaBenchmark(Benchmark):
    """A stream into topics, a new one for each run."""

    server: Server
    peer = "Kafka Connect"

    def __init__(
        self, server: Server, work: Path, runs: int, kafka: KafkaServer, *, peers: bool
    ) -> None:
        super().__init__(server, work, runs, peers=peers)
        self._kafka = kafka

    def stream(self, sizes: Sizes) -> None:
        """A backlog of inserts, updates and deletes, of two sizes."""
        self.steady("stream into Kafka", self._streams, sizes)

    def _streams(self, changes: int) -> dict[str, list[Run]]:
        """Every run has its own slot, made before the changes."""
        inserts, table = changes * 2 // 5, f"orders{changes}"
        self.server.make_empty(table)
        begin = {
            name: self.server.from_now_on(table, name)
            for word in ("connect", "headrace")
            for name in (f"{word}_{changes}_{number}" for number in range(self.runs))
        }
        count = workload.make_backlog(self.server.server, table, inserts)
        count += inserts // 2  # a tombstone after each delete

        def lane(word: str, command: Command) -> Callable[[int], Run]:
            def measured(number: int) -> Run:
                name = f"{word}_{changes}_{number}"
                connector = {
                    "name": name, "topic.prefix": name, **self.server.properties(),
                    "key.converter.schemas.enable": "false",
                    "value.converter.schemas.enable": "false",
                    **begin[name],
                }  # fmt: skip
                topic = f"{name}.public.{table}"
                words = command(self.work, name, connector, self._kafka.address)
                kafka_topic = Topic(self._kafka, topic)
                try:
                    return measure(
                        words, self.server, kafka_topic, count, self.work / f"{name}.log"
                    )
                finally:
                    self._kafka.delete_topic(topic)

            return measured

        runs = self.measure_in_turn(
            f"stream of {changes:,}",
            {self.peer: lane("connect", connect), "headrace run": lane("headrace", headrace)},
        )
        self.server.forget_readers()
        return runs


def main() -> None:
    """All rounds."""
    chosen = arguments("kafka", SCENARIOS)
    compile_beforehand(kernels_by_name(["postgresql", "json", "kafka"]))
    kafka = KafkaServer()
    kafka.start()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="headrace-bench-") as work,
            PostgresServer(settings=SETTINGS) as postgres,
        ):
            benchmark = KafkaBenchmark(
                Server(postgres), Path(work), chosen.runs, kafka, peers=chosen.peers
            )
            run_all("kafka", benchmark, SCENARIOS, chosen.scenario)
    finally:
        kafka.close()


if __name__ == "__main__":
    main()
