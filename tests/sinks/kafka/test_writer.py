"""Slices and ranges in a real broker: once, in order, where Java puts them."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.kafka.librdkafka import KafkaFailure, NativeProducer
from headrace.kafka.messages import MessageWriter
from headrace.sinks.kafka.bookkeeping import Bookkeeping
from headrace.sinks.kafka.markers import NextStep, Turn, TurnKind, key_of
from headrace.sinks.kafka.options import SINK, KafkaOptions
from headrace.sinks.kafka.ranges import step_of_slice
from headrace.sinks.kafka.writer import Writer, fence
from tests.examples import examples
from tests.servers.kafka import KafkaServer
from tests.sinks.kafka.records import (
    Record,
    batch_of,
    fresh_name,
    numbered,
    options_for,
    read_topic,
    values,
)


def turn_of(batch: int, slices: int = 1, kind: TurnKind = TurnKind.SLICES) -> Turn:
    return Turn("checkpoint", batch, slices, kind, f"d{batch}", slices, slices)


def write(
    options: KafkaOptions, batch: int, *rows: pa.RecordBatch, number: int = 0, slices: int = 1
) -> int | None:
    """A slice as a task writes it."""
    turn, bookkeeping = turn_of(batch, slices), Bookkeeping(options)
    writer = Writer(options, str(number))
    try:
        return writer.write(
            turn,
            number,
            lambda: iter(rows),
            lambda: step_of_slice(bookkeeping, turn, number, is_first=batch == 0),
        )
    finally:
        writer.close()


def go_on(writer: Writer, options: KafkaOptions, batch: int, rows: pa.RecordBatch) -> int | None:
    """The only slice, by a producer that is kept."""
    turn, bookkeeping = turn_of(batch), Bookkeeping(options)
    return writer.write(
        turn,
        0,
        lambda: iter([rows]),
        lambda: step_of_slice(bookkeeping, turn, 0, is_first=batch == 0),
    )


@pytest.fixture
def options(kafka: KafkaServer) -> KafkaOptions:
    kafka_options = options_for(kafka, fresh_name())
    Bookkeeping(kafka_options).make_room(2)
    return kafka_options


@pytest.fixture
def topic() -> str:
    return fresh_name()


def murmur2(key: bytes) -> int:
    """Java's `Utils.murmur2`, unsigned."""
    length, m, mask = len(key), 0x5BD1E995, 0xFFFFFFFF
    h = (0x9747B28C ^ length) & mask
    for at in range(0, length - length % 4, 4):
        k = int.from_bytes(key[at : at + 4], "little") * m & mask
        k = (k ^ (k >> 24)) * m & mask
        h = (h * m & mask) ^ k
    rest = key[length - length % 4 :]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    return h ^ (h >> 15)


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"abc", 479470107),
    ],
)
def test_the_hash_of_these_tests_is_javas(key: bytes, hashed: int) -> None:
    """Values of Kafka's own test of it."""
    assert murmur2(key) == hashed & 0xFFFFFFFF


records_strategy = st.lists(
    st.builds(
        Record,
        st.binary(max_size=40),
        st.none() | st.binary(max_size=200),
        st.none()
        | st.lists(
            st.tuples(st.sampled_from(["a", "b.ü", "__debezium.x"]), st.none() | st.binary()),
            max_size=3,
        ),
        st.none() | st.integers(0, 2),
    ),
    max_size=60,
)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(records_strategy, max_size=3))
def test_what_goes_in_comes_out_where_java_puts_it(
    kafka: KafkaServer, batches: list[list[Record]]
) -> None:
    topic, options = fresh_name(), options_for(kafka, fresh_name())
    kafka.create_topic(topic, 3)
    Bookkeeping(options).make_room(1)
    sent = [record for records in batches for record in records]
    assert write(options, 0, *(batch_of(topic, records) for records in batches)) == len(sent)
    expected = defaultdict(list)
    for record in sent:
        number = record.partition
        if number is None:
            assert record.key is not None
            number = (murmur2(record.key) & 0x7FFFFFFF) % 3
        expected[number].append(record._replace(headers=record.headers or None, partition=number))
    read = defaultdict(list)
    for record in read_topic(kafka, topic):
        read[record.partition].append(record)
    assert read == expected


