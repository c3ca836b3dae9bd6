"""A reader of the pages who types their Python, and the commands beside it, in a folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, Message

from headrace.spark.versions.installed import REPORTS_STARTS
from tests.docs.conftest import Reader
from tests.docs.pages import block, blocks
from tests.docs.terminal import Terminal
from tests.servers.kafka import KafkaServer
from tests.servers.mongodb import MongoDatabase, wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
API, SINKS = "docs/guides/python-api.md", "docs/guides/sinks.md"
FIRST, OUTBOX = "docs/guides/first-steps.md", "docs/guides/outbox.md"
DOCUMENTS = "docs/guides/unwrapping-documents.md"
KAFKA, POSTGRESQL = "docs/guides/kafka.md", "docs/guides/postgresql.md"
DEPLOYMENT = "docs/guides/deployment.md"
names_no_checkpoint = pytest.mark.skipif(
    not REPORTS_STARTS, reason="Spark 4.0 and 4.1 need headrace.checkpoint.dir (python-api.md)"
)
"""For programs of pages that are for Spark 4.2 and later."""


@names_no_checkpoint
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


@names_no_checkpoint
def test_the_readmes_stream_runs(reader: Reader) -> None:
    (program,) = blocks("README.md", "python")
    reader.terminal = reader.terminal.with_substitutes(
        {'"checkpoint"': '"readme-checkpoint"', '"events"': '"readme-events"'}
    )
    reader.follow(program)
    query = reader.names["query"]
    wait_until(lambda: query.lastProgress is not None, "the query makes no progress")
    query.stop()
    assert query.exception() is None


@names_no_checkpoint
def test_the_first_stream_has_what_came_since_the_run_before(reader: Reader, place: Path) -> None:
    """`first-steps.md`, into files: what the JVM prints is not of this process."""
    reader.terminal = reader.terminal.with_substitutes(
        {'"console"': '"json"', '"truncate", False': '"path", "printed"'}
    )
    printed: list[str] = []

    def run() -> list[str]:
        """The operations of a run."""
        reader.follow(block(FIRST, "writeStream"))
        lines = [line for file in place.glob("printed/*.json") for line in file.open()]
        operations = sorted(json.loads(line)["op"] for line in lines if line not in printed)
        printed.extend(lines)
        return operations

    assert run() == ["r"] * 5
    reader.shop.run(block(FIRST, "UPDATE"))
    assert run() == ["d", "u"]
    reader.shop.execute("INSERT INTO inventory.orders VALUES (2, 2, 1, 'US')")
    reader.shop.execute("UPDATE inventory.orders SET quantity = 5 WHERE id = 1")


@names_no_checkpoint
@pytest.mark.mongodb
def test_documents_are_rows_with_columns(
    mongo_database: MongoDatabase, spark: SparkSession, place: Path
) -> None:
    """`unwrapping-documents.md`"""
    orders = mongo_database.collections["orders"]
    orders.insert_one(
        {"_id": 1, "customer": "Ana", "total": 19.5, "lines": [{"sku": "A", "count": 2}]}
    )
    terminal = Terminal(
        place,
        {
            "mongodb://localhost:27017/?replicaSet=rs0": mongo_database.server.uri,
            "shop.orders": f"{mongo_database.name}.orders",
        },
    )
    program = terminal.text(block(DOCUMENTS, "PROPERTIES = {"))
    exec(compile(program, DOCUMENTS, "exec"), {})
    orders.update_one({"_id": 1}, {"$set": {"customer": "Ben"}})
    exec(compile(program, DOCUMENTS, "exec"), {})
    orders.delete_one({"_id": 1})
    exec(compile(program, DOCUMENTS, "exec"), {})
    rows = sorted(pq.read_table(place / "orders").to_pylist(), key=lambda row: row["sequence"])
    assert [(row["__op"], row["customer"], row["__deleted"]) for row in rows] == [
        ("r", "Ana", False),
        ("u", "Ben", False),
        ("d", None, True),
    ]
    assert {row["_id"] for row in rows} == {1}
    assert rows[0]["lines"] == [{"sku": "A", "count": 2}]


@names_no_checkpoint
def test_the_sinks_of_the_page_get_the_events(reader: Reader, place: Path) -> None:
    file, log, files = blocks(SINKS, "properties")
    command_of_file, command_of_log, command_of_files = blocks(SINKS, "sh")
    reader.configure(reader.terminal.text(file))
    reader.terminal.run(command_of_file)
    assert len((place / "events.jsonl").read_text().splitlines()) == 5
    reader.terminal.type("headrace slots drop application.properties")
    reader.names["place"] = place
    reader.configure(reader.terminal.text(log).replace("=log\n", f"={place}/event-log\n"))
    reader.terminal.run(command_of_log)
    reader.terminal.type("headrace slots drop application.properties")
    reader.configure(reader.terminal.text(files).replace("=events\n", f"={place}/events-of-sink\n"))
    reader.terminal.run(command_of_files)
    reader.terminal.type("headrace slots drop application.properties")
    table, exact, count, packages, each = blocks(SINKS, "python")
    substitutes = {'"events"': '"events-of-sink"', '"log"': f'"{place}/event-log"'}
    reader.terminal = reader.terminal.with_substitutes(substitutes)
    reader.follow(table)
    reader.follow(exact)
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
    substitutes = {
        "kafka:9092": kafka.address,
        "dbname=shop": f"dbname=shop\ndebezium.source.database.port={reader.shop.server.port}",
        "user=debezium": "user=cdc",
        "PGPASSWORD": "CDC_PASSWORD",
        "replication.factor=3": "replication.factor=1",
    }
    terminal = reader.terminal.with_substitutes(substitutes)
    shutil.rmtree(place / "state", ignore_errors=True)  # of another page
    terminal.write("application.properties", configuration, terminal.text(creation))
    commands = block(KAFKA, "headrace check application.properties").commands
    for command in commands:
        if not command.startswith("pip "):
            terminal.type(command)
    received = read_committed(kafka, "shop.inventory.orders", 3)
    assert any(b'"id":1' in record.key() for record in received)
    assert len(received) == 3


def test_a_row_of_the_outbox_is_an_event_in_its_topic(reader: Reader, kafka: KafkaServer) -> None:
    """`outbox.md`"""
    terminal = reader.terminal.with_substitutes({"kafka:9092": kafka.address})
    terminal.type("export CDC_PASSWORD=secret")
    reader.shop.run(block(OUTBOX, "CREATE TABLE"))
    terminal.write("outbox.properties", block(OUTBOX, "EventRouter"))
    reader.shop.run(block(OUTBOX, "INSERT INTO"))
    terminal.run(block(OUTBOX, "headrace run"))
    reader.shop.execute("DELETE FROM inventory.outbox")
    (record,) = read_committed(kafka, "outbox.event.order", 1)
    assert record.key() == b"7"
    (value,) = blocks(OUTBOX, "json")
    assert json.loads(record.value()) == json.loads(value.text)
    headers = {name: json.loads(text)["payload"] for name, text in record.headers()}
    assert headers["eventType"] == "OrderPlaced"
    assert headers["id"] in block(OUTBOX, "INSERT INTO").text
    terminal.type("headrace slots drop outbox.properties")
    reader.shop.execute("DROP PUBLICATION outbox; DROP TABLE inventory.outbox")


def read_committed(kafka: KafkaServer, topic: str, count: int) -> list[Message]:
    """The first records of a topic."""
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
        records: list[Message] = []

        def complete() -> bool:
            message = consumer.poll(1.0)
            if message is not None and message.error() is None:
                records.append(message)
            return len(records) >= count

        wait_until(complete, f"{topic} does not get {count} records")
        return records
    finally:
        consumer.close()


@names_no_checkpoint
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


@names_no_checkpoint
def test_a_submitted_program_runs_to_its_end(reader: Reader, place: Path) -> None:
    (program,) = blocks(DEPLOYMENT, "python")
    (place / "shop.py").write_text(program.text)
    reader.terminal.write("shop.properties", block("docs/guides/first-steps.md", "connector.class"))
    reader.terminal.run(block(DEPLOYMENT, "spark-submit"))
    assert (place / "state-cluster" / "commits" / "0").exists()
