"""The kafka channel: messages `{"id": …, "type": …, "data": {…}}` whose key is topic.prefix.

The checkpoint has the Kafka offset of each partition, so a signal is applied once, whenever the
process dies. A thread reads ahead, so that planning never waits for Kafka, except briefly at the
start. Errors of Kafka are logged as warnings, and the stream continues.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.kafka.client import ANSWER_SECONDS, load_client
from headrace.kafka.login import Login
from headrace.signals.kafka import (
    CHANNEL,
    consumer_settings,
    find_partitions,
    open_consumer,
    reset,
    unreachable,
)
from headrace.signals.progress import TopicPlace
from headrace.signals.signal import Signal, parse_signal

if TYPE_CHECKING:
    from headrace.kafka.client import KafkaError, Message

log = logging.getLogger(__name__)

Places = tuple[TopicPlace, ...]

_START_SECONDS = 3.0  # for signals from before the start
_MIN_POLL_SECONDS = 0.02
_COORDINATOR_WAIT_SECONDS = 0.2
_MAX_COORDINATOR_ERRORS = 50
_MAX_WAITING = 1000  # signals read and not yet taken


class SignalTopic:
    """The signals of the topic `signal.kafka.topic`, read ahead by a thread that the first `take`
    starts. `take` and `acknowledge` are called by the thread that polls."""

    def __init__(self, config: ConnectorConfig) -> None:
        """Raises HeadraceError("signals.no_kafka_client") or ("signals.kafka_setting")."""
        self._config = config
        self._kafka = load_client(CHANNEL)
        self._topic = config.signal_topic()
        self._key = config.topic_prefix.encode()
        self._open()
        self._interval = config.signal_poll_interval_ms / 1000
        self._timeout = max(config.signal_kafka_poll_timeout_ms / 1000, _MIN_POLL_SECONDS)
        self._thread = threading.Thread(target=self._run, name="signal topic", daemon=True)
        self._ended = threading.Event()
        self._changed = threading.Condition()
        # Guarded by the condition:
        self._signals: list[Signal] = []
        self._offsets: dict[int, int] | None = None  # the next, by partition; None: unknown
        self._restart_at: dict[int, int] | None = None  # Kafka offsets to start again from
        self._unread: set[int] = set()  # partitions not yet read to the end
        self._taken: Places | None = None
        self._in_checkpoint: Places = ()
        # Used by the thread only:
        self._lost: object = None
        self._complaint: str | None = None
        self._coordinator_errors = 0  # consecutive ones

    def _open(self) -> None:
        """Open the consumer with the current login. Raises as `__init__`, and
        HeadraceError("config.secret_unreadable")."""
        config = self._config
        self._login = Login(consumer_settings(config))
        self._consumer = open_consumer(config, on_error=self._on_error, on_commit=self._on_commit)

    def acknowledge(self, places: Places) -> None:
        """Note that the checkpoint contains all signals before `places`; the thread commits these
        offsets for the consumer group."""
        with self._changed:
            self._in_checkpoint = places

    def take(self, places: Places) -> tuple[list[Signal], Places]:
        """Return the signals from `places` on that were not applied yet, and the places after
        them: the next Kafka offset of each partition."""
        with self._changed:
            if places != self._taken:
                # The first call, or a range is planned again.
                self._signals.clear()
                self._offsets = None
                self._restart_at = {p.partition: p.next for p in places if p.topic == self._topic}
                if not self._thread.is_alive():
                    self._thread.start()
                self._changed.wait_for(self._caught_up, _START_SECONDS)
            signals, self._signals = self._signals, []
            if self._offsets is not None:
                numbered = sorted(self._offsets.items())
                places = tuple(TopicPlace(self._topic, *place) for place in numbered)
            self._taken = places
            self._changed.notify_all()
            return signals, places

    def _caught_up(self) -> bool:
        failed = self._complaint is not None
        return failed or (self._offsets is not None and not self._unread)

    def close(self) -> None:
        """End the thread and close the consumer; wait no longer than for one answer of Kafka. Never
        raises."""
        self._ended.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(ANSWER_SECONDS + 1)
        else:
            self._consumer.close()

    # -- run by the thread ----------------------------------------------------------------------

    def _run(self) -> None:
        committed: Places = ()
        while not self._ended.is_set():
            try:
                self._begin()
                committed = self._commit(committed)
                self._read()
            except HeadraceError as problem:
                self._complain(problem)
            except self._kafka.KafkaException as error:
                if not self._wait_for_coordinator(error.args[0]):
                    self._complain(unreachable(self._config, error.args[0]))
        try:
            self._consumer.close()
        except (RuntimeError, self._kafka.KafkaException) as error:
            log.debug("closing Kafka's consumer: %s", error)

    def _begin(self) -> None:
        """Assign the partitions, from the offsets that `take` got or from where reading stopped; do
        nothing if neither is necessary. Raises HeadraceError and KafkaException."""
        with self._changed:
            start = self._restart_at
            if start is None and self._lost is not None:
                start = self._restart_at = dict(self._offsets or {})
        if start is None:
            return
        if self._login.has_changed:
            former = self._consumer
            self._open()
            former.close()
        self._lost = None
        partitions = find_partitions(self._consumer, self._config)
        offsets = self._resolve(partitions, start)
        partition = self._kafka.TopicPartition
        with self._changed:
            if self._restart_at is not start:
                return  # `take` has changed the offsets meanwhile
            self._consumer.assign([partition(self._topic, *pair) for pair in offsets.items()])
            self._restart_at, self._offsets, self._unread = None, offsets, set(offsets)
            self._coordinator_errors = 0
            if self._complaint is not None:
                log.warning("reading signals from the topic %s works again", self._topic)
                self._complaint = None

    def _resolve(self, partitions: list[int], start: dict[int, int]) -> dict[int, int]:
        """Return the offset at which each partition is read next; `start` has the known ones."""
        kafka = self._kafka
        offsets: dict[int, int] = {}
        committed: dict[int, int] = {}
        topic_partitions = [kafka.TopicPartition(self._topic, number) for number in partitions]
        if not start:
            for topic_partition in self._consumer.committed(
                topic_partitions, timeout=ANSWER_SECONDS
            ):
                if topic_partition.error is not None:
                    raise kafka.KafkaException(topic_partition.error)
                if topic_partition.offset >= 0:
                    committed[topic_partition.partition] = topic_partition.offset
        for topic_partition in topic_partitions:
            number = topic_partition.partition
            low, high = self._consumer.get_watermark_offsets(
                topic_partition, timeout=ANSWER_SECONDS
            )
            offset = start.get(number, committed.get(number))
            if offset is None:
                # A new partition has no signals from before the start.
                offset = self._first_offset(low, high) if not start else low
            elif not low <= offset <= high:
                log.warning(
                    "the topic %s no longer has offset %d of partition %d; signals are read from "
                    "offset %d",
                    self._topic,
                    offset,
                    number,
                    low,
                )
                offset = low
            offsets[number] = offset
        return offsets

    def _first_offset(self, low: int, high: int) -> int:
        match reset(self._config):
            case "earliest":
                return int(low)
            case "latest":
                return int(high)
        raise HeadraceError(
            "signals.no_place",
            f"The group {self._config.signal_kafka_groupId} has no offset for {self._topic}, and "
            "signal.consumer.auto.offset.reset does not permit headrace to choose one",
            "Set signal.consumer.auto.offset.reset to earliest or latest.",
        )

    def _commit(self, committed: Places) -> Places:
        """Commit the offsets in the checkpoint, unless they were `committed` last, so that the lag
        of the consumer group can be monitored. Return them."""
        with self._changed:
            places = tuple(p for p in self._in_checkpoint if p.topic == self._topic)
        if places and places != committed:
            partition = self._kafka.TopicPartition
            offsets = [partition(*place) for place in places]
            self._consumer.commit(offsets=offsets, asynchronous=True)
        return places

    def _read(self) -> None:
        message = self._consumer.poll(self._timeout)
        if message is not None:
            self._receive(message)
            return
        with self._changed:
            if not self._unread and self._restart_at is None and self._lost is None:
                # `take` wakes the thread only to start again from other offsets.
                self._changed.wait_for(self._is_asked, self._interval)

    def _is_asked(self) -> bool:
        return self._ended.is_set() or self._restart_at is not None

    def _receive(self, message: Message) -> None:
        error = message.error()
        number, offset = message.partition(), message.offset()
        if error is not None and error.code() != self._kafka.KafkaError._PARTITION_EOF:
            self._lost = error
            raise self._kafka.KafkaException(error)
        assert number is not None
        assert offset is not None
        signal = None if error is not None else self._signal(message)
        with self._changed:
            if self._restart_at is not None or self._offsets is None:
                return  # a message from before the restart
            if error is not None:
                self._unread.discard(number)
                self._changed.notify_all()
                return
            self._offsets[number] = offset + 1
            if signal is not None:
                self._signals.append(signal)
            full = len(self._signals) >= _MAX_WAITING
            if full:
                self._unread.clear()  # lets `take` return now, without the rest of the topic
                self._changed.notify_all()
                self._changed.wait_for(lambda: not self._signals or self._is_asked())

    def _signal(self, message: Message) -> Signal | None:
        if message.key() != self._key:
            return None  # a signal for another connector
        value = message.value()
        try:
            if value is None:
                raise ValueError("it has no value")
            text = value if isinstance(value, str) else value.decode(errors="replace")
            return parse_signal(text)
        except ValueError as problem:
            log.warning(
                "the message at %d of partition %d of the signal topic %s is ignored: %s",
                message.offset(),
                message.partition(),
                self._topic,
                problem,
            )
            return None

    def _on_error(self, error: KafkaError) -> None:
        """Note an error that lasts, so that the next round starts again. The client calls this
        while it is polled."""
        lasting = (self._kafka.KafkaError._ALL_BROKERS_DOWN, self._kafka.KafkaError._AUTHENTICATION)
        if error.code() in lasting or error.fatal():
            self._lost = error

    def _on_commit(self, error: KafkaError | None, _partitions: Any) -> None:
        if error is not None:
            group = self._config.signal_kafka_groupId
            log.warning(
                "the offsets of the group %s could not be committed: %s", group, error.str()
            )

    def _wait_for_coordinator(self, error: KafkaError) -> bool:
        """Wait briefly if `error` says that the cluster is still choosing the group's coordinator,
        as after a start. Return False for other errors, and after many such errors in a row."""
        codes = self._kafka.KafkaError
        if error.code() not in (
            codes.COORDINATOR_LOAD_IN_PROGRESS,
            codes.COORDINATOR_NOT_AVAILABLE,
            codes.NOT_COORDINATOR,
        ):
            return False
        self._coordinator_errors += 1
        self._ended.wait(_COORDINATOR_WAIT_SECONDS)
        return self._coordinator_errors < _MAX_COORDINATOR_ERRORS

    def _complain(self, problem: HeadraceError) -> None:
        """Log a problem as a warning, once while it stays the same, and wait for the next round."""
        with self._changed:
            if self._complaint != problem.message:
                log.warning("no signals come from Kafka until this is fixed: %s", problem)
                self._complaint = problem.message
            self._changed.notify_all()
        self._ended.wait(max(self._interval, 1.0))