def test_a_slice_of_a_column_is_written_as_such(
    kafka: KafkaServer, options: KafkaOptions, topic: str
) -> None:
    records = [Record(b"%d" % n, b"%d" % n, [("h", b"%d" % n)]) for n in range(100)]
    assert write(options, 0, batch_of(topic, records).slice(30, 20)) == 20
    read = read_topic(kafka, topic)
    assert values(read) == list(range(30, 50))
    assert all(record.headers == [("h", record.value)] for record in read)


def test_texts_and_records_without_key_are_written(
    kafka: KafkaServer, options: KafkaOptions, topic: str
) -> None:
    rows = pa.record_batch({"topic": [topic] * 2, "key": ["ü", None], "value": ["ä", "b"]})
    write(options, 0, rows)
    read = {(record.key, record.value) for record in read_topic(kafka, topic)}
    assert read == {("ü".encode(), "ä".encode()), (None, b"b")}


def test_the_sequence_is_a_header_where_it_is_asked_for(kafka: KafkaServer, topic: str) -> None:
    options = options_for(kafka, fresh_name(), sequence_header="true")
    Bookkeeping(options).make_room(1)
    write(options, 0, batch_of(topic, [Record(b"a", b"b", [("x", b"y")])]))
    (record,) = read_topic(kafka, topic)
    assert record.headers == [("x", b"y"), ("headrace.sequence", b"0" * 57)]


def test_a_micro_batch_that_comes_again_is_written_once(
    kafka: KafkaServer, options: KafkaOptions, topic: str
) -> None:
    for batch in range(3):
        rows = numbered(topic, 10 * batch, 10 * batch + 9)
        assert write(options, batch, rows) == 10
        assert write(options, batch, rows) is None
    assert values(read_topic(kafka, topic)) == list(range(30))


def test_an_empty_slice_is_marked_too(kafka: KafkaServer, options: KafkaOptions) -> None:
    assert write(options, 0) == 0
    assert write(options, 0) is None
    assert write(options, 1) == 0


@pytest.fixture
def left_open(options: KafkaOptions, topic: str) -> Iterator[NativeProducer]:
    """A slice that produced everything of micro-batch 1 and its marker, and hangs before it
    commits."""
    write(options, 0, numbered(topic, 0, 9))
    settings = {**options.settings, "transactional.id": options.transactional_id("0")}
    producer = NativeProducer(SINK, settings, lambda *_: None)
    producer.init_transactions(30)
    producer.begin_transaction()
    MessageWriter(producer).write(numbered(topic, 10, 19))
    marker = pa.record_batch({
        "topic": [options.bookkeeping], "key": [key_of("checkpoint", 0)],
        "value": [turn_of(1).marker(10).to_json()], "partition": pa.array([0], pa.int32()),
    })  # fmt: skip
    MessageWriter(producer).write(marker)
    assert producer.flush(30) == 0
    yield producer
    producer.close()


def test_what_a_crash_left_between_producing_and_committing_is_not_seen(
    kafka: KafkaServer, options: KafkaOptions, topic: str, left_open: NativeProducer
) -> None:
    assert write(options, 1, numbered(topic, 10, 19)) == 10
    assert values(read_topic(kafka, topic)) == list(range(20))
    assert len(read_topic(kafka, topic, committed=False)) == 30


def test_a_zombie_is_fenced(
    kafka: KafkaServer, options: KafkaOptions, topic: str, left_open: NativeProducer
) -> None:
    fence(options, ["0", "1"])
    with pytest.raises(KafkaFailure) as raised:
        left_open.commit_transaction(30)
    assert raised.value.fatal or raised.value.needs_abort
    assert values(read_topic(kafka, topic)) == list(range(10))


def test_a_producer_that_is_closed_within_a_transaction_aborts_it(
    kafka: KafkaServer, options: KafkaOptions, topic: str, left_open: NativeProducer
) -> None:
    left_open.close()
    settings = {**options.settings, "transactional.id": fresh_name()}
    other = NativeProducer(SINK, settings, lambda *_: None)
    other.init_transactions(30)
    other.begin_transaction()
    MessageWriter(other).write(numbered(topic, 20, 29))
    other.commit_transaction(30)
    other.close()
    # An open transaction would hide what follows it until its timeout.
    assert values(read_topic(kafka, topic)) == [*range(10), *range(20, 30)]


