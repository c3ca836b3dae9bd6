"""`headrace check` looks at Kafka, and logins and certificates work or are reported."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from headrace.errors import HeadraceError
from headrace.findings import Findings
from headrace.kafka.client import Complaints
from headrace.kafka.librdkafka import KafkaFailure
from headrace.kafka.topics import Topics
from headrace.sinks.kafka import checks
from headrace.sinks.kafka.bookkeeping import Bookkeeping
from headrace.sinks.kafka.checks import check
from headrace.sinks.kafka.options import SINK, KafkaOptions
from headrace.sinks.kafka.ranges import send_range
from headrace.sinks.kafka.writer import Writer
from tests.servers.kafka import KafkaServer, SecuredKafka
from tests.sinks.kafka.records import fresh_name, numbered, options_for, read_topic, values


def levels(findings: Findings) -> dict[str, str]:
    return {finding.code: finding.level for finding in findings}


GOOD = {"kafka.reachable": "ok", "kafka.transactions": "ok", "kafka.bookkeeping": "ok"}


def test_a_broker_that_is_ready_is_reported_so_and_nothing_is_made(kafka: KafkaServer) -> None:
    options = options_for(kafka, fresh_name())
    assert levels(check(options)) == GOOD
    assert options.bookkeeping not in kafka.topics()
    Bookkeeping(options).make_room(2)
    (ready,) = (finding for finding in check(options) if finding.code == "kafka.bookkeeping")
    assert "2 partitions" in ready.message


def test_a_bookkeeping_topic_that_would_forget_is_an_error(kafka: KafkaServer) -> None:
    options = options_for(kafka, fresh_name())
    kafka.create_topic(options.bookkeeping)
    assert levels(check(options))["kafka.bookkeeping_not_compacted"] == "error"


def test_at_least_once_is_warned_of(kafka: KafkaServer) -> None:
    options = options_for(kafka, fresh_name(), delivery="at-least-once")
    assert levels(check(options)) == {"kafka.reachable": "ok", "kafka.delivery": "warning"}


def test_a_broker_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "ANSWER_SECONDS", 1.0)
    options = KafkaOptions.of({"kafka.bootstrap.servers": "127.0.0.1:1"}, name="q")
    assert levels(check(options)) == {"kafka.kafka_unreachable": "error"}


def test_a_setting_that_librdkafka_does_not_know_is_an_error_without_its_secrets() -> None:
    properties = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.no.such.password": "hidden"}
    (finding,) = check(KafkaOptions.of(properties, name="q"))
    assert finding.code == "kafka.kafka_setting"
    assert "no.such.password" in finding.message
    assert "hidden" not in finding.message


def test_debeziums_login_and_certificate_in_pem_reach_a_secured_broker(
    secured_kafka: SecuredKafka,
) -> None:
    properties = {
        "kafka.producer.bootstrap.servers": secured_kafka.address,
        "kafka.producer.security.protocol": "SASL_SSL",
        "kafka.producer.sasl.mechanism": "PLAIN",
        "kafka.producer.sasl.jaas.config": f"{secured_kafka.login};",
        "kafka.producer.ssl.truststore.type": "PEM",
        "kafka.producer.ssl.truststore.location": str(secured_kafka.ca),
    }
    options, topic = KafkaOptions.of(properties, name=fresh_name()), fresh_name()
    assert levels(check(options)) == GOOD
    assert send_range(options, "c", 0, "", lambda: [numbered(topic, 0, 9)]) == 10
    assert values(read_topic(secured_kafka, topic)) == list(range(10))


@pytest.mark.parametrize("wrong", ["sasl_password", "ssl_ca_location"])
def test_a_login_or_certificate_that_is_refused_ends_the_run_with_one_error(
    secured_kafka: SecuredKafka, short_tries: None, wrong: str
) -> None:
    changed = {
        "sasl_password": {"kafka_sasl_password": "wrong"},
        "ssl_ca_location": {"kafka_ssl_ca_location": ""},
    }[wrong]
    options = options_for(secured_kafka, fresh_name(), **changed)
    if wrong == "ssl_ca_location":
        settings = {n: t for n, t in options.settings.items() if n != "ssl.ca.location"}
        options = KafkaOptions(options.name, options.bookkeeping, settings)
    assert levels(check(options)) == {"kafka.not_allowed": "error"}
    with pytest.raises(HeadraceError) as raised:
        send_range(options, "c", 0, "", lambda: [numbered("t", 0, 1)])
    assert (raised.value.code, raised.value.retriable) == ("kafka.not_allowed", False)


def test_brokers_that_are_all_down_do_not_hide_why() -> None:
    complaints = Complaints()
    complaints(KafkaError(KafkaError._SSL))
    complaints(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    error = complaints.explain(SINK, "b:9092", KafkaError(KafkaError._TRANSPORT))
    assert error.code == "kafka.not_allowed"


def test_connections_that_break_do_not_hide_why_until_kafka_answers() -> None:
    complaints = Complaints()
    complaints.note(KafkaError._TRANSPORT, "connection refused")
    complaints.note(KafkaError._SSL, "unknown authority")
    complaints.note(KafkaError._TRANSPORT, "disconnected")
    assert complaints.is_refusal
    complaints.forget()
    error = complaints.explain(SINK, "b:9092", KafkaError(KafkaError._TRANSPORT))
    assert error.code == "kafka.kafka_unreachable"


def test_a_certificate_that_is_refused_ends_a_writer(
    secured_kafka: SecuredKafka, short_tries: None
) -> None:
    options = options_for(secured_kafka, fresh_name())
    settings = {n: t for n, t in options.settings.items() if n != "ssl.ca.location"}
    writer = Writer(KafkaOptions(options.name, options.bookkeeping, settings), "0")
    with pytest.raises(KafkaFailure) as raised:
        writer.open()
    assert raised.value.code in (KafkaError._SSL, KafkaError._AUTHENTICATION)


def test_without_topic_creation_only_the_broker_creates_topics(kafka: KafkaServer) -> None:
    options = options_for(kafka, fresh_name(), topic_creation_enable="false")
    topics, name = Topics(SINK, options.connection, options.creation), fresh_name()
    with pytest.raises(HeadraceError) as raised:
        topics.ensure([name])
    assert raised.value.code == "kafka.topic_missing"
    assert name in raised.value.message
    kafka.create_topic(name)
    topics.ensure([name])
