"""The client of the kafka channel: opened with Debezium's settings, and one signal sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.config.properties.connector import ConnectorConfig
from headrace.kafka import admin, client
from headrace.kafka.settings import Purpose, client_settings, connection_settings, offset_reset
from headrace.signals.signal import Signal

if TYPE_CHECKING:
    from headrace.errors import HeadraceError
    from headrace.kafka.client import Consumer, KafkaError

CHANNEL = Purpose(
    area="signals",
    use="the kafka channel",
    enabled_by="signal.enabled.channels has kafka",
    settings="signal.consumer",
    brokers="signal.kafka.bootstrap.servers",
)
_SEND_SECONDS = 15.0
# The checkpoint keeps the offset; it is committed for the group only for information.
_OURS = {"enable.auto.commit": "false", "enable.partition.eof": "true"}


def open_consumer(
    config: ConnectorConfig,
    *,
    on_error: Callable[[KafkaError], None],
    on_commit: Callable[[KafkaError | None, Any], None],
) -> Consumer:
    """Return the channel's consumer, which connects by itself. `on_error` gets the errors of
    brokers, `on_commit` the result of a commit.

    Raises HeadraceError("signals.no_kafka_client") or ("signals.kafka_setting").
    """
    settings = consumer_settings(config)
    return client.open_consumer(CHANNEL, settings, on_error=on_error, on_commit=on_commit)


def consumer_settings(config: ConnectorConfig) -> dict[str, str]:
    """Return the settings of the channel's consumer, with librdkafka's names.

    Raises HeadraceError("signals.kafka_setting").
    """
    return {
        "group.id": config.signal_kafka_groupId,
        "auto.offset.reset": "earliest",
        "queued.max.messages.kbytes": "1024",
        **_settings(config),
        **_OURS,
    }


def reset(config: ConnectorConfig) -> str:
    """Return where reading begins without a committed offset: earliest, latest or error."""
    return offset_reset(_settings(config))


def find_partitions(consumer: Any, config: ConnectorConfig) -> list[int]:
    """Return the partitions of the signal topic.

    Raises HeadraceError("signals.kafka_unreachable") or ("signals.no_topic").
    """
    return admin.find_partitions(
        consumer,
        CHANNEL,
        config.signal_topic(),
        brokers=config.signal_brokers(),
        named_by="signal.kafka.topic",
    )


def check_settings(config: ConnectorConfig) -> None:
    """Check that the channel can be opened, without a connection to Kafka. Raises as
    `open_consumer`."""
    if "kafka" in config.signal_enabled_channels:
        open_consumer(config, on_error=_nothing, on_commit=_nothing).close()


def check_topic(config: ConnectorConfig) -> None:
    """Check that the signal topic exists. Raises as `open_consumer` and `find_partitions`."""
    # A consumer, because a metadata request of a producer creates the topic.
    consumer = open_consumer(config, on_error=_nothing, on_commit=_nothing)
    try:
        find_partitions(consumer, config)
    finally:
        consumer.close()


def unreachable(config: ConnectorConfig, error: object) -> HeadraceError:
    """Return the error for brokers that do not answer or that refuse."""
    return client.unreachable(CHANNEL, config.signal_brokers(), error)


def produce(config: ConnectorConfig, signal: Signal) -> None:
    """Send one signal, and wait until Kafka has acknowledged it. Raises HeadraceError."""
    kafka = client.load_client(CHANNEL)
    settings = connection_settings(_settings(config))
    settings["message.timeout.ms"] = str(int(_SEND_SECONDS * 1000) - 5000)
    producer = client.open_producer(CHANNEL, settings)
    check_topic(config)
    data = None if signal.data is None else json.loads(signal.data)
    failures: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    try:
        producer.produce(
            config.signal_topic(),
            key=config.topic_prefix,
            value=json.dumps({"id": signal.id, "type": signal.type, "data": data}),
            on_delivery=delivered,
        )
        if producer.flush(_SEND_SECONDS):
            failures.append("no answer in time")
    except kafka.KafkaException as error:
        failures.append(error.args[0])
    if failures:
        raise unreachable(config, failures[0])


def _nothing(*_: object) -> None:
    pass


def _settings(config: ConnectorConfig) -> dict[str, str]:
    """Return `signal.consumer.*` and the brokers, with librdkafka's names."""
    return client_settings(CHANNEL, config.signal_consumer, config.signal_brokers() or "")
