"""A reader of the pages who types their Python, and the commands beside it, in a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from tests.docs.conftest import Reader
from tests.docs.pages import block, blocks
from tests.servers.kafka import KafkaServer
from tests.servers.mongodb import wait_until

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
API, SINKS = "docs/guides/python-api.md", "docs/guides/sinks.md"
KAFKA, POSTGRESQL = "docs/guides/kafka.md", "docs/guides/postgresql.md"
DEPLOYMENT = "docs/guides/deployment.md"


def test_the_python_api_does_what_its_page_says(reader: Reader) -> None:
    reader.shop.run(block(POSTGRESQL, "CREATE TABLE inventory.signals"))
    reader.shop.execute("ALTER PUBLICATION dbz_publication ADD TABLE inventory.signals")
    reader.shop.execute("DELETE FROM inventory.signals")
    reader.terminal = reader.terminal.with_substitutes({"port=9404": "port=0"})
    for code in blocks(API, "python"):
        reader.follow(code)
    listener = reader.names["listener"]
    reader.names["spark"].streams.removeListener(listener)
    listener.close()
    assert reader.shop.execute("SELECT id, type FROM inventory.signals") == [
        ("again-1", "execute-snapshot")
    ]
    reader.follow(block(POSTGRESQL, "MilliSecondsBehindSource"))
    reader.shop.execute("DROP TABLE inventory.signals")


def test_the_readmes_stream_runs_and_reports_its_state(reader: Reader) -> None:
    first, second = blocks("README.md", "python")
    reader.terminal = reader.terminal.with_substitutes(
        {
            '"localhost"': f'"{reader.shop.server.host}", "database.port": '
            f'"{reader.shop.server.port}"',
            '"checkpoint"': '"readme-checkpoint"',
            '"events"': '"readme-events"',
        }
    )
    reader.follow(first)
    query = reader.names["query"]
    wait_until(lambda: query.lastProgress is not None, "the query makes no progress")
    reader.follow(second)
    query.stop()
    assert query.exception() is None


def test_the_sinks_of_the_page_get_the_events(reader: Reader, place: Path) -> None:
    file, files = blocks(SINKS, "properties")
    command_of_file, command_of_files = blocks(SINKS, "sh")
    reader.configure(reader.terminal.text(file))
    reader.terminal.run(command_of_file)
    assert len((place / "events.jsonl").read_text().splitlines()) == 5
    reader.terminal.type("headrace slots drop application.properties")
    reader.names["place"] = place
    reader.configure(reader.terminal.text(files).replace("=events\n", f"={place}/events-of-sink\n"))
    reader.terminal.run(command_of_files)
    reader.terminal.type("headrace slots drop application.properties")
    count, packages, each = blocks(SINKS, "python")
    reader.terminal = reader.terminal.with_substitutes({'"events"': '"events-of-sink"'})
    reader.follow(count)
    reader.follow(packages)
    reader.configure()
    exec(
        "import headrace\n"
        "events = spark.readStream.format('headrace')"
        ".options(**headrace.options('application.properties')).load()",
        reader.names,
    )
    reader.follow(each)


def test_kafka_gets_each_event_once(reader: Reader, place: Path, kafka: KafkaServer) -> None:
    configuration, creation = blocks(KAFKA, "properties")
    own = {
        "kafka:9092": kafka.address,
        "dbname=shop": f"dbname=shop\ndebezium.source.database.port={reader.shop.server.port}",
        "user=debezium": "user=cdc",
        "PGPASSWORD": "CDC_PASSWORD",
        "replication.factor=3": "replication.factor=1",
    }
    terminal = reader.terminal.with_substitutes(own)
    shutil.rmtree(place / "state", ignore_errors=True)  # of another page
    terminal.write("application.properties", configuration, terminal.text(creation))
    commands = block(KAFKA, "headrace check application.properties").commands
    for command in commands:
        if not command.startswith("pip "):
            terminal.type(command)
    received = read_committed(kafka, "shop.inventory.orders", 3)
    assert sorted(key for key in received if b'"id":1' in key) != []
    assert len(received) == 3


def read_committed(kafka: KafkaServer, topic: str, count: int) -> list[bytes]:
    """Keys of the first records of a topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.address,
            "group.id": "pages",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    try:
        consumer.subscribe([topic])
        keys: list[bytes] = []

        def complete() -> bool:
            message = consumer.poll(1.0)
            if message is not None and message.error() is None:
                keys.append(message.key())
            return len(keys) >= count

        wait_until(complete, f"{topic} has {len(keys)} records")
        return keys
    finally:
        consumer.close()


def test_kafka_gets_the_events_of_a_dataframe(
    reader: Reader, place: Path, kafka: KafkaServer
) -> None:
    terminal = reader.terminal
    reader.terminal = terminal.with_substitutes({"kafka:9092": kafka.address})
    exec(
        "import headrace\n"
        "events = spark.readStream.format('headrace')"
        ".options(**headrace.options('application.properties', topic_prefix='frames')).load()",
        reader.names,
    )
    reader.follow(block(KAFKA, "headrace_kafka"))
    assert len(read_committed(kafka, "frames.inventory.orders", 3)) == 3


def test_a_submitted_program_runs_to_its_end(reader: Reader, place: Path) -> None:
    (program,) = blocks(DEPLOYMENT, "python")
    (place / "shop.py").write_text(program.text)
    reader.terminal.write("shop.properties", block("docs/guides/first-steps.md", "connector.class"))
    reader.terminal.run(block(DEPLOYMENT, "spark-submit"))
    assert (place / "state-cluster" / "commits" / "0").exists()
