"""The contract of every sink, whatever is killed, full or wrong (docs/adding-a-sink.md).

`subjects.py` lists the places in which a subject is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest
from _pytest.mark import ParameterSet
from pyspark.errors import StreamingQueryException

from headrace.spark.sinks.definition import Delivery
from headrace.spark.sinks.registry import sinks
from tests.sinks.contract.run import SinkRun
from tests.sinks.contract.subjects import SinkSubject

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

# The words "kafka: KafkaServer" make the file share a worker with others that need the broker.
SINKS = (
    "file", "event-log", "kafka", "batch-files", "iceberg", "delta", "parquet", "standard output",
    "console",
)  # fmt: skip
OF_THE_OUTPUT = ("standard output", "console")
"""Sinks whose target is the output of the command, which no test makes unwritable."""
MODES = ("iceberg append", "iceberg history", "delta append", "delta history")
ROUNDS = {Delivery.EXACTLY_ONCE: 5, Delivery.AT_LEAST_ONCE: 2}
BY_TASKS = {"headrace_range_direct_max_bytes": "0"}


def some_of_all(*names: str, of: Sequence[str] = SINKS) -> list[ParameterSet]:
    """Sinks as parameters: each run of a query takes seconds, so `make test` has those of `names`,
    and `make chaos` all."""
    return [pytest.param(name, marks=[] if name in names else pytest.mark.chaos) for name in of]


def assert_delivered(subject: SinkSubject, last: int) -> None:
    """All ids up to `last` arrived, each as often as the sink declares."""
    ids = subject.ids()
    assert set(ids) == set(range(1, last + 1))
    if subject.delivery is Delivery.EXACTLY_ONCE:
        assert len(ids) == last


def test_the_suite_has_every_sink_of_headrace() -> None:
    assert {sink.name for sink in sinks()} <= set(SINKS)


@pytest.mark.parametrize(  # Kafka: tests/chaos
    "subject",
    some_of_all(
        "delta history",
        "event-log parquet",
        of=(*SINKS, *MODES, "event-log parquet", "iceberg on S3"),
    ),
    indirect=True,
)
def test_micro_batches_that_come_again_are_delivered_as_declared(run: SinkRun) -> None:
    run.run()
    again = last = 0
    while again < ROUNDS[run.subject.delivery]:
        run.insert(last + 1, last + 20)
        last += 20
        again += run.uncommitted(**(BY_TASKS if again % 2 else {}))
    run.run()
    assert_delivered(run.subject, last)
    assert run.subject.commits() in (None, last // 20)


@pytest.mark.parametrize(
    "subject",
    some_of_all("batch-files", "delta", of=[name for name in SINKS if name not in OF_THE_OUTPUT]),
    indirect=True,
)
def test_a_target_that_cannot_be_written_for_a_while_gets_everything(run: SinkRun) -> None:
    run.run()
    run.insert(1, 10)
    run.run()
    run.insert(11, 30)
    with run.subject.unwritable() as repair:
        if run.subject.waits:
            query = run.start(**BY_TASKS)
            repair()
            with suppress(StreamingQueryException):  # it has waited long enough, and comes again
                run.end(query)
        else:
            run.error(**BY_TASKS)
    run.insert(31, 40)
    run.run()
    assert_delivered(run.subject, 40)


@pytest.mark.parametrize(
    ("subject", "options"),
    [
        ("file", {}),
        pytest.param("event-log", {}, marks=pytest.mark.chaos),
        pytest.param("event-log avro", BY_TASKS, marks=pytest.mark.chaos),
        pytest.param("kafka", BY_TASKS, marks=pytest.mark.chaos),
        pytest.param("batch-files", {}, marks=pytest.mark.chaos),
    ],
    indirect=["subject"],
    ids=["file", "event-log", "event-log by tasks", "kafka by tasks", "batch-files"],
)
def test_a_record_that_fails_leaves_no_part_of_its_micro_batch(
    run: SinkRun, options: dict[str, str]
) -> None:
    cast = {
        "transforms": "row,cast",
        "transforms.row.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "v:int32",
    }
    run.run()
    run.insert(1, 10)
    run.run(**cast, **options)
    before = sorted(run.subject.ids())
    run.insert(11, 20)
    run.insert(21, 21, "no number")
    run.insert(22, 30)
    error_text = run.error(**cast, **options)
    assert "transforms." in error_text, error_text
    assert sorted(run.subject.ids()) == before
    run.run(**options)
    assert_delivered(run.subject, 30)
