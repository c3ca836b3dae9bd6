"""A case's topics as an independent client reads them, in lines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from tests.golden.database import PREFIX
from tests.servers.kafka import KafkaServer
from tests.sinks.kafka.records import read_topic

PARTITIONS = 3
_NO_VALUE = '"(no value)"'
"""A header without a value, which is another one than that with the text null."""


def lines_of(kafka: KafkaServer) -> list[str]:
    """`{"topic":…,"partition":…,"key":…,"value":…,"headers":{…}}`: topic by topic, partition by
    partition, in order. Members are the texts that the records have."""
    lines = []
    for topic in topics(kafka):
        for record in sorted(read_topic(kafka, topic), key=lambda record: record.partition):
            headers = ",".join(
                f"{json.dumps(name)}:{_NO_VALUE if value is None else _text(value)}"
                for name, value in record.headers or []
            )
            lines.append(
                f'{{"topic":{json.dumps(topic)},"partition":{record.partition},'
                f'"key":{_text(record.key)},"value":{_text(record.value)},"headers":{{{headers}}}}}'
            )
    return lines


def topics(kafka: KafkaServer) -> list[str]:
    """The topics of the case."""
    return sorted(name for name in kafka.topics() if name.startswith(f"{PREFIX}."))


def count(kafka: KafkaServer) -> int:
    """Offsets that are taken in the case's topics."""
    return sum(sum(kafka.ends(name).values()) for name in topics(kafka))


def await_count(kafka: KafkaServer, least: int, goes_on: Callable[[], bool]) -> None:
    """Waits until at least so many records are in the topics."""
    deadline = time.monotonic() + 600
    while count(kafka) < least:
        assert goes_on(), "it ended"
        assert time.monotonic() < deadline, f"{count(kafka)} of {least} came"
        time.sleep(0.2)


def _text(content: bytes | None) -> str:
    """JSON as it is; another text as a JSON string."""
    if content is None:
        return "null"
    text = content.decode()
    try:
        json.loads(text)
    except ValueError:
        return json.dumps(text, ensure_ascii=False)
    return text
