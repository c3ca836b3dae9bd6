"""Options of the kafka sink in a configuration."""

from __future__ import annotations

import pickle

import pytest

from headrace.errors import HeadraceError
from headrace.kafka.topics import TopicCreation
from headrace.sinks.kafka.options import KafkaOptions, unknown_options
from headrace.spark.sinks.definition import Delivery

BROKERS = {"kafka.producer.bootstrap.servers": "h:1"}


def options(**more: str) -> KafkaOptions:
    named_options = {name.replace("_", "."): text for name, text in more.items()}
    return KafkaOptions.of({**BROKERS, **named_options}, name="shop")


def test_debezium_servers_settings_become_librdkafkas() -> None:
    settings = options(
        kafka_producer_key_serializer="org.apache.kafka.common.serialization.StringSerializer",
        kafka_producer_max_request_size="2000000",
        kafka_producer_buffer_memory="33554432",
        kafka_producer_acks="all",
        kafka_wait_message_delivery_timeout_ms="30000",
    ).settings
    assert settings["bootstrap.servers"] == "h:1"
    assert settings["message.max.bytes"] == "2000000"
    assert settings["queue.buffering.max.kbytes"] == "32768"
    assert settings["acks"] == "all"
    assert not {name for name in settings if "serializer" in name or name.startswith("wait")}


def test_keys_land_where_javas_producer_puts_them() -> None:
    assert options().settings["partitioner"] == "murmur2_random"
    assert "partitioner.class" not in options(kafka_producer_partitioner_class="x.Y").settings


def test_a_login_of_java_is_translated() -> None:
    settings = options(
        kafka_producer_security_protocol="SASL_SSL",
        kafka_producer_sasl_jaas_config='x.ScramLoginModule required username="u" password="p";',
    ).settings
    assert (settings["sasl.username"], settings["sasl.password"]) == ("u", "p")


def test_kafka_connects_overrides_win() -> None:
    kafka_options = KafkaOptions.of(
        BROKERS, name="shop", overrides={"bootstrap.servers": "other:1"}
    )
    assert kafka_options.brokers == "other:1"


def test_the_name_is_in_transactional_ids_and_the_bookkeeping_topic() -> None:
    assert options().transactional_id("3") == "headrace-shop-3"
    assert options().bookkeeping == "headrace.bookkeeping.shop"
    assert options(kafka_name="other").transactional_id("3") == "headrace-other-3"
    assert options(kafka_bookkeeping_topic="b").bookkeeping == "b"


def test_at_least_once_needs_no_transactions() -> None:
    kafka_options = options(kafka_delivery="at-least-once", kafka_producer_acks="1")
    assert (kafka_options.delivery, kafka_options.is_transactional) == (
        Delivery.AT_LEAST_ONCE,
        False,
    )
    assert kafka_options.settings["enable.idempotence"] == "false"
    assert options(kafka_delivery="at-least-once").settings["enable.idempotence"] == "true"


def test_secrets_are_not_shown() -> None:
    assert "hidden" not in repr(options(kafka_producer_sasl_password="hidden"))


def test_options_travel_to_tasks() -> None:
    kafka_options = options(kafka_sequence_header="true")
    assert pickle.loads(pickle.dumps(kafka_options)) == kafka_options


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("kafka_delivery", "twice"),
        ("kafka_sequence_header", "yes"),
        ("kafka_bookkeeping_lost", "x"),
        ("kafka_name", "a b"),
    ],
)
def test_an_impossible_option_is_named(option: str, text: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        options(**{option: text})
    assert raised.value.code == "kafka.impossible_option"
    assert option.replace("_", ".") in raised.value.message


def test_without_brokers_there_is_an_error() -> None:
    with pytest.raises(HeadraceError) as raised:
        KafkaOptions.of({}, name="shop")
    assert raised.value.code == "kafka.no_brokers"


def test_other_options_are_unknown() -> None:
    properties = {**BROKERS, "topic": "x", "delivery": "exactly-once", "topic.creation.groups": "a"}
    assert unknown_options(properties) == ["topic"]


def test_a_topic_is_created_as_the_first_group_that_has_it() -> None:
    creation = TopicCreation.of({
        "groups": "big, rest", "big.include": "s\\.a, s\\.b.*", "big.exclude": "s\\.bx",
        "big.partitions": "12", "big.cleanup.policy": "compact", "rest.include": ".*b.*",
        "default.replication.factor": "3",
    })  # fmt: skip
    big = creation.of_topic("s.b1")
    assert (big.partitions, big.replication_factor) == (12, -1)
    assert big.configs == {"cleanup.policy": "compact"}
    assert creation.of_topic("s.bx").name == "rest"
    assert creation.of_topic("other").replication_factor == 3


@pytest.mark.parametrize(
    "given",
    [
        {"other.partitions": "1"},
        {"groups": "a"},
        {"groups": "a", "a.include": "("},
        {"default.partitions": "0"},
        {"default.partitions": "many"},
        {"enable": "no"},
    ],
)
def test_a_wrong_topic_creation_is_an_error(given: dict[str, str]) -> None:
    with pytest.raises(HeadraceError) as raised:
        TopicCreation.of(given)
    assert raised.value.code == "kafka.topic_creation"


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("acks", "1"),
        ("retries", "0"),
        ("max_in_flight_requests_per_connection", "10"),
        ("delivery_timeout_ms", "900000"),
        ("enable_idempotence", "false"),
    ],
)
def test_settings_that_exclude_transactions_are_refused_by_name(option: str, text: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        options(**{f"kafka_producer_{option}": text})
    assert raised.value.code == "kafka.not_transactional"
    assert "delivery=at-least-once" in raised.value.remedy
    options(kafka_delivery="at-least-once", **{f"kafka_producer_{option}": text})


def test_the_longest_name_of_a_group_has_its_options() -> None:
    creation = TopicCreation.of({
        "groups": "a, a.b", "a.include": "x", "a.b.include": "y", "a.b.partitions": "7",
    })  # fmt: skip
    assert creation.of_topic("y").partitions == 7


@pytest.mark.parametrize(
    "option", ["kafka_delivry", "kafka_sequnce_header", "kafka_bookeeping_lost"]
)
def test_an_option_that_is_misspelt_is_an_error(option: str) -> None:
    with pytest.raises(HeadraceError, match="did you mean") as raised:
        options(**{option: "true"})
    assert raised.value.code == "kafka.unknown_option"