def test_a_crash_after_the_commit_is_known(
    kafka: KafkaServer, options: KafkaOptions, topic: str, left_open: NativeProducer
) -> None:
    left_open.commit_transaction(30)
    assert write(options, 1, numbered(topic, 10, 19)) is None
    assert values(read_topic(kafka, topic)) == list(range(20))


def test_a_marker_after_somebodys_open_transaction_is_waited_for(
    kafka: KafkaServer, options: KafkaOptions, topic: str
) -> None:
    settings = {**options.settings, "transactional.id": fresh_name()}
    other = NativeProducer(SINK, settings, lambda *_: None)
    other.init_transactions(30)
    other.begin_transaction()
    foreign = pa.record_batch({
        "topic": [options.bookkeeping], "key": ["other/0"], "value": ["x"],
        "partition": pa.array([0], pa.int32()),
    })  # fmt: skip
    MessageWriter(other).write(foreign)
    assert other.flush(30) == 0
    writer = Writer(options, "0")
    writer.write(turn_of(0), 0, lambda: [numbered(topic, 0, 9)], lambda: NextStep.WRITE)
    writer.close()
    results: list[object] = []
    reading = threading.Thread(
        target=lambda: results.extend(Bookkeeping(options).read("checkpoint", [0]))
    )
    reading.start()
    reading.join(2)
    assert results == []
    other.abort_transaction(30)
    reading.join(60)
    other.close()
    assert [getattr(result, "batch", None) for result in results] == [0]


def refused(code: str, options: KafkaOptions, batch: int, *rows: pa.RecordBatch) -> HeadraceError:
    with pytest.raises(HeadraceError) as raised:
        write(options, batch, *rows)
    assert (raised.value.code, raised.value.retriable) == (code, False)
    return raised.value


def test_a_checkpoint_that_is_older_than_kafka_is_an_error(
    options: KafkaOptions, topic: str
) -> None:
    for batch in range(3):
        write(options, batch, numbered(topic, batch, batch))
    refused("kafka.older_checkpoint", options, 1, numbered(topic, 1, 1))


def test_a_record_above_the_brokers_limit_is_an_error_that_names_its_topic(
    kafka: KafkaServer, options: KafkaOptions, topic: str
) -> None:
    write(options, 0)
    large = Record(b"k", os.urandom(1_500_000))
    assert topic in refused("kafka.record_too_large", options, 1, batch_of(topic, [large])).message
    generous = options_for(kafka, options.name, kafka_max_request_size="4000000")
    assert topic in refused("kafka.record_too_large", generous, 1, batch_of(topic, [large])).message
    assert write(options, 1, numbered(topic, 0, 0)) == 1
    assert len(read_topic(kafka, topic)) == 1


def test_a_partition_that_is_not_there_is_an_error(options: KafkaOptions, topic: str) -> None:
    refused("kafka.no_partition", options, 0, batch_of(topic, [Record(b"a", b"b", None, 99)]))


def test_a_topic_that_was_deleted_is_created_again(
    kafka: KafkaServer, options: KafkaOptions, topic: str
) -> None:
    writer = Writer(options, "0")
    for batch in range(3):
        go_on(writer, options, batch, numbered(topic, batch, batch))
        if batch == 1:
            kafka.delete_topic(topic)
    writer.close()
    assert values(read_topic(kafka, topic)) == [2]


def test_a_bookkeeping_topic_that_is_deleted_meanwhile_is_an_error(
    kafka: KafkaServer, options: KafkaOptions, topic: str
) -> None:
    writer = Writer(options, "0")
    go_on(writer, options, 0, numbered(topic, 0, 0))
    kafka.delete_topic(options.bookkeeping)
    with pytest.raises(HeadraceError) as raised:
        go_on(writer, options, 1, numbered(topic, 1, 1))
    writer.close()
    assert (raised.value.code, raised.value.retriable) == ("kafka.bookkeeping_lost", False)
    assert values(read_topic(kafka, topic)) == [0]


def test_at_least_once_needs_no_bookkeeping(kafka: KafkaServer, topic: str) -> None:
    options = options_for(kafka, fresh_name(), delivery="at-least-once")
    assert write(options, 5, numbered(topic, 0, 9)) == 10
    assert write(options, 5, numbered(topic, 0, 9)) == 10
    assert values(read_topic(kafka, topic)) == sorted(2 * list(range(10)))
    assert options.bookkeeping not in kafka.topics()


