"""Folding random changes gives what a dict says; and what cannot be folded is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
SCHEMA = (
    "key struct<id: int>, op string, before struct<id: int, name: string, text: string>, "
    "after struct<id: int, name: string, text: string>, sequence string"
)
LACKING = "__debezium_unavailable_value"
Change = tuple[Any, ...]


@dataclass
class Replica:
    """A table in plain Python: what was there, and the events of what happens to it."""

    rows: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    events: list[Change] = field(default_factory=list)

    def emit(self, key: int, op: str | None, before: object, after: object) -> None:
        place = f"{len(self.events):016x}"
        self.events.append(((key,), op, before, after, place))

    def insert(self, key: int, name: str) -> None:
        if key not in self.rows:
            self.rows[key] = (key, name, f"text {name}")
            self.emit(key, "c", None, self.rows[key])

    def read(self, key: int) -> None:
        if key in self.rows:
            self.emit(key, "r", None, self.rows[key])

    def update(self, key: int, name: str, *, lacks: bool) -> None:
        """`lacks`: the large text did not change, and the log leaves it out."""
        if key in self.rows:
            text = self.rows[key][2] if lacks else f"text {name}"
            self.rows[key] = (key, name, text)
            self.emit(key, "u", None, (key, name, LACKING if lacks else text))

    def delete(self, key: int, *, tombstone: bool) -> None:
        if key in self.rows:
            row = self.rows.pop(key)
            self.emit(key, "d", row, None)
            if tombstone:
                self.emit(key, None, None, None)

    def move(self, key: int, to: int) -> None:
        """Changes a row's key."""
        if key in self.rows and to not in self.rows:
            row = self.rows[key]
            self.delete(key, tombstone=True)
            self.rows[to] = (to, *row[1:])
            self.emit(to, "c", None, self.rows[to])


KEYS = st.integers(1, 6)
NAMES = st.sampled_from("abcdefgh")
STEPS = st.one_of(
    st.tuples(st.just("insert"), KEYS, NAMES),
    st.tuples(st.just("read"), KEYS),
    st.tuples(st.just("update"), KEYS, NAMES, st.booleans()),
    st.tuples(st.just("delete"), KEYS, st.booleans()),
    st.tuples(st.just("move"), KEYS, KEYS),
)


def taken(replica: Replica, step: tuple[Any, ...]) -> None:
    match step:
        case ("update", key, name, lacks):
            replica.update(key, name, lacks=lacks)
        case ("delete", key, tombstone):
            replica.delete(key, tombstone=tombstone)
        case (verb, *arguments):
            getattr(replica, verb)(*arguments)


def merged(target: dict[int, tuple[Any, ...]], folded: DataFrame) -> dict[int, tuple[Any, ...]]:
    """A target after a MERGE of the fold."""
    merged_rows = dict(target)
    for row in folded.collect():
        kept_columns = row["__kept"]
        assert row.id is not None
        if row["__deleted"]:
            assert row.name is None
            merged_rows.pop(row.id, None)
        else:
            old = dict(zip(("id", "name", "text"), target.get(row.id, ()), strict=False))
            columns = ("id", "name", "text")
            merged_rows[row.id] = tuple(old[c] if c in kept_columns else row[c] for c in columns)
    return merged_rows


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, max_size=25), st.lists(STEPS, max_size=40), st.randoms())
def test_a_target_with_the_fold_of_any_changes_is_the_table(
    spark: SparkSession, before: list[Any], steps: list[Any], random: Any
) -> None:
    replica = Replica()
    for step in before:
        taken(replica, step)
    target = dict(replica.rows)
    replica.events.clear()
    for step in steps:
        taken(replica, step)
    events = random.sample(replica.events, len(replica.events))
    folded = headrace.fold(spark.createDataFrame(events, SCHEMA))
    assert merged(target, folded) == replica.rows
    assert folded.count() == len({key for key, *_ in replica.events})


def frame(spark: SparkSession, *events: Change) -> DataFrame:
    return spark.createDataFrame(list(events), SCHEMA)


def test_a_tombstone_alone_is_a_delete(spark: SparkSession) -> None:
    rows = headrace.fold(frame(spark, ((1,), None, None, None, "0"))).collect()
    assert [(row.id, row["__deleted"]) for row in rows] == [(1, True)]


def test_a_truncate_fails_the_query(spark: SparkSession) -> None:
    folded = headrace.fold(frame(spark, (None, "t", None, None, "0")))
    with pytest.raises(Exception, match=r"skipped\.operations=t"):
        folded.collect()


@pytest.mark.parametrize(
    ("op", "before", "after"),
    [("c", None, (1, "a", "x")), ("d", (1, "a", "x"), None), ("r", None, (None, "a", "x"))],
)
def test_a_change_without_a_key_fails_the_query(
    spark: SparkSession, op: str, before: object, after: object
) -> None:
    schema = SCHEMA.replace("key struct<id: int>", "key struct<number: int>")
    changes = spark.createDataFrame([(None, op, before, after, "0")], schema)
    with pytest.raises(Exception, match="a change has no key") as raised:
        headrace.fold(changes, key="id" if op == "r" else ()).collect()
    error = HeadraceError.find_in(str(raised.value))
    assert error is not None
    assert error.code == "spark.change_without_key"


def test_what_has_neither_a_key_nor_an_operation_is_no_change(spark: SparkSession) -> None:
    changes = frame(spark, (None, None, None, None, "0"), ((1,), "c", None, (1, "a", "x"), "1"))
    assert [row.id for row in headrace.fold(changes).collect()] == [1]


def test_columns_of_the_rows_are_the_key_where_events_have_none(spark: SparkSession) -> None:
    changes = frame(
        spark,
        (None, "c", None, (1, "a", "x"), "0"),
        (None, "d", (1, "a", "x"), None, "1"),
        (None, "c", None, (2, "b", "y"), "2"),
    ).drop("key")
    rows = headrace.fold(changes, key="id", order="sequence").orderBy("id").collect()
    assert [(row.id, row.name, row["__deleted"]) for row in rows] == [
        (1, None, True),
        (2, "b", False),
    ]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (lambda changes: headrace.fold(changes.drop("op")), "spark.no_changes"),
        (lambda changes: headrace.fold(changes.drop("key")), "spark.no_key"),
        (lambda changes: headrace.fold(changes, key="other"), "spark.no_such_column"),
        (lambda changes: headrace.fold(changes.drop("sequence")), "spark.no_order"),
    ],
    ids=["no operation", "no key", "another key", "no order"],
)
def test_what_cannot_be_folded_is_refused(spark: SparkSession, wrong: Any, code: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        wrong(frame(spark))
    assert raised.value.code == code


def test_a_stream_is_refused(spark: SparkSession) -> None:
    with pytest.raises(HeadraceError, match="foreachBatch"):
        headrace.fold(spark.readStream.format("rate").load())
