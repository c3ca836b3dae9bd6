"""Changes of a key without an order: fold reports that nothing says which is the last, and picks
none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

import headrace
from headrace.connectors.registry import definitions
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
ROW = "struct<id: int, name: string, text: string, tags: map<string, string>, doc: variant>"
SCHEMA = (
    f"key struct<id: int>, op string, before {ROW}, after {ROW}, source map<string, string>, "
    "sequence string, partition int, offset bigint"
)
LACKING = "__debezium_unavailable_value"


def row(name: str, text: str = "x") -> tuple[Any, ...]:
    return (1, name, text, {"a": name}, None)


def change(name: str, place: object, op: str | None = "u", text: str = "x") -> tuple[Any, ...]:
    """A change of the row 1; `place` is its place in whatever orders it."""
    after = row(name, text) if op not in ("d", None) else None
    source = None if op is None else {"n": place, "lsn": place, "ts_ms": place}
    return ((1,), op, None, after, source, place, None, None)


def frame(spark: SparkSession, *changes: tuple[Any, ...]) -> DataFrame:
    rows = spark.createDataFrame(list(changes), SCHEMA.replace("variant", "string"))
    after = F.col("after").withField("doc", F.parse_json("after.doc"))
    before = F.col("before").withField("doc", F.parse_json("before.doc"))
    return rows.withColumn("after", after).withColumn("before", before)


def folded(changes: DataFrame, **options: Any) -> tuple[Any, ...]:
    """Name, text, deleted, kept of the only row."""
    (folded_row,) = headrace.fold(changes, **options).collect()
    return (folded_row.name, folded_row.text, folded_row["__deleted"], folded_row["__kept"])


def failure(changes: DataFrame, **options: Any) -> HeadraceError:
    """The error that ends the query, whatever it reads of the fold."""
    for action in (
        lambda folded_frame: folded_frame.collect(),
        lambda folded_frame: folded_frame.count(),
    ):
        with pytest.raises(PySparkException) as raised:
            action(headrace.fold(changes, **options))
        error = HeadraceError.find_in(str(raised.value))
        assert error is not None
    assert error.code == "spark.ambiguous_order"
    assert error.message.startswith("headrace.fold: ")
    assert error.remedy.endswith("__source_NAME.")
    return error


EQUAL = (change("a", "5"), change("b", "5"))
ONE_A_DELETE = (change("a", "5"), change("a", "5", op="d"))
ONE_WITHOUT = (change("a", "5"), change("b", None))
BOTH_WITHOUT = (change("a", None), change("b", None))
BY_TWO = ["source.n", "source.m"]


@pytest.mark.parametrize(
    ("first", "other", "order"),
    [
        (*EQUAL, "sequence"),
        (*EQUAL, BY_TWO),
        (*ONE_A_DELETE, "source.n"),
        (*ONE_WITHOUT, "sequence"),
        (*ONE_WITHOUT, BY_TWO),
        (*BOTH_WITHOUT, "source.n"),
        (*BOTH_WITHOUT, BY_TWO),
    ],
    ids=[
        "equal places",
        "equal places of two columns",
        "equal places, one a delete",
        "one without a place",
        "one without a place of two columns",
        "both without",
        "both without places of two columns",
    ],
)
def test_two_changes_of_a_key_whose_order_is_open_end_the_query(
    spark: SparkSession, first: tuple[Any, ...], other: tuple[Any, ...], order: Any
) -> None:
    before, last_of_others = change("z", "1"), ((2,), *change("b", "5")[1:])
    error = failure(frame(spark, before, first, other, last_of_others), order=order)
    order_text = order if isinstance(order, str) else ", ".join(order)
    assert f"of one key (id) have the same place in the order ({order_text})" in error.message
    assert "source.lsn" in error.remedy


def test_the_default_order_is_looked_at_as_well(spark: SparkSession) -> None:
    assert (
        "the order (sequence)" in failure(frame(spark, change("a", "5"), change("b", "5"))).message
    )


def test_columns_without_a_name_are_named_by_their_text(spark: SparkSession) -> None:
    order = F.col("source.n").cast("bigint")
    error = failure(frame(spark, change("a", "5"), change("b", "5")), order=order)
    assert "the order (CAST(source.n AS BIGINT))" in error.message


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([change("a", "5"), change("a", "5")], ("a", "x", False, [])),
        ([change("a", "4"), change("b", "4"), change("c", "5")], ("c", "x", False, [])),
        ([change("a", None)], ("a", "x", False, [])),
        ([change("a", "5", op="d"), change("", None, op=None)], (None, None, True, [])),
        (
            [change("a", "5", op="d"), change("", None, op=None), change("b", "6", op="c")],
            ("b", "x", False, []),
        ),
    ],
    ids=[
        "the same change twice",
        "earlier ones with one place",
        "one change without a place",
        "a tombstone without a place",
        "a row that came again after its tombstone",
    ],
)
def test_what_leaves_no_doubt_is_no_error(
    spark: SparkSession, changes: list[tuple[Any, ...]], expected: tuple[Any, ...]
) -> None:
    assert folded(frame(spark, *changes), order="source.n") == expected


def test_a_value_that_the_last_change_does_not_carry_has_an_order_too(spark: SparkSession) -> None:
    last = change("c", "5", text=LACKING)
    ambiguous = frame(spark, change("a", "4", text="x"), change("a", "4", text="y"), last)
    assert "the order (source.n)" in failure(ambiguous, order="source.n").message
    same = frame(spark, change("a", "4", text="x"), change("b", "4", text="x"), last)
    assert folded(same, order="source.n") == ("c", "x", False, [])
    unambiguous = frame(
        spark, change("a", "4", text="x"), change("b", "4", text="y"), change("c", "5")
    )
    assert folded(unambiguous, order="source.n") == ("c", "x", False, [])


def of_kafka(name: str, partition: int, offset: int) -> tuple[Any, ...]:
    return (*change(name, None)[:6], partition, offset)


def test_offsets_of_several_partitions_are_no_order(spark: SparkSession) -> None:
    changes = frame(spark, of_kafka("a", 0, 7), of_kafka("b", 1, 8)).drop("sequence")
    assert "(id) are in several partitions" in failure(changes).message
    assert folded(changes, order=["partition", "offset"])[0] == "b"
    events = frame(spark, of_kafka("a", 1, 8), of_kafka("b", 1, 9)).drop("sequence")
    assert folded(events)[0] == "b"


@pytest.mark.parametrize("order", ["source.lsn", "source.ts_ms"])
def test_numbers_that_are_texts_in_a_source_are_ordered_as_numbers(
    spark: SparkSession, order: str
) -> None:
    changes = frame(spark, change("later", "10000000"), change("earlier", "9999999"))
    assert folded(changes, order=order)[0] == "later"


def test_what_gives_no_order_is_reported_with_the_fields_that_do_by_connector(
    spark: SparkSession,
) -> None:
    changes = frame(spark).drop("sequence", "offset")
    with pytest.raises(HeadraceError) as raised:
        headrace.fold(changes)
    assert raised.value.code == "spark.no_order"
    for definition in definitions():
        fields = ", ".join(f"source.{field}" for field in definition.change_order)
        assert f"{definition.name}: {fields}" in raised.value.remedy
    assert "postgresql: source.lsn;" in raised.value.remedy
    assert "add.fields=op,source.NAME as __source_NAME" in raised.value.remedy


@pytest.mark.parametrize("order", ["source.nothing.there", ["sequence", "no_such"]])
def test_an_order_by_what_is_not_there_is_refused(spark: SparkSession, order: Any) -> None:
    with pytest.raises(HeadraceError, match="is not of columns of the changes") as raised:
        headrace.fold(frame(spark), order=order)
    assert raised.value.code == "spark.no_such_column"
