"""Writes slices of micro-batches, each in one transaction with its marker.

The order guarantees exactly-once: `init_transactions` fences the predecessor and returns when its
transactions are settled; the marker that is read then is final; only then is anything written.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.kafka.client import Complaints, unreachable
from headrace.kafka.librdkafka import KafkaFailure, NativeProducer, ProducerClosed
from headrace.kafka.topics import Topics
from headrace.sinks.kafka.failures import (
    NO_PARTITION,
    TIMED_OUT,
    TOPIC_GONE,
    in_our_words,
    is_permanent,
)
from headrace.sinks.kafka.markers import NextStep, Turn, key_of, topic_lost
from headrace.sinks.kafka.options import SINK, KafkaOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.kafka.messages import MessageWriter

log = logging.getLogger(__name__)

Pause = Callable[[float], None]
"""A function that sleeps, and raises when the query has ended."""

_TRY_SECONDS = 5.0
_WORD_SECONDS = 30.0
_ATTEMPTS = 5
_ABORT_SECONDS = 5.0
_MAX_FENCED_AT_ONCE = 16


class Writer:
    """The writer of one transactional id of a query. Keeps its producer between micro-batches."""

    def __init__(self, options: KafkaOptions, suffix: str, pause: Pause = time.sleep) -> None:
        self._options, self._pause = options, pause
        self._id = options.transactional_id(suffix)
        self._topics = Topics(SINK, options.connection, options.creation)
        self._producer: NativeProducer | None = None
        self._messages: MessageWriter | None = None
        self._complaints = Complaints()
        self._warned_at = 0.0
        self._done: int | None = None
        self._is_closed = False
        self._own_topics = (options.bookkeeping,) if options.is_transactional else ()

    def write(
        self,
        turn: Turn,
        number: int,
        read: Callable[[], Iterable[pa.RecordBatch]],
        step: Callable[[], NextStep],
    ) -> int | None:
        """Write the batches of `read` as the slice `number`, unless `step`, which reads the
        markers, skips it; returns the number of records (None: skipped).

        Waits for brokers that do not answer. Raises HeadraceError, as `step` and `read` do.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            is_fresh = True
            try:
                is_fresh = self.open()
                asks = self._options.is_transactional and (is_fresh or self._done != turn.batch - 1)
                if asks and step() is NextStep.SKIP:
                    self._done = turn.batch
                    return None
                records = self._transact(turn, number, read)
            except ProducerClosed:
                raise SINK.error(
                    "sink_closed",
                    "The kafka sink was closed while it wrote a micro-batch",
                    "Start again with the same checkpoint: it continues where it stopped.",
                    retriable=True,
                ) from None
            except KafkaFailure as failure:
                self.disconnect()
                self._topics.forget()
                error = in_our_words(failure, self._options)
                # A kept producer has cached the partitions of a topic that was replaced in between.
                is_stale = failure.code == NO_PARTITION and not is_fresh
                if not (error.retriable or is_stale) or attempt == _ATTEMPTS:
                    raise error from None
                log.warning("%s [%s]; writing again", error.message, error.code)
                self._pause(0.2 * attempt)
            else:
                self._done = turn.batch
                return records
        raise AssertionError

    def close(self) -> None:
        """Abort the open transaction, and disconnect permanently; a `write` of another thread, and
        a later one, ends with HeadraceError("kafka.sink_closed"). Never raises."""
        self._is_closed = True
        self.disconnect()

    def disconnect(self) -> None:
        """Abort the open transaction; the next `write` creates a new producer. Never raises."""
        self._done, self._messages = None, None
        if self._producer is not None:
            producer, self._producer = self._producer, None
            producer.close()

    # -- the producer ---------------------------------------------------------------------------

    def open(self) -> bool:
        """Open a producer; returns whether it is a new one, which has fenced its predecessor.
        Raises ProducerClosed if the writer is, or is being, closed."""
        if self._is_closed:
            raise ProducerClosed
        if self._producer is not None:
            return False
        from headrace.kafka.messages import MessageWriter

        settings = dict(self._options.settings)
        if self._options.is_transactional:
            settings["transactional.id"] = self._id
        self._complaints.forget()
        producer = NativeProducer(SINK, settings, self._complaints.note)
        try:
            if self._options.is_transactional:
                self._patiently(producer, producer.init_transactions)
        except BaseException:
            producer.close()
            raise
        self._producer = producer
        self._messages = MessageWriter(
            producer,
            with_sequence=self._options.sequence_header,
            on_standstill=lambda: self._stands_still(producer),
        )
        if self._is_closed:  # before it could see the producer
            self.disconnect()
            raise ProducerClosed
        return True

    def _patiently(
        self,
        producer: NativeProducer,
        call: Callable[[float], None],
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Repeat a call until it succeeds, and call `meanwhile` after each failure."""
        while True:
            try:
                call(_TRY_SECONDS)
            except KafkaFailure as failure:
                if failure.fatal or failure.needs_abort:
                    raise
                if not failure.retriable and failure.code != TIMED_OUT:
                    raise
                meanwhile()
                self._waits(producer, failure)
            else:
                return self._complaints.forget()

    def _check_topics(self) -> None:
        """Check for deleted topics: they accept nothing, and librdkafka waits for them as long as
        the transaction may take."""
        try:
            gone = self._topics.gone(self._own_topics)
        except HeadraceError as error:
            if not error.retriable:
                raise
            return  # Kafka is unreachable
        if gone and gone[0] in self._own_topics:
            raise topic_lost(gone[0], 0)
        if gone:
            raise KafkaFailure(TOPIC_GONE, "it was deleted", topic=gone[0])

    def _stands_still(self, producer: NativeProducer) -> None:
        self._check_topics()
        self._waits(producer, KafkaFailure(TIMED_OUT, "deliveries take long"))

    def _waits(self, producer: NativeProducer, failure: KafkaFailure) -> None:
        """Report that Kafka is waited for; raises an error that waiting does not correct."""
        if self._is_closed:
            raise ProducerClosed
        producer.poll(0)
        complaint = self._complaints.last or failure
        if is_permanent(complaint.code):
            raise KafkaFailure(complaint.code, complaint.text)
        if time.monotonic() - self._warned_at > _WORD_SECONDS or not self._warned_at:
            self._warned_at = time.monotonic()
            warning = unreachable(SINK, self._options.brokers, complaint.text)
            log.warning("%s; waiting", warning.message)
        self._pause(0.1)
        if self._is_closed:  # closed during the pause
            raise ProducerClosed

    # -- a transaction --------------------------------------------------------------------------

    def _transact(
        self, turn: Turn, number: int, read: Callable[[], Iterable[pa.RecordBatch]]
    ) -> int:
        producer, messages = self._producer, self._messages
        if producer is None or messages is None:
            raise ProducerClosed
        if not self._options.is_transactional:
            records = self._produce(messages, read)
            while producer.flush(_TRY_SECONDS):
                self._stands_still(producer)
            self._complaints.forget()
            return records
        producer.begin_transaction()
        try:
            records = self._produce(messages, read)
            self._mark(producer, turn, number, records)
            self._patiently(producer, producer.commit_transaction, self._check_topics)
        except BaseException as error:
            self._undo(producer, error)
            raise
        return records

    def _produce(
        self, messages: MessageWriter, read: Callable[[], Iterable[pa.RecordBatch]]
    ) -> int:
        import pyarrow.compute as pc

        records = 0
        for batch in read():
            if batch.num_rows == 0:
                continue
            self._topics.ensure(pc.unique(batch.column("topic")).to_pylist())
            messages.write(batch)
            records += batch.num_rows
        return records

    def _mark(self, producer: NativeProducer, turn: Turn, number: int, records: int) -> None:
        """Write the markers to the partitions of their slices."""
        import pyarrow as pa

        from headrace.kafka.messages import MessageWriter

        numbers = turn.marked(number)
        text = turn.marker(records).to_json()
        columns = {
            "topic": [self._options.bookkeeping] * len(numbers),
            "partition": pa.array(numbers, pa.int32()),
            "key": [key_of(turn.checkpoint, slice_number) for slice_number in numbers],
            "value": [text] * len(numbers),
        }
        MessageWriter(producer).write(pa.RecordBatch.from_pydict(columns))

    def _undo(self, producer: NativeProducer, error: BaseException) -> None:
        """Abort, so that readers do not wait for the transaction's timeout."""
        if isinstance(error, ProducerClosed):
            return
        is_fatal = isinstance(error, KafkaFailure) and error.fatal
        try:
            if not is_fatal and producer.fatal() is None:
                producer.abort_transaction(_ABORT_SECONDS)
                return
        except KafkaFailure as failure:
            log.info("a transaction of %s could not be aborted: %s", self._id, failure)
        self.disconnect()


def fence(options: KafkaOptions, suffixes: Sequence[str], pause: Pause = time.sleep) -> None:
    """Settle the transactions of the query's producers, and fence these. Raises HeadraceError."""

    def one(suffix: str) -> None:
        writer = Writer(options, suffix, pause)
        try:
            writer.open()
        except KafkaFailure as failure:
            raise in_our_words(failure, options) from None
        finally:
            writer.close()

    with ThreadPoolExecutor(min(len(suffixes), _MAX_FENCED_AT_ONCE)) as pool:
        for _ in pool.map(one, suffixes):
            pass
