"""The bookkeeping topic of markers: compacted, with a partition per slice."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError
from headrace.kafka.client import (
    ANSWER_SECONDS,
    Complaints,
    load_admin,
    load_client,
    open_admin,
    open_consumer,
    unreachable,
)
from headrace.kafka.topics import TopicGroup, Topics
from headrace.sinks.kafka.markers import Marker, key_of, topic_lost
from headrace.sinks.kafka.options import SINK, KafkaOptions

_READ_SECONDS = 60.0
_POLL_SECONDS = 1.0
_FIRST_LOOK_BACK = 8
_LOOK_BACK_FACTOR = 8
_TOPIC = {"cleanup.policy": "compact", "segment.bytes": "16777216"}


class Bookkeeping:
    """The bookkeeping topic of a sink. Methods raise HeadraceError: "kafka.kafka_unreachable"
    (retriable), "kafka.topic_refused"."""

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._topics = Topics(SINK, options.connection, options.creation)

    def partitions(self) -> int:
        """The number of slices for which the topic has partitions; 0 if it does not exist."""
        return self._topics.partitions(self._options.bookkeeping)

    def make_room(self, slices: int) -> None:
        """Create the topic with the replication factor that topic.creation.* gives it, or add
        partitions to it. Also raises as `check_policy`: the retention of a topic that is not
        compacted would delete markers."""
        topic = self._options.bookkeeping
        present = self.partitions()
        if not present:
            copies = self._options.creation.of_topic(topic).replication_factor
            group = TopicGroup("bookkeeping", (), (), slices, copies, _TOPIC)
            self._topics.create([topic], group)
            return
        if present < slices:
            self._topics.widen(topic, slices)
        self.check_policy()

    def check_policy(self) -> None:
        """Check that the topic is compacted. Raises
        HeadraceError("kafka.bookkeeping_not_compacted")."""
        topic = self._options.bookkeeping
        policy = self._topics.config(topic, "cleanup.policy")
        if policy is not None and policy.strip() != "compact":
            raise HeadraceError(
                "kafka.bookkeeping_not_compacted",
                f"The bookkeeping topic {topic} has cleanup.policy={policy}, which deletes the "
                f"sink's progress",
                f"kafka-configs --alter --entity-type topics --entity-name {topic} "
                "--add-config cleanup.policy=compact",
            )

    def read(self, checkpoint: str, slices: Sequence[int]) -> list[Marker | None]:
        """Return the last markers of slices, in their order, including all that were committed
        before the call: waits for transactions that are open in these partitions.

        Also raises errors of Marker.from_json, ("kafka.bookkeeping_lost") without the topic, and
        ("kafka.bookkeeping_held") (retriable) if such a transaction stays open.
        """
        if not slices:
            return []
        self._check_partitions(max(slices) + 1)
        reading = _MarkerSearch(self._options, checkpoint, slices)
        try:
            return reading.run()
        finally:
            reading.close()

    def _check_partitions(self, count: int) -> None:
        # Some brokers may not know a topic or partition that was just created.
        patience = Deadline(ANSWER_SECONDS)
        while self.partitions() < count:
            if patience.is_over:
                raise topic_lost(self._options.bookkeeping, count - 1)
            patience.pause(0.1)


class _MarkerSearch:
    """A single read: backwards from the end, until each marker is found or the start is reached."""

    def __init__(self, options: KafkaOptions, checkpoint: str, slices: Sequence[int]) -> None:
        self._options, self._slices = options, slices
        self._keys = {number: key_of(checkpoint, number).encode() for number in slices}
        self._kafka, self._admin = load_client(SINK), load_admin(SINK)
        self._deadline = time.monotonic() + _READ_SECONDS
        self._values: dict[int, bytes] = {}
        self._complaints = Complaints()
        settings = {
            **options.connection,
            "group.id": f"headrace-{options.name}",
            "enable.auto.commit": "false",
            "enable.partition.eof": "true",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            # The end of a partition is reported after an empty fetch.
            "fetch.wait.max.ms": "10",
            "fetch.error.backoff.ms": "10",
        }
        self._consumer: Any = open_consumer(
            SINK, settings, on_error=self._complaints, on_commit=lambda *_: None
        )

    def close(self) -> None:
        self._consumer.close()

    def run(self) -> list[Marker | None]:
        low, high = self._ends("earliest"), self._ends("latest")
        back = _FIRST_LOOK_BACK
        waiting = {number for number in self._slices if high[number] > low[number]}
        while waiting:
            starts = {number: max(low[number], high[number] - back) for number in waiting}
            self._look(starts, high)
            waiting = {
                number
                for number in waiting
                if number not in self._values and starts[number] > low[number]
            }
            back *= _LOOK_BACK_FACTOR
        texts = (self._values.get(number) for number in self._slices)
        return [None if text is None else Marker.from_json(text) for text in texts]

    def _look(self, starts: dict[int, int], high: dict[int, int]) -> None:
        """Read the partitions from `starts` up to `high`."""
        topic, codes = self._options.bookkeeping, self._kafka.KafkaError
        place = self._kafka.TopicPartition
        self._consumer.assign([place(topic, number, start) for number, start in starts.items()])
        unread = set(starts)
        while unread:
            message = self._consumer.poll(_POLL_SECONDS)
            if time.monotonic() > self._deadline:
                raise self._held(min(unread))
            if message is None:
                continue
            error, number = message.error(), message.partition()
            if error is not None:
                # This is the end of completed transactions; the log may continue after it.
                if error.code() == codes._PARTITION_EOF:
                    if message.offset() >= high[number]:
                        unread.discard(number)
                elif not error.retriable():
                    raise unreachable(SINK, self._options.brokers, error)
                continue
            if message.key() == self._keys[number]:
                self._values[number] = message.value()
        self._consumer.unassign()

    def _ends(self, which: str) -> dict[int, int]:
        """The offsets of the partitions' starts or ends (`which`), including open transactions."""
        spec = getattr(self._admin.OffsetSpec, which)()
        topic, place = self._options.bookkeeping, self._kafka.TopicPartition
        offset_specs = {place(topic, number): spec for number in self._slices}
        admin = open_admin(SINK, self._options.connection, on_error=self._complaints)
        level = self._kafka.IsolationLevel.READ_UNCOMMITTED
        try:
            answers = admin.list_offsets(
                offset_specs, isolation_level=level, request_timeout=ANSWER_SECONDS
            )
            return {
                asked_for.partition: int(answer.result(timeout=2 * ANSWER_SECONDS).offset)
                for asked_for, answer in answers.items()
            }
        except (self._kafka.KafkaException, TimeoutError) as error:
            admin.poll(0)
            reason = (error.args or ("",))[0]
            raise self._complaints.explain(SINK, self._options.brokers, reason) from None

    def _held(self, number: int) -> HeadraceError:
        if self._complaints.last is not None:
            return self._complaints.explain(SINK, self._options.brokers, self._complaints.last.text)
        return SINK.error(
            "bookkeeping_held",
            f"A transaction in partition {number} of {self._options.bookkeeping} is open since "
            f"{_READ_SECONDS:g} s, and records after it cannot be read",
            "Give each query a bookkeeping topic of its own "
            "(headrace.sink.kafka.bookkeeping.topic). If no query writes to it: "
            "kafka-transactions.sh find-hanging, then abort.",
            retriable=True,
        )
