"""Translates Kafka's errors: the retriable ones, and those that waiting does not correct."""

from __future__ import annotations

from headrace.errors import HeadraceError
from headrace.kafka.client import not_allowed, unreachable
from headrace.kafka.librdkafka import KafkaFailure
from headrace.sinks.kafka.options import SINK, KafkaOptions

# The comments are the names that librdkafka gives to the numbers, in their order.
TIMED_OUT = -185
NO_PARTITION = -190
TOPIC_GONE = 3
# MSG_SIZE_TOO_LARGE, RECORD_LIST_TOO_LARGE
_TOO_LARGE = (10, 18)
# UNKNOWN_TOPIC_OR_PART, _UNKNOWN_TOPIC
_GONE = (TOPIC_GONE, -188)
# _FENCED, ILLEGAL_GENERATION, INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED
_FENCED = (-144, 22, 47, 49, 90)
# TOPIC_, GROUP_, CLUSTER_ and TRANSACTIONAL_ID_AUTHORIZATION_FAILED, SASL_AUTHENTICATION_FAILED,
# _AUTHENTICATION, _SSL
_NOT_ALLOWED = (29, 30, 31, 53, 58, -169, -181)
# TOPIC_EXCEPTION, UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE, UNSUPPORTED_VERSION,
# INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, INVALID_CONFIG, UNSUPPORTED_FOR_MESSAGE_FORMAT,
# POLICY_VIOLATION, INVALID_TRANSACTION_TIMEOUT, INVALID_RECORD, _INVALID_ARG
_PERMANENT = (17, 33, 34, 35, 37, 38, 40, 43, 44, 50, 87, -186)
# _TRANSPORT, _ALL_BROKERS_DOWN, _RESOLVE, _TIMED_OUT, LEADER_NOT_AVAILABLE, REQUEST_TIMED_OUT,
# BROKER_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR,
# _FAIL, _MSG_TIMED_OUT
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
            f"The topic {failure.topic} no longer exists ({text})"
            if failure.topic
            else f"A topic no longer exists ({text})",
            "headrace creates it again.",
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
        f"A write to Kafka{of_topic} failed: {text} ({code})",
        "See the brokers' logs.",
        retriable=code not in _PERMANENT,
    )
