from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace
from headrace.connectors.postgresql.checks.database import check
from headrace.connectors.registry import parse_configuration, send_signal
from headrace.errors import HeadraceError
from headrace.kafka import admin
from headrace.signals.kafka import consumer_settings
from tests.connectors.postgresql.harness import Reader, wait_for
from tests.servers.kafka import KafkaServer
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

READ_T = {"type": "execute-snapshot", "data": {"data-collections": ["public.t"]}}


TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v text);"
    "INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 30) i"
)


@pytest.fixture
def topic(kafka: KafkaServer) -> str:
    """One that exists."""
    name = f"signals-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name)
    return name


@pytest.fixture
def given(tables: Database, kafka: KafkaServer, topic: str) -> dict[str, str]:
    return tables.properties() | {
        "table.include.list": "public\\.t",
        "snapshot.mode": "no_data",
        "incremental.snapshot.chunk.size": "10",
        "signal.enabled.channels": "kafka",
        "signal.kafka.topic": topic,
        "signal.kafka.bootstrap.servers": kafka.address,
        "signal.kafka.groupId": f"group-{topic}",
        "signal.consumer.reconnect.backoff.max.ms": "200",
        "signal.poll.interval.ms": "100",
    }


@pytest.fixture
def readers() -> Iterator[Callable[[dict[str, str]], Reader]]:
    opened: list[Reader] = []

    def started(properties: dict[str, str]) -> Reader:
        reader = Reader(properties)
        opened.append(reader)
        reader.step()  # the slot
        return reader

    yield started
    for reader in opened:
        reader.stop()


@pytest.fixture
def reader(given: dict[str, str], readers: Callable[[dict[str, str]], Reader]) -> Reader:
    return readers(given)


def send(kafka: KafkaServer, topic: str, *signals: dict[str, Any], key: str = "headrace") -> None:
    kafka.send(topic, *((key, json.dumps(signal)) for signal in signals))


def note(text: str) -> dict[str, Any]:
    return {"id": text, "type": "log", "data": {"message": text}}


def read_ids(reader: Reader) -> list[int]:
    return sorted(e["after"]["id"] for e in reader.events() if e.get("op") == "r")


def until(reader: Reader, condition: Callable[[], bool]) -> None:
    def stepped() -> bool:
        reader.step(0.1)
        return condition()

    wait_for(stepped)


def place(reader: Reader) -> Any:
    return reader.offsets[-1].get("signals", {}).get("kafka")


def test_a_message_starts_an_incremental_snapshot(
    reader: Reader, kafka: KafkaServer, topic: str
) -> None:
    send(kafka, topic, READ_T | {"data": READ_T["data"] | {"type": "INCREMENTAL"}})
    until(reader, lambda: len(read_ids(reader)) == 30)
    assert read_ids(reader) == list(range(1, 31))
    assert place(reader) == [[topic, 0, 1]]


def test_a_signal_is_applied_once_whenever_the_process_dies(
    reader: Reader, kafka: KafkaServer, topic: str
) -> None:
    reader.drain()
    send(kafka, topic, READ_T)
    # Planned and lost: no checkpoint knows of it.
    wait_for(lambda: reader.plan() != reader.offsets[-1])
    reader.restart()
    until(reader, lambda: len(read_ids(reader)) == 30)
    reader.drain().restart()
    send(kafka, topic, note("after it"))
    until(reader, lambda: place(reader) == [[topic, 0, 2]])
    reader.drain()
    assert read_ids(reader) == list(range(1, 31))


