"""A schema history in a Kafka topic of one partition, in the format of Debezium's
KafkaSchemaHistory: a message without key per record."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from headrace.errors import HeadraceError
from headrace.kafka.client import (
    ANSWER_SECONDS,
    Complaints,
    load_client,
    open_consumer,
    open_producer,
)
from headrace.kafka.login import Login
from headrace.kafka.settings import (
    Purpose,
    client_settings,
    connection_settings,
    producer_settings,
)
from headrace.kafka.topics import TopicCreation, TopicGroup, Topics
from headrace.relational.history.store import HistoryStore

PURPOSE = Purpose(
    area="relational",
    use="the schema history",
    enabled_by="schema.history.internal is Kafka",
    settings="schema.history.internal.consumer",
    brokers="schema.history.internal.kafka.bootstrap.servers",
)
_MESSAGES_AT_ONCE = 1000
_POLL_SECONDS = 0.5
_WRITE_SECONDS = 30.0
_OURS = {
    "group.id": "headrace-schema-history",
    "enable.auto.commit": "false",
    "auto.offset.reset": "error",
    "enable.partition.eof": "true",
}
# Debezium's settings of the topic: no message may ever be deleted.
_TOPIC = TopicGroup(
    "history",
    partitions=1,
    configs={"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"},
)
_Result = TypeVar("_Result")


class KafkaStore(HistoryStore):
    """The topic `topic`, created when the first record is written. `consumer` and `producer` are
    settings of Kafka's Java clients without their prefix."""

    def __init__(
        self,
        topic: str,
        brokers: str,
        consumer: Mapping[str, str],
        producer: Mapping[str, str],
        *,
        seconds: float,
    ) -> None:
        """`seconds`: reading ends with an error if no message arrives for this long although more
        messages exist. Raises HeadraceError `relational.no_kafka_client` and
        `relational.kafka_setting`."""
        self._topic, self._brokers, self._seconds = topic, brokers, seconds
        self._kafka = load_client(PURPOSE)
        self._consuming = {**client_settings(PURPOSE, consumer, brokers), **_OURS}
        self._producing = {
            **producer_settings(PURPOSE, producer, brokers),
            "acks": "all",
            "message.timeout.ms": str(int(_WRITE_SECONDS * 1000)),
        }
        connection = connection_settings(client_settings(PURPOSE, producer, brokers))
        self._topics = Topics(PURPOSE, connection, TopicCreation())
        self._producer: Any = None
        self._login: Login | None = None
        """The producer's login."""
        self._complaints = Complaints()

    @property
    def name(self) -> str:
        """See HistoryStore."""
        return f"topic {self._topic} of {self._brokers}"

    def lines(self) -> Iterator[bytes]:
        """See HistoryStore. Raises HeadraceError: `relational.kafka_unreachable` (retriable),
        `relational.history_unreadable`, `relational.not_allowed`."""
        if not self.partitions():
            return
        consumer = open_consumer(
            PURPOSE, self._consuming, on_error=self._complaints, on_commit=lambda *_: None
        )
        try:
            yield from self._read(consumer)
        finally:
            consumer.close()

    def partitions(self) -> int:
        """Return the number of partitions of the topic, 1 at most; 0 if it does not exist. Raises
        as `lines`."""
        count = self._topics.partitions(self._topic)
        if count > 1:
            raise HeadraceError(
                "relational.history_unreadable",
                f"The topic {self._topic} of the schema history has {count} partitions, so its "
                "records have no order",
                "Name a topic of one partition in schema.history.internal.kafka.topic.",
            )
        return count

    def _read(self, consumer: Any) -> Iterator[bytes]:
        partition = self._kafka.TopicPartition(self._topic, 0)
        first, end = self._asked(
            lambda: consumer.get_watermark_offsets(partition, timeout=ANSWER_SECONDS)
        )
        if first >= end:
            return
        consumer.assign([self._kafka.TopicPartition(self._topic, 0, first)])
        place, heard = first, time.monotonic()
        while place < end:
            for message in consumer.consume(_MESSAGES_AT_ONCE, _POLL_SECONDS):
                error = message.error()
                if error is None:
                    place, heard = message.offset() + 1, time.monotonic()
                    if message.value() is not None:
                        yield message.value()
                elif error.code() == self._kafka.KafkaError._PARTITION_EOF:
                    place = end  # only transaction markers are left
                else:
                    raise self._complaints.explain(PURPOSE, self._brokers, error)
            if time.monotonic() - heard > self._seconds:
                raise self._complaints.explain(
                    PURPOSE, self._brokers, f"{end - place} messages of {self._topic} do not come"
                )

    def append(self, lines: Sequence[str]) -> None:
        """See HistoryStore. Raises HeadraceError: `relational.kafka_unreachable` (retriable),
        `relational.topic_refused`, `relational.not_allowed`."""
        if not lines:
            return
        if self._login is not None and self._login.has_changed:
            self._producer = None
        if self._producer is None:
            if not self.partitions():
                self._topics.create([self._topic], _TOPIC)
            self._login = Login(self._producing)
            self._producer = open_producer(PURPOSE, self._login.used)
        failures: list[object] = []

        def written(error: object, _message: object) -> None:
            if error is not None:
                failures.append(error)

        def write() -> None:
            for line in lines:
                self._producer.produce(
                    self._topic, value=line.encode(), partition=0, on_delivery=written
                )
            if self._producer.flush(_WRITE_SECONDS):
                failures.append("no answer in time")

        self._asked(write)
        if failures:
            # Messages still in flight must not arrive after the next ones.
            self._producer.purge()
            self._producer = None
            raise self._complaints.explain(PURPOSE, self._brokers, failures[0])

    def _asked(self, question: Callable[[], _Result]) -> _Result:
        try:
            return question()
        except self._kafka.KafkaException as error:
            raise self._complaints.explain(PURPOSE, self._brokers, error.args[0]) from None

    def close(self) -> None:
        """See HistoryStore."""
        self._producer = None