def test_a_broker_that_is_away_is_waited_for_with_a_word(
    kafka: KafkaServer,
    topic: str,
    caplog: pytest.LogCaptureFixture,
    short_tries: None,
) -> None:
    options = options_for(kafka, fresh_name(), kafka_reconnect_backoff_max_ms="200")
    Bookkeeping(options).make_room(1)
    write(options, 0, numbered(topic, 0, 9))
    # A broker that is alone and killed before it has written a commit's marks may forget them.
    assert values(read_topic(kafka, topic)) == list(range(10))
    kafka.stop()
    writing = threading.Thread(target=lambda: write(options, 1, numbered(topic, 10, 19)))
    writing.start()
    deadline = time.monotonic() + 60
    while "waiting" not in caplog.text:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert kafka.address in caplog.text
    kafka.start()
    writing.join(120)
    assert values(read_topic(kafka, topic)) == list(range(20))


def test_a_writer_that_another_thread_closes_ends_with_an_error(
    options: KafkaOptions, topic: str
) -> None:
    writer, reads = Writer(options, "0"), threading.Event()
    turn = turn_of(0)

    def endless() -> Iterator[pa.RecordBatch]:
        while True:
            yield numbered(topic, 0, 100)
            reads.set()

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(writer.write, turn, 0, endless, lambda: NextStep.WRITE)
        assert reads.wait(120)
        writer.close()
        with pytest.raises(HeadraceError, match="was closed") as raised:
            written.result(120)
    assert (raised.value.code, raised.value.retriable) == ("kafka.sink_closed", True)


def test_a_writer_that_is_closed_before_its_transaction_ends_with_the_same_error(
    options: KafkaOptions, topic: str
) -> None:
    writer = Writer(options, "0")

    def close() -> NextStep:
        writer.close()
        return NextStep.WRITE

    with pytest.raises(HeadraceError, match="was closed") as raised:
        writer.write(turn_of(0), 0, lambda: [numbered(topic, 0, 100)], close)
    assert raised.value.code == "kafka.sink_closed"


def test_a_writer_that_is_closed_while_it_waits_for_brokers_ends_with_the_same_error(
    topic: str, short_tries: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries, initialize = [], NativeProducer.init_transactions

    def counted(producer: NativeProducer, seconds: float) -> None:
        tries.append(seconds)
        initialize(producer, seconds)

    monkeypatch.setattr(NativeProducer, "init_transactions", counted)
    nobody = {"kafka.bootstrap.servers": "127.0.0.1:1"}
    options = KafkaOptions.of(nobody, name=fresh_name())
    waits, closed = threading.Event(), threading.Event()

    def pause(_seconds: float) -> None:
        waits.set()
        closed.wait(120)

    writer = Writer(options, "0", pause)
    with ThreadPoolExecutor(1) as pool:
        rows = [numbered(topic, 0, 100)]
        written = pool.submit(writer.write, turn_of(0), 0, lambda: rows, lambda: NextStep.WRITE)
        assert waits.wait(120)
        writer.close()
        closed.set()
        with pytest.raises(HeadraceError, match="was closed") as raised:
            written.result(120)
    assert raised.value.code == "kafka.sink_closed"
    assert len(tries) == 1, "it tried again"
    with pytest.raises(HeadraceError, match="was closed"):
        writer.write(turn_of(1), 0, lambda: rows, lambda: NextStep.WRITE)


HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.mark.parametrize("header", [None, (None, b"x"), ("a\0b", b"x")])
def test_a_header_without_a_name_is_an_error(
    options: KafkaOptions, topic: str, header: tuple[str | None, bytes] | None
) -> None:
    rows = numbered(topic, 0, 1)
    struct = None if header is None else {"key": header[0], "value": header[1]}
    columns = {column: rows.column(column) for column in rows.schema.names}
    columns["headers"] = pa.array([[], [struct]], HEADERS)
    refused("kafka.header_name", options, 0, pa.RecordBatch.from_pydict(columns))


@pytest.mark.parametrize("name", [None, "", "a\0b", "a/b"])
def test_a_topic_that_cannot_be_is_an_error(options: KafkaOptions, name: str | None) -> None:
    rows = numbered("t", 0, 0)
    columns = {
        column: pa.array([name], pa.string()) if column == "topic" else rows.column(column)
        for column in rows.schema.names
    }
    refused("kafka.topic_name", options, 0, pa.RecordBatch.from_pydict(columns))
