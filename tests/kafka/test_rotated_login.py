"""Logins of Kafka's clients whose password changes while they live."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.properties.history import SchemaHistoryConfig
from headrace.errors import HeadraceError
from headrace.kafka.client import Complaints
from headrace.kafka.librdkafka import NativeProducer
from headrace.kafka.messages import MessageWriter
from headrace.kafka.settings import client_settings
from headrace.kafka.topics import TopicCreation, Topics
from headrace.relational.history.kafka_store import KafkaStore
from headrace.signals.kafka import CHANNEL
from headrace.signals.topic import SignalTopic
from headrace.sinks.kafka.options import SINK, KafkaOptions
from tests.relational.history.cases import CASES
from tests.servers.kafka import KafkaServer, RotatingKafka
from tests.sinks.kafka.records import numbered

FIRST, SECOND, THIRD = "the-first-password", "the-second-password", "the-third-password"
PATIENCE_SECONDS = 240
TOPIC, SIGNALS, HISTORY = "rotated", "rotated-signals", "rotated-history"
LINES = [case.to_line() for case in CASES]


class Config(SchemaHistoryConfig, ConnectorConfig):
    """Any connector's with a schema history."""


@pytest.fixture(scope="module")
def rotating(kafka_server: KafkaServer) -> Iterator[RotatingKafka]:
    """A broker beside the one of all tests, with which its programs were fetched."""
    server = RotatingKafka()
    try:
        server.start()
        for topic in (TOPIC, SIGNALS, HISTORY):
            server.create_topic(topic)
        yield server
    finally:
        server.close()


class Passwords:
    """The files of the password, and Kafka's idea of it."""

    def __init__(self, server: RotatingKafka, folder: Path) -> None:
        self._server, self._folder = server, folder

    def set(self, password: str, in_file: str | None = None) -> None:
        """Sets the password at Kafka, and in the files unless they get another one."""
        self._server.set_password(password)
        text = in_file or password
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        jaas = f'{module} required username="{self._server.rotating}" password="{text}";'
        (self._folder / "password").write_text(text)
        (self._folder / "jaas").write_text(jaas)

    def config(self) -> Config:
        """A channel with a password, and a sink and a history with Java's login, in these files."""
        server, sink = self._server, "headrace.sink.kafka.producer"
        history = "schema.history.internal"
        options = {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(server.ca),
            "sasl.mechanism": "SCRAM-SHA-256",
            "reconnect.backoff.max.ms": "500",
        }
        jaas = f"${{dir:{self._folder}:jaas}}"
        prefixes = ("signal.consumer", sink, f"{history}.consumer", f"{history}.producer")
        properties = {
            f"{prefix}.{name}": text for prefix in prefixes for name, text in options.items()
        }
        return Config.parse(
            properties
            | {
                "topic.prefix": "p",
                "signal.enabled.channels": "kafka",
                "signal.kafka.topic": SIGNALS,
                "signal.kafka.bootstrap.servers": server.address,
                "signal.consumer.sasl.username": server.rotating,
                "signal.consumer.sasl.password": f"${{dir:{self._folder}:password}}",
                f"{sink}.bootstrap.servers": server.address,
                f"{sink}.sasl.jaas.config": jaas,
                "headrace.sink.kafka.delivery": "at-least-once",
                f"{history}.consumer.sasl.jaas.config": jaas,
                f"{history}.producer.sasl.jaas.config": jaas,
            }
        )


@pytest.fixture
def passwords(rotating: RotatingKafka, tmp_path: Path) -> Passwords:
    kafka_passwords = Passwords(rotating, tmp_path)
    kafka_passwords.set(FIRST)
    return kafka_passwords


def until(works: Callable[[], bool]) -> None:
    """Kafka may need a while after its start; a login that is refused is no reason to wait."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            if works():
                return
        except HeadraceError as error:
            if not error.retriable:
                raise
        assert time.monotonic() < deadline


def test_clients_that_are_kept_log_in_with_the_new_password(
    rotating: RotatingKafka, passwords: Passwords
) -> None:
    config = passwords.config()
    settings = client_settings(CHANNEL, config.signal_consumer, rotating.address)
    topics = Topics(CHANNEL, settings, TopicCreation())
    complaints = Complaints()
    options = KafkaOptions.of_configuration(config)
    producer = NativeProducer(SINK, dict(options.settings), complaints.note)
    history = KafkaStore(
        HISTORY,
        rotating.address,
        config.schema_history_internal_consumer,
        config.schema_history_internal_producer,
        seconds=60,
    )
    signals = SignalTopic(config)

    def writes() -> bool:
        MessageWriter(producer).write(numbered(TOPIC, 1, 3))
        return producer.flush(PATIENCE_SECONDS) == 0

    def signalled(number: int) -> bool:
        taken_signals, places[:] = signals.take(tuple(places))
        return any(signal.id == f"s{number}" for signal in taken_signals)

    places: list[object] = []
    try:
        for number, password in enumerate((FIRST, SECOND)):
            if password != FIRST:
                passwords.set(password)
                rotating.restart()
            until(lambda: topics.partitions(TOPIC) == 1)
            until(writes)
            history.append(LINES[number : number + 1])
            text = json.dumps({"id": f"s{number}", "type": "log", "data": {"message": "x"}})
            rotating.send(SIGNALS, ("p", text))
            until(lambda number=number: signalled(number))  # type: ignore[misc]
        assert [line.decode() for line in history.lines()] == LINES[:2]
        assert not complaints.is_refusal
    finally:
        signals.close()
        producer.close()
        history.close()


def test_a_password_that_stays_wrong_is_a_refusal_that_shows_none(
    rotating: RotatingKafka, passwords: Passwords
) -> None:
    passwords.set(THIRD, in_file=SECOND)
    config = passwords.config()
    settings = client_settings(CHANNEL, config.signal_consumer, rotating.address)
    topics = Topics(CHANNEL, settings, TopicCreation())
    with pytest.raises(HeadraceError, match=r"signals\.not_allowed\]") as raised:
        until(lambda: bool(topics.partitions(TOPIC)))
    for word in (FIRST, SECOND, THIRD):
        assert word not in str(raised.value)
    passwords.set(THIRD)  # the file has it now
    until(lambda: topics.partitions(TOPIC) == 1)
