"""Queries of topics' metadata at Kafka's brokers."""

from __future__ import annotations

from typing import Any

from headrace.kafka.client import ANSWER_SECONDS, load_client, unreachable
from headrace.kafka.settings import Purpose


def find_partitions(
    client: Any, purpose: Purpose, topic: str, *, brokers: str | None, named_by: str
) -> list[int]:
    """Return the numbers of a topic's partitions, ascending. `client` is an open consumer, because
    a metadata request of a producer creates the topic. `named_by` is the property that names the
    topic.

    Raises HeadraceError(".kafka_unreachable") or (".no_topic").
    """
    kafka = load_client(purpose)
    try:
        description = client.list_topics(topic, timeout=ANSWER_SECONDS).topics[topic]
    except kafka.KafkaException as error:
        raise unreachable(purpose, brokers, error.args[0]) from None
    if description.error is not None or not description.partitions:
        raise purpose.error(
            "no_topic",
            f"The topic {topic} of {purpose.use} cannot be read: "
            f"{description.error or 'it has no partitions'}",
            f"Create it with one partition, correct {named_by}, or let the user read it.",
            retriable=True,
        )
    return sorted(description.partitions)