def test_what_was_planned_and_given_up_is_planned_again_in_the_same_process(
    reader: Reader, kafka: KafkaServer, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    reader.drain()
    with caplog.at_level("INFO", logger="headrace.signals"):
        send(kafka, topic, note("one"))
        wait_for(lambda: reader.plan() != reader.offsets[-1])
        before, reader.offsets[-1] = reader.offsets[-1], reader.offsets[-2]
        reader.plan()  # as another offset
        reader.offsets[-1] = before
        until(reader, lambda: place(reader) == [[topic, 0, 1]])
    assert caplog.text.count(" one") >= 2


def test_signals_that_were_sent_before_the_start_are_applied_at_the_start(
    given: dict[str, str],
    readers: Callable[[dict[str, str]], Reader],
    kafka: KafkaServer,
    topic: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    send(kafka, topic, note("early"), note("as early"))
    with caplog.at_level("INFO", logger="headrace.signals"):
        reader = readers(given)
        reader.step()
    assert "early" in caplog.text
    assert place(reader) == [[topic, 0, 2]]


def test_a_first_start_continues_where_the_group_is_and_the_group_commits(
    given: dict[str, str],
    readers: Callable[[dict[str, str]], Reader],
    kafka: KafkaServer,
    topic: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = readers(given)
    send(kafka, topic, note("one"))
    until(first, lambda: kafka.committed(given["signal.kafka.groupId"], topic) == 1)
    first.stop()
    send(kafka, topic, note("two"))
    caplog.clear()
    with caplog.at_level("INFO", logger="headrace.signals"):
        second = readers(given | {"slot.name": given["slot.name"] + "_2"})
        until(second, lambda: "two" in caplog.text)
    assert "one" not in caplog.messages


def test_messages_for_other_connectors_and_broken_ones_are_passed_over(
    reader: Reader, kafka: KafkaServer, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        send(kafka, topic, note("for another"), key="other")
        kafka.send(
            topic,
            (None, json.dumps(note("without a key"))),
            ("headrace", "{broken"),
            ("headrace", "[1]"),
            ("headrace", None),
            ("headrace", json.dumps({"type": "nonsense"})),
        )
        send(kafka, topic, note("applied"))
        until(reader, lambda: place(reader) == [[topic, 0, 7]])
    assert "applied" in caplog.messages
    assert "for another" not in caplog.text
    assert "without a key" not in caplog.text
    for offset, problem in ((2, "not JSON"), (3, "not a JSON object"), (4, "has no value")):
        start = f"the message at {offset} of partition 0 of the signal topic {topic} is ignored"
        assert any(m.startswith(start) and problem in m for m in caplog.messages)
    assert "its type 'nonsense' is not known" in caplog.text


def test_every_partition_of_the_topic_is_read(
    given: dict[str, str],
    readers: Callable[[dict[str, str]], Reader],
    kafka: KafkaServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic = f"wide-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic, 3)
    reader = readers(given | {"signal.kafka.topic": topic})
    with caplog.at_level("INFO", logger="headrace.signals"):
        send(kafka, topic, note("in the first"))
        send_signal(reader.config, "log", {"message": "anywhere"})
        until(reader, lambda: {"in the first", "anywhere"} <= set(caplog.messages))
    assert [(name, number) for name, number, _ in place(reader)] == [(topic, n) for n in range(3)]


def test_the_stream_continues_while_the_topic_is_missing_and_reads_it_once_it_exists(
    given: dict[str, str],
    readers: Callable[[dict[str, str]], Reader],
    kafka: KafkaServer,
    tables: Database,
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic = f"late-{uuid.uuid4().hex[:8]}"
    reader = readers(given | {"signal.kafka.topic": topic})
    tables.execute("INSERT INTO t VALUES (100, 'streamed')")
    until(reader, lambda: any(e["after"]["id"] == 100 for e in reader.events()))
    warned = [m for m in caplog.messages if "[signals.no_topic" in m]
    assert len(warned) == 1
    assert topic in warned[0]
    assert topic not in kafka.topics()
    kafka.create_topic(topic)
    send(kafka, topic, note("first"), READ_T)
    until(reader, lambda: len(read_ids(reader)) == 31)
    kafka.delete_topic(topic)
    kafka.create_topic(topic)
    send(kafka, topic, READ_T)
    until(reader, lambda: len(read_ids(reader)) == 62)


def test_the_stream_continues_without_a_broker(
    given: dict[str, str],
    readers: Callable[[dict[str, str]], Reader],
    tables: Database,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admin, "ANSWER_SECONDS", 0.5)
    reader = readers(given | {"signal.kafka.bootstrap.servers": "127.0.0.1:1"})
    tables.execute("INSERT INTO t VALUES (100, 'streamed')")
    until(reader, lambda: any(e["after"]["id"] == 100 for e in reader.events()))
    wait_for(lambda: "[signals.kafka_unreachable" in caplog.text)
    assert "127.0.0.1:1 is not available" in caplog.text
    assert caplog.text.count("[signals.kafka_unreachable") == 1


def test_a_broker_that_was_away_is_read_again(
    reader: Reader,
    kafka: KafkaServer,
    topic: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send(kafka, topic, note("before"))
    until(reader, lambda: place(reader) == [[topic, 0, 1]])
    kafka.stop()
    with monkeypatch.context() as patch:
        patch.setattr(admin, "ANSWER_SECONDS", 0.5)
        until(reader, lambda: "[signals.kafka_unreachable" in caplog.text)
    kafka.start()
    send(kafka, topic, READ_T)
    until(reader, lambda: len(read_ids(reader)) == 30)
    assert place(reader) == [[topic, 0, 2]]


def test_a_signal_is_sent_by_kafka_before_the_file(
    reader: Reader,
    given: dict[str, str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with caplog.at_level("INFO", logger="headrace.signals"):
        headrace.signal(given | {"signal.enabled.channels": "file,kafka"}, "log", {"message": "hi"})
        until(reader, lambda: "hi" in caplog.messages)
    lost = given | {"signal.kafka.bootstrap.servers": "127.0.0.1:1"}
    with monkeypatch.context() as patch:
        patch.setattr(admin, "ANSWER_SECONDS", 0.5)
        with pytest.raises(HeadraceError, match=r"signals\.kafka_unreachable"):
            headrace.signal(lost, "log", {"message": "hi"})
    with pytest.raises(HeadraceError, match=r"signals\.no_topic"):
        headrace.signal(given | {"signal.kafka.topic": "nothing"}, "log", {"message": "hi"})


def test_settings_of_the_consumer_are_handed_on(given: dict[str, str]) -> None:
    config = parse_configuration(
        given
        | {
            "signal.consumer.security.protocol": "SASL_SSL",
            "signal.consumer.sasl.mechanism": "SCRAM-SHA-512",
            "signal.consumer.sasl.jaas.config": "org.apache.kafka.common.security.scram."
            'ScramLoginModule required username="us\\"er" password="secret";',
            "signal.consumer.ssl.truststore.type": "PEM",
            "signal.consumer.ssl.truststore.location": "/ca.pem",
            "signal.consumer.key.deserializer": "org.apache.kafka.StringDeserializer",
            "signal.consumer.enable.auto.commit": "true",
            "signal.consumer.auto.offset.reset": "none",
        }
    )
    settings = consumer_settings(config)
    assert settings["security.protocol"] == "SASL_SSL"
    assert settings["sasl.username"] == 'us"er'
    assert settings["sasl.password"] == "secret"
    assert settings["ssl.ca.location"] == "/ca.pem"
    assert settings["enable.auto.commit"] == "false"
    assert settings["auto.offset.reset"] == "error"
    assert settings["group.id"] == given["signal.kafka.groupId"]
    assert not {"sasl.jaas.config", "ssl.truststore.type", "key.deserializer"} & set(settings)
    assert "secret" not in repr(config)


def test_a_setting_that_the_client_does_not_know_stops_the_start(given: dict[str, str]) -> None:
    reader = Reader(given | {"signal.consumer.ssl.keystore.kind": "JKS"})
    with pytest.raises(HeadraceError, match=r"signals\.kafka_setting") as caught:
        reader.step()
    assert "ssl.keystore.kind" in caught.value.message


def test_a_missing_client_is_named(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(given)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(HeadraceError, match=r"signals\.no_kafka_client") as caught:
        reader.step()
    assert "headrace[kafka]" in caught.value.remedy


def test_a_look_at_the_database_looks_for_the_topic_too(
    given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(**more: str) -> list[tuple[str, str]]:
        config = parse_configuration(given | {k.replace("_", "."): v for k, v in more.items()})
        return [(f.code, f.level) for f in check(config) if f.code.startswith("signals.")]

    assert found() == [("signals.topic", "ok")]
    assert found(signal_kafka_topic="nothing") == [("signals.no_topic", "warning")]
    assert found(signal_consumer_nonsense="1") == [("signals.kafka_setting", "error")]
    monkeypatch.setattr(admin, "ANSWER_SECONDS", 0.5)
    assert found(signal_kafka_bootstrap_servers="127.0.0.1:1") == [
        ("signals.kafka_unreachable", "warning")
    ]


def test_the_channel_needs_brokers(tables: Database) -> None:
    properties = tables.properties() | {"signal.enabled.channels": "kafka"}
    with pytest.raises(HeadraceError, match=r"signal\.kafka\.bootstrap\.servers is missing"):
        parse_configuration(properties)
    properties["signal.consumer.bootstrap.servers"] = "h:1"
    config = parse_configuration(properties)
    assert (config.signal_brokers(), config.signal_topic()) == ("h:1", "headrace-signal")


def test_an_offset_that_the_topic_no_longer_has_is_a_warning_at_the_start(
    reader: Reader, kafka: KafkaServer, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    send(kafka, topic, note("one"), note("two"), note("three"))
    until(reader, lambda: place(reader) == [[topic, 0, 3]])
    reader.stop()
    kafka.delete_messages(topic, 3)
    send(kafka, topic, note("four"))
    kafka.delete_messages(topic, 4)
    send(kafka, topic, note("five"))
    with caplog.at_level("INFO"):
        until(reader, lambda: place(reader) == [[topic, 0, 5]])
    warning = f"{topic} no longer has offset 3 of partition 0; signals are read from offset 4"
    assert warning in caplog.text
    assert caplog.messages.count("five") == 1


@pytest.mark.parametrize(("setting", "is_applied"), [("latest", False), ("earliest", True)])
def test_a_group_without_an_offset_begins_where_the_configuration_says(
    given: dict[str, str],
    readers: Callable[[dict[str, str]], Reader],
    kafka: KafkaServer,
    topic: str,
    caplog: pytest.LogCaptureFixture,
    setting: str,
    is_applied: bool,
) -> None:
    send(kafka, topic, note("before"))
    with caplog.at_level("INFO"):
        reader = readers(given | {"signal.consumer.auto.offset.reset": setting})
        until(reader, lambda: place(reader) == [[topic, 0, 1]])
        # What is written down counts from now on, also what comes while nobody reads.
        reader.stop()
        send(kafka, topic, note("after"))
        until(reader, lambda: place(reader) == [[topic, 0, 2]])
    assert caplog.messages.count("before") == is_applied
    assert caplog.messages.count("after") == 1
