"""Record batches passed to librdkafka by a kernel over their columns, without an object per record.

The columns are those of a stream of events: `topic`, `key`, `value`, and optionally `partition`,
`headers` and `sequence`. librdkafka copies keys, values and headers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.deadline import Deadline
from headrace.connect.kernels.arrow_columns import column_addresses, with_short_offsets
from headrace.connect.kernels.memory import address_of
from headrace.errors import HeadraceError
from headrace.kafka import message_kernel as code
from headrace.kafka.librdkafka import KafkaFailure, NativeProducer

_QUEUE_FULL = -184
_FULL_QUEUE_SECONDS = 0.05
_STANDSTILL_SECONDS = 5.0
SEQUENCE_HEADER = "headrace.sequence"


class MessageWriter:
    """Writes record batches to a producer. If `with_sequence` is true, each record gets the header
    `headrace.sequence`."""

    def __init__(
        self,
        producer: NativeProducer,
        *,
        with_sequence: bool = False,
        on_standstill: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_standstill` is called after every five seconds in which a full queue takes no
        record."""
        self._producer = producer
        self._with_sequence = with_sequence
        self._on_standstill = on_standstill

    def write(self, batch: pa.RecordBatch) -> None:
        """Queue all rows, in order; wait while the queue is full. Raises KafkaFailure for a record
        that cannot be produced, and as NativeProducer.poll; HeadraceError("kafka.header_name")."""
        rows = batch.num_rows
        if rows == 0:
            return
        block = np.zeros(code.WORDS, np.int64)
        block[code.PRODUCE] = self._producer.produce_address
        # The owners of the addresses live until the end of this method.
        topics = batch.column("topic").dictionary_encode()
        names: list[str] = topics.dictionary.to_pylist()
        topic_of = np.asarray(topics.indices, np.int32)
        handles = np.array([self._producer.topic(name) for name in names], np.int64)
        block[code.TOPIC_OF], block[code.TOPICS] = address_of(topic_of), address_of(handles)
        owners = [
            _place(block, code.KEYS, batch.column("key")),
            _place(block, code.VALUES, batch.column("value")),
        ]
        if "partition" in batch.schema.names:
            _place_numbers(block, batch.column("partition"))
        most_headers, headers = 0, None
        if "headers" in batch.schema.names:
            most_headers, headers = _place_headers(block, batch.column("headers"))
        if self._with_sequence:
            owners.append(_place(block, code.SEQUENCES, batch.column("sequence")))
            block[code.SEQUENCE_NAME] = address_of(_SEQUENCE_NAME_TEXT)
            most_headers += 1
        arguments = np.zeros(code.ARGUMENT * (code.ARGUMENTS + most_headers), np.uint8)
        block[code.OUT] = address_of(arguments)
        row, patience = 0, Deadline(_STANDSTILL_SECONDS)
        while row < rows:
            before = row
            with self._producer.lent() as block[code.HANDLE]:
                row = int(code.produce_rows(address_of(block), row, rows))
            if row > before:
                patience = Deadline(_STANDSTILL_SECONDS)
            if row < rows:
                failure = self._producer.take_failure(int(block[code.ERROR]))
                if failure.code != _QUEUE_FULL:
                    failure.topic = names[topic_of[row]]
                    raise failure
                self._producer.poll(_FULL_QUEUE_SECONDS)
                if patience.is_over:
                    self._on_standstill()
                    patience = Deadline(_STANDSTILL_SECONDS)
        del owners, headers


_SEQUENCE_NAME_TEXT = np.frombuffer(SEQUENCE_HEADER.encode() + b"\0", np.uint8)


def _place(block: np.ndarray, column: int, array: pa.Array) -> pa.Array:
    """Enter a column's addresses into the block; return the array that owns the memory."""
    array = with_short_offsets(array)
    block[column : column + 4] = column_addresses(array)[:4]
    return array


def _place_numbers(block: np.ndarray, array: pa.Array) -> None:
    if pa.types.is_null(array.type) or array.null_count == len(array):
        return
    validity, data = array.buffers()
    block[code.NUMBERS] = validity.address if validity is not None and array.null_count else 0
    block[code.NUMBERS + 1] = data.address + 4 * array.offset
    block[code.NUMBERS + 3] = array.offset


def _place_headers(block: np.ndarray, lists: pa.Array) -> tuple[int, object]:
    """Enter the headers into the block; return the largest number of headers of a record, and the
    owner of the addresses."""
    if pa.types.is_null(lists.type) or lists.null_count == len(lists):
        return 0, None
    if pa.types.is_large_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_type))
    validity, offsets = lists.buffers()[:2]
    ends = np.frombuffer(offsets, np.int32, count=lists.offset + len(lists) + 1)[lists.offset :]
    most = int(np.diff(ends).max())
    if most == 0:
        return 0, None
    entries = lists.values
    headers = entries.slice(ends[0], ends[-1] - ends[0])
    names = headers.field(0)
    if headers.null_count or names.null_count or pc.any(pc.match_substring(names, "\0")).as_py():
        raise HeadraceError(
            "kafka.header_name",
            "A record has a header whose name is null or contains a null character, which Kafka "
            "does not accept",
            "Give every header a name, or remove it from the column headers.",
        )
    encoded = entries.field(0).dictionary_encode()
    texts = [
        np.frombuffer(str(name).encode() + b"\0", np.uint8)
        for name in encoded.dictionary.to_pylist()
    ]
    addresses = np.array([address_of(text) for text in texts], np.int64)
    name_of = np.asarray(encoded.indices, np.int32)
    block[code.LISTS] = offsets.address + 4 * lists.offset
    block[code.LISTS_VALIDITY] = (
        validity.address if validity is not None and lists.null_count else 0
    )
    block[code.LISTS_SHIFT] = lists.offset
    block[code.NAME_OF], block[code.NAMES] = address_of(name_of), address_of(addresses)
    contents = _place(block, code.CONTENTS, entries.field(1))
    return most, (texts, addresses, name_of, contents, lists)


__all__ = ["SEQUENCE_HEADER", "KafkaFailure", "MessageWriter"]
