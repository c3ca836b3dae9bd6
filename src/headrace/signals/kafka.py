"""Kafka's client for the kafka channel: opened with Debezium's settings, and one signal sent.

The client is librdkafka (the package `confluent-kafka`), imported when the channel is used.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.config.properties.common import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.signals.signal import Signal

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError

log = logging.getLogger(__name__)

ANSWER_SECONDS = 5.0
_SEND_SECONDS = 15.0

# Of Kafka's Java client, without a meaning for this one.
_JAVA = frozenset(
    [
        "default.api.timeout.ms",
        "interceptor.classes",
        "key.deserializer",
        "max.poll.records",
        "metric.reporters",
        "request.timeout.ms",
        "value.deserializer",
    ]
)
# The place is kept in the checkpoint, the group is only told of it.
_OURS = {"enable.auto.commit": "false", "enable.partition.eof": "true"}
_CONNECTION = re.compile(
    r"bootstrap\.servers|client\.(id|dns\.lookup)|(security|sasl|ssl|socket|broker|reconnect)\..+"
    r"|log_level"
)
_LOGIN = re.compile(r'\b(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')
_LOGIN_MODULES = ("PlainLoginModule", "ScramLoginModule")


def load_client() -> Any:
    """The package. Raises HeadraceError("signals.no_kafka_client")."""
    try:
        return import_module("confluent_kafka")
    except ImportError as error:
        raise HeadraceError(
            "signals.no_kafka_client",
            f"signal.enabled.channels has kafka, but the package confluent-kafka is not there "
            f"({error})",
            "pip install 'headrace[kafka]'",
        ) from None


def open_consumer(
    config: ConnectorConfig,
    *,
    told: Callable[[KafkaError], None],
    committed: Callable[[KafkaError | None, Any], None],
) -> Consumer:
    """It connects by itself. `told` gets the errors of brokers, `committed` how a commit ended.

    Raises HeadraceError("signals.no_kafka_client") or ("signals.kafka_setting").
    """
    callbacks = {"error_cb": told, "on_commit": committed}
    consumer: Consumer = _open("Consumer", {**consumer_settings(config), **callbacks})
    return consumer


def consumer_settings(config: ConnectorConfig) -> dict[str, str]:
    """Of the consumer, as librdkafka writes them. Raises HeadraceError("signals.kafka_setting")."""
    return {
        "group.id": config.signal_kafka_groupId,
        "auto.offset.reset": "earliest",
        "queued.max.messages.kbytes": "1024",
        **_settings(config),
        **_OURS,
    }


def reset(config: ConnectorConfig) -> str:
    """Where reading begins that nobody has begun: earliest, latest or error."""
    given = _settings(config).get("auto.offset.reset", "earliest").strip().lower()
    return {
        "smallest": "earliest",
        "beginning": "earliest",
        "largest": "latest",
        "end": "latest",
    }.get(given, given)


def find_partitions(client: Any, config: ConnectorConfig) -> list[int]:
    """Those of the signal topic.

    Raises HeadraceError("signals.kafka_unreachable") or ("signals.no_topic").
    """
    kafka = load_client()
    topic = config.signal_topic()
    try:
        found = client.list_topics(topic, timeout=ANSWER_SECONDS).topics[topic]
    except kafka.KafkaException as error:
        raise unreachable(config, error.args[0]) from None
    if found.error is not None or not found.partitions:
        raise HeadraceError(
            "signals.no_topic",
            f"The signal topic {topic} cannot be read: {found.error or 'it has no partitions'}",
            "Create it with one partition, correct signal.kafka.topic, or let the user read it.",
            retriable=True,
        )
    return sorted(found.partitions)


def check_settings(config: ConnectorConfig) -> None:
    """Whether the channel can be opened; Kafka is not asked. Raises as `open_consumer`."""
    if "kafka" in config.signal_enabled_channels:
        open_consumer(config, told=_nothing, committed=_nothing).close()


def check_topic(config: ConnectorConfig) -> None:
    """Whether the signal topic is there. Raises as `open_consumer` and `find_partitions`."""
    # Asked by a consumer, for a producer's question creates the topic.
    consumer = open_consumer(config, told=_nothing, committed=_nothing)
    try:
        find_partitions(consumer, config)
    finally:
        consumer.close()


def unreachable(config: ConnectorConfig, error: object) -> HeadraceError:
    """Kafka does not answer, or refuses."""
    return HeadraceError(
        "signals.kafka_unreachable",
        f"Kafka at {config.signal_brokers()} does not give what the kafka channel needs: "
        f"{_text(error)}",
        "Check signal.kafka.bootstrap.servers, signal.consumer.* and that the brokers run.",
        retriable=True,
    )


def produce(config: ConnectorConfig, signal: Signal) -> None:
    """Send one signal, and wait until Kafka has it. Raises HeadraceError."""
    kafka = load_client()
    connection = {k: v for k, v in _settings(config).items() if _CONNECTION.fullmatch(k)}
    settings = {**connection, "message.timeout.ms": str(int(_SEND_SECONDS * 1000) - 5000)}
    producer = _open("Producer", settings)
    check_topic(config)
    data = None if signal.data is None else json.loads(signal.data)
    failed: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failed.append(error)

    try:
        producer.produce(
            config.signal_topic(),
            key=config.topic_prefix,
            value=json.dumps({"id": signal.id, "type": signal.type, "data": data}),
            on_delivery=delivered,
        )
        if producer.flush(_SEND_SECONDS):
            failed.append("no answer in time")
    except kafka.KafkaException as error:
        failed.append(error.args[0])
    if failed:
        raise unreachable(config, failed[0])


def _nothing(*_: object) -> None:
    pass


def _open(kind: str, settings: Mapping[str, Any]) -> Any:
    kafka = load_client()
    try:
        # The client's own log goes where ours goes, and says what we do not.
        return getattr(kafka, kind)({"log_level": "2", **settings}, logger=log)
    except (kafka.KafkaException, TypeError, ValueError) as error:
        raise HeadraceError(
            "signals.kafka_setting",
            f"Kafka's client refuses a setting of signal.consumer.*: {_text(error.args[0])}",
            "Use librdkafka's settings: ssl.ca.location, sasl.username, sasl.password and so on "
            "(its CONFIGURATION.md lists them).",
        ) from None


def _text(error: object) -> str:
    told = getattr(error, "str", None)
    return str(told()) if callable(told) else str(error)


def _settings(config: ConnectorConfig) -> dict[str, str]:
    """`signal.consumer.*` and the brokers, as librdkafka writes them."""
    given = {name.lower(): text for name, text in config.signal_consumer.items()}
    out = {name: text for name, text in given.items() if name not in _JAVA}
    out["bootstrap.servers"] = config.signal_brokers() or ""
    if "sasl.jaas.config" in out:
        out |= _login(out.pop("sasl.jaas.config"))
    if out.get("auto.offset.reset") == "none":
        out["auto.offset.reset"] = "error"
    if out.get("ssl.endpoint.identification.algorithm") == "":
        out["ssl.endpoint.identification.algorithm"] = "none"
    if out.pop("ssl.truststore.type", "").upper() == "PEM" and "ssl.truststore.location" in out:
        out["ssl.ca.location"] = out.pop("ssl.truststore.location")
    return out


def _login(jaas: str) -> dict[str, str]:
    """User and password of Java's login configuration."""
    found = {name: re.sub(r"\\(.)", r"\1", text) for name, text in _LOGIN.findall(jaas)}
    if len(found) != 2 or not any(module in jaas for module in _LOGIN_MODULES):
        raise HeadraceError(
            "signals.kafka_setting",
            "signal.consumer.sasl.jaas.config is not the login of a user with a password",
            "Remove it and use librdkafka's settings: sasl.mechanism, sasl.username, "
            "sasl.password, sasl.oauthbearer.*, sasl.kerberos.*.",
        )
    return {f"sasl.{name}": text for name, text in found.items()}
