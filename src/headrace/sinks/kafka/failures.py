"""Translates Kafka's errors: the retriable ones, and those that waiting does not correct."""

from __future__ import annotations

from headrace.errors import HeadraceError
from headrace.kafka.client import not_allowed, unreachable
from headrace.kafka.librdkafka import KafkaFailure
from headrace.sinks.kafka.options import SINK, KafkaOptions

TIMED_OUT = -185
NO_PARTITION = -190
TOPIC_GONE = 3
_TOO_LARGE = (10, 18)
_GONE = (TOPIC_GONE, -188)
_FENCED = (-144, 22, 47, 49, 90)
_NOT_ALLOWED = (29, 30, 31, 53, 58, -169, -181)
_PERMANENT = (17, 33, 34, 35, 37, 38, 40, 43, 44, 50, 87, -186)
_AWAY = (-195, -187, -193, TIMED_OUT, 5, 7, 8, 14, 15, 16, -196, -192)


def is_permanent(code: int) -> bool:
    """Whether a connection that fails with this error would always fail."""
    return code in _NOT_ALLOWED or code in _PERMANENT


def in_our_words(failure: KafkaFailure, options: KafkaOptions) -> HeadraceError:
    """Return the HeadraceError of a librdkafka failure."""
    code, text, of_topic = failure.code, failure.text, f" for {failure.topic}" * bool(failure.topic)
    if code in _TOO_LARGE:
        return HeadraceError(
            "kafka.record_too_large",
            f"Kafka does not accept a record{of_topic}: it is larger than the producer "
            f"(message.max.bytes, {options.settings.get('message.max.bytes', '1000000')} bytes) or "
            "the topic (max.message.bytes) allows",
            f"Raise {SINK.settings}.max.request.size and the topic's max.message.bytes, keep "
            f"{SINK.settings}.batch.size at most that, or leave the large column out "
            "(column.exclude.list, column.truncate.to.LENGTH.chars).",
        )
    if code == NO_PARTITION:
        return HeadraceError(
            "kafka.no_partition",
            f"A record{of_topic} names a partition that the topic does not have",
            "Give the topic more partitions, or correct the transform that chooses them.",
        )
    if code in _FENCED:
        return HeadraceError(
            "kafka.fenced",
            f"Kafka has ended a transaction of {options.name} ({text}): another run writes under "
            "this name, or the transaction took longer than transaction.timeout.ms",
            "Stop one of two runs with the same topic.prefix (or headrace.sink.kafka.name); "
            f"otherwise raise {SINK.settings}.transaction.timeout.ms.",
            retriable=True,
        )
    if code in _GONE:
        return HeadraceError(
            "kafka.topic_gone",
            f"The topic no longer exists{of_topic} ({text})",
            "It is created again.",
            retriable=True,
        )
    if code in _NOT_ALLOWED:
        rights = (
            f": to write the topics, to use transactional ids headrace-{options.name}-*, to read "
            f"and write {options.bookkeeping}"
        )
        return not_allowed(SINK, options.brokers, text + of_topic, rights=rights)
    if code in _AWAY:
        return unreachable(SINK, options.brokers, text)
    return HeadraceError(
        "kafka.failed",
        f"Kafka ends a write{of_topic} with: {text} ({code})",
        "See the brokers' logs.",
        retriable=code not in _PERMANENT,
    )
