"""Errors of librdkafka as errors of headrace."""

from __future__ import annotations

import pytest

from headrace.kafka.librdkafka import KafkaFailure
from headrace.sinks.kafka.failures import TOPIC_GONE, in_our_words
from headrace.sinks.kafka.options import KafkaOptions

OPTIONS = KafkaOptions.of({"kafka.producer.bootstrap.servers": "h:1"}, name="shop")


@pytest.mark.parametrize(
    ("code", "topic", "message"),
    [
        (TOPIC_GONE, "shop.orders", "The topic shop.orders no longer exists (gone)"),
        (TOPIC_GONE, "", "A topic no longer exists (gone)"),
        (1, "shop.orders", "A write to Kafka for shop.orders failed: gone (1)"),
        (1, "", "A write to Kafka failed: gone (1)"),
    ],
)
def test_an_error_names_the_topic_if_it_is_known(code: int, topic: str, message: str) -> None:
    error = in_our_words(KafkaFailure(code, "gone", topic=topic), OPTIONS)
    assert error.message == message
    assert error.retriable
