"""A schema history in a topic of a real broker, also one that Debezium's records are in."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Consumer, TopicPartition

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.properties.history import SchemaHistoryConfig
from headrace.errors import HeadraceError
from headrace.kafka import topics
from headrace.relational.history.configured import open_history
from headrace.relational.history.kafka_store import KafkaStore
from headrace.relational.history.records import ChangeType, TableChange
from tests.relational.history.cases import CASES, CUSTOMERS, RECORDS, TABLE_WITH_ALL_MEMBERS
from tests.servers.kafka import KafkaServer, SecuredKafka

LINES = [case.to_line() for case in CASES]


class HistoryConfig(SchemaHistoryConfig, ConnectorConfig):
    """Any connector's."""


def fresh_topic() -> str:
    return f"schema-history-{uuid.uuid4()}"


def store_of(kafka: KafkaServer, topic: str, **settings: str) -> KafkaStore:
    client_settings = {name.replace("_", "."): text for name, text in settings.items()}
    return KafkaStore(topic, kafka.address, client_settings, client_settings, seconds=20)


def messages(kafka: KafkaServer, topic: str, count: int) -> list[tuple[bytes | None, bytes | None]]:
    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": "t", **kafka.client})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [(m.key(), m.value()) for m in consumer.consume(count, 60)]
    finally:
        consumer.close()


def test_the_topic_is_made_and_holds_debeziums_messages(kafka: KafkaServer) -> None:
    topic = fresh_topic()
    store = store_of(kafka, topic)
    assert list(store.lines()) == []
    assert topic not in kafka.topics()
    store.append(LINES[:3])
    store.append(LINES[3:])
    assert [line.decode() for line in store.lines()] == LINES
    assert messages(kafka, topic, len(LINES)) == [(None, line.encode()) for line in LINES]
    for option, text in {"retention.ms": "-1", "cleanup.policy": "delete"}.items():
        assert store._topics.config(topic, option) == text
    store.close()
    assert [line.decode() for line in store_of(kafka, topic).lines()] == LINES


def test_a_topic_that_debezium_wrote_is_gone_on_with(kafka: KafkaServer) -> None:
    topic = fresh_topic()
    kafka.create_topic(topic)
    kafka.send(topic, *((None, line) for line in RECORDS.read_text().split("\n")[:3]))
    config = HistoryConfig.parse(
        {
            "topic.prefix": "fulfillment",
            "schema.history.internal": "io.debezium.storage.kafka.history.KafkaSchemaHistory",
            "schema.history.internal.kafka.topic": topic,
            "schema.history.internal.kafka.bootstrap.servers": kafka.address,
        }
    )
    history = open_history(config, "fulfillment", lambda position: len(position))
    assert set(history.tables_before(9).values()) == {CUSTOMERS, TABLE_WITH_ALL_MEMBERS}
    history.record({}, [TableChange(ChangeType.ALTER, CUSTOMERS)], ddl="N/A")
    assert len(messages(kafka, topic, 4)) == 4
    history.close()


def test_what_retention_dropped_is_not_waited_for(kafka: KafkaServer) -> None:
    topic = fresh_topic()
    store = store_of(kafka, topic)
    store.append(LINES)
    kafka.delete_messages(topic, 2)
    assert [line.decode() for line in store.lines()] == LINES[2:]
    kafka.delete_messages(topic, len(LINES))
    assert list(store.lines()) == []


def test_a_topic_of_several_partitions_is_refused(kafka: KafkaServer) -> None:
    topic = fresh_topic()
    kafka.create_topic(topic, partitions=2)
    with pytest.raises(
        HeadraceError, match=r"has 2 partitions.*\[relational\.history_unreadable\]"
    ):
        list(store_of(kafka, topic).lines())
    with pytest.raises(HeadraceError, match=r"\[relational\.history_unreadable\]"):
        store_of(kafka, topic).append(LINES)


def test_brokers_that_do_not_answer_are_a_retriable_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "ANSWER_SECONDS", 1.0)
    store = KafkaStore("t", "127.0.0.1:1", {}, {}, seconds=1)
    with pytest.raises(HeadraceError, match=r"\[relational\.kafka_unreachable, retriable\]"):
        list(store.lines())
    with pytest.raises(HeadraceError, match="schema history"):
        store.append(LINES)


def test_a_login_of_java_is_used(
    secured_kafka: SecuredKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka, topic = secured_kafka, fresh_topic()
    login = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_jaas_config": kafka.login.format(user=kafka.user, password=kafka.password),
        "ssl_truststore_type": "PEM",
        "ssl_truststore_location": str(kafka.ca),
    }
    store = store_of(kafka, topic, **login)
    store.append(LINES[:1])
    assert [line.decode() for line in store.lines()] == LINES[:1]
    monkeypatch.setattr(topics, "ANSWER_SECONDS", 1.0)
    with pytest.raises(HeadraceError, match="schema history") as raised:
        list(store_of(kafka, topic).lines())
    assert kafka.password not in str(raised.value)
