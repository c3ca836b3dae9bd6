"""Events in JSON become columns of Spark's types: each form of a value, and values without one."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace
from headrace.connect.java_numbers import unscaled_bytes
from headrace.errors import HeadraceError
from headrace.spark.tables.table import topics_named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
VARIABLE = "io.debezium.data.VariableScaleDecimal"


def encoded(text: str) -> str:
    """Base64 of a decimal's unscaled value."""
    return base64.b64encode(unscaled_bytes(Decimal(text))).decode()


def parts(text: str) -> dict[str, Any]:
    """A VariableScaleDecimal."""
    return {"scale": -int(Decimal(text).as_tuple().exponent), "value": encoded(text)}


# The column, its value in JSON, and the text of the value in Spark.
FORMS: list[tuple[str, Any, str]] = [
    ("DECIMAL(10,2)", encoded("12345678.90"), "12345678.90"),
    ("DECIMAL(10,2)", encoded("-0.01"), "-0.01"),
    ("DECIMAL(38,5)", encoded("-999999999999999999999999999999999.99999"),
     "-999999999999999999999999999999999.99999"),
    ("DECIMAL(20,0)", encoded("18446744073709551615"), "18446744073709551615"),
    ("DECIMAL(20,0)", encoded("-9223372036854775808"), "-9223372036854775808"),
    (f"DECIMAL(10,3) COMMENT '{VARIABLE}'", parts("1.5"), "1.500"),
    (f"STRING COMMENT '{VARIABLE}'", parts("-12345678901234567890.5"), "-12345678901234567890.5"),
    ("DECIMAL(10,2) COMMENT 'plain'", "1.5", "1.50"),
    ("DECIMAL(10,2) COMMENT 'plain'", 1.5, "1.50"),
    ("DATE", 20455, "2026-01-02"),
    ("DATE", -1, "1969-12-31"),
    ("DATE", "2026-01-02Z", "2026-01-02"),
    ("TIMESTAMP_NTZ", -500_000, "1969-12-31 23:59:59.5"),
    ("TIMESTAMP_NTZ", 1_767_323_045_678_901, "2026-01-02 03:04:05.678901"),
    ("TIMESTAMP_NTZ COMMENT 'io.debezium.time.Timestamp'", 1_767_323_045_678,
     "2026-01-02 03:04:05.678"),
    ("TIMESTAMP_NTZ COMMENT 'io.debezium.time.NanoTimestamp'", 1_767_323_045_678_901_000,
     "2026-01-02 03:04:05.678901"),
    ("TIMESTAMP_NTZ", "2026-01-02T03:04:05.6Z", "2026-01-02 03:04:05.6"),
    ("TIMESTAMP", "2026-01-02T03:04:05.678901Z", "2026-01-02 03:04:05.678901"),
    ("TIMESTAMP", 1_767_323_045_678, "2026-01-02 03:04:05.678"),
    ("STRING COMMENT 'io.debezium.time.MicroTime'", 45_296_789_012, "12:34:56.789012"),
    ("STRING COMMENT 'io.debezium.time.Time'", 45_296_789, "12:34:56.789000"),
    ("STRING COMMENT 'io.debezium.time.MicroTime'", 86_400_000_000, "24:00:00.000000"),
    ("STRING", 'é "quoted"', 'é "quoted"'),
    ("DOUBLE", "NaN", "NaN"),
    ("BIGINT", 9223372036854775807, "9223372036854775807"),
    ("BOOLEAN", True, "true"),
]  # fmt: skip
# A column, and a value that it cannot have.
WRONG: list[tuple[str, Any]] = [
    ("DECIMAL(10,2) COMMENT 'plain'", "1.005"),
    ("DECIMAL(4,2)", encoded("12345.67")),
    ("DECIMAL(10,2)", "12.50"),
    ("DECIMAL(10,2)", ""),
    ("DECIMAL(30,2)", "-1.00"),
    (f"DECIMAL(10,1) COMMENT '{VARIABLE}'", parts("1.25")),
    (f"STRING COMMENT '{VARIABLE}'", parts("1" * 45)),
    ("DATE", "tomorrow"),
    ("TIMESTAMP", "infinity"),
    ("TIMESTAMP_NTZ COMMENT 'io.debezium.time.NanoTimestamp'", 1),
    ("BINARY", "?"),
    ("INT", 3_000_000_000),
    ("BIGINT", "text"),
    ("STRING COMMENT 'io.debezium.time.MicroTime'", "text"),
    ("TIMESTAMP_NTZ COMMENT 'io.debezium.time.Timestamp'", (1 << 63) - 1),
    ("VARIANT", "text"),
]


def event(after: Any, *, wrapped: bool = False) -> str:
    payload = {"before": None, "after": after, "source": {"lsn": 5, "table": "t"}, "op": "c"}
    return json.dumps({"schema": {"type": "struct"}, "payload": payload} if wrapped else payload)


def columns(kinds: list[str]) -> str:
    return ", ".join(f"c{number} {kind}" for number, kind in enumerate(kinds))


def test_each_form_is_its_value(spark: SparkSession) -> None:
    schema = columns([kind for kind, _, _ in FORMS])
    after = {f"c{number}": value for number, (_, value, _) in enumerate(FORMS)}
    names = list(after)
    lines = [("p.s.t", event(after)), ("s.t", event(after, wrapped=True)), ("p.s.tt", "{}")]
    changes = headrace.table(
        spark.createDataFrame(lines, "topic string, value string"), "s.t", schema
    )
    rows = changes.selectExpr(*(f"cast(after.{name} AS string)" for name in names)).collect()
    expected = [text for _, _, text in FORMS]
    assert [list(row) for row in rows] == [expected, expected]
    first = changes.first()
    assert first is not None
    assert (first.op, first.source, first.before) == ("c", {"lsn": "5", "table": "t"}, None)


@pytest.mark.parametrize(("kind", "value"), WRONG, ids=lambda each: str(each)[:40])
def test_a_value_that_is_not_of_its_type_fails_the_query(
    spark: SparkSession, kind: str, value: Any
) -> None:
    events = spark.createDataFrame([(event({"c0": value}),)], "value string")
    with pytest.raises(Exception, match=r"the column after\.c0 does not fit its type"):
        headrace.table(events, "t", columns([kind])).select("after").collect()


@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(-(10**38) + 1, 10**38 - 1), min_size=40, max_size=60))
def test_every_decimal_is_read_exactly(spark: SparkSession, numbers: list[int]) -> None:
    digits = [(int(n < 0), Decimal(abs(n)).as_tuple().digits) for n in numbers]
    texts = [format(Decimal((*each, -7)), "f") for each in digits]
    lines = [(event({"c0": encoded(text), "c1": parts(text)}),) for text in texts]
    schema = f"c0 DECIMAL(38,7), c1 STRING COMMENT '{VARIABLE}'"
    changes = headrace.table(spark.createDataFrame(lines, "value string"), "t", schema)
    rows = changes.selectExpr("after.c0", "after.c1").collect()
    assert [(row.c0, Decimal(row.c1)) for row in rows] == [(Decimal(t), Decimal(t)) for t in texts]


def records(spark: SparkSession) -> DataFrame:
    """Topics as Spark reads them from Kafka."""
    lines = [
        (b'{"id":1}', event({"id": 1}).encode(), "p.s.t", 0, 7),
        (
            b'{"schema":{},"payload":{"id":2}}',
            event({"id": 2}, wrapped=True).encode(),
            "p.s.t",
            0,
            8,
        ),
        (b'{"id":1}', None, "p.s.t", 0, 9),
        (b'{"id":1}', event({"id": 9}).encode(), "p.s.other", 0, 1),
    ]
    schema = "key binary, value binary, topic string, partition int, offset bigint"
    return spark.createDataFrame(lines, schema)


def test_topics_of_kafka_are_tables(spark: SparkSession) -> None:
    changes = headrace.table(records(spark), "s.t", "id INT", key="id")
    rows = changes.orderBy("offset").select("key.id", "op", "after.id", "offset").collect()
    assert [tuple(row) for row in rows] == [(1, "c", 1, 7), (2, "c", 2, 8), (1, None, None, 9)]
    folded = headrace.fold(changes).orderBy("id").collect()
    assert [(row.id, row["__deleted"]) for row in folded] == [(1, True), (2, False)]


def test_a_key_without_columns_stays_text(spark: SparkSession) -> None:
    changes = headrace.table(records(spark), "s.t", "id INT").orderBy("offset")
    first = changes.first()
    assert first is not None
    assert first.key == '{"id":1}'


DOCUMENT = {
    "_id": {"$oid": "5f43a1b2c3d4e5f6a7b8c9d0"},
    "total": {"$numberDecimal": "12.50"},
    "placed": {"$date": 1767323045678},
    "later": {"$date": {"$numberLong": "1767323045678"}},
    "text": {"$date": "2026-01-02T03:04:05.678Z"},
    "count": {"$numberLong": "5"},
    "plain": 7,
    "ratio": 0.5,
    "raw": {"$binary": "AP8=", "$type": "00"},
    "lines": [{"sku": "a", "n": 1}, {"sku": "b"}],
    "tags": {"x": 1},
    "any": {"a": [1, "b"]},
    "nothing": None,
}
FIELDS = (
    "_id STRING, total DECIMAL(10,2), placed TIMESTAMP, later TIMESTAMP_NTZ, text TIMESTAMP, "
    "count BIGINT, plain BIGINT, ratio DOUBLE, raw BINARY, "
    "lines ARRAY<STRUCT<sku: STRING, n: INT>>, tags MAP<STRING, INT>, any VARIANT, "
    "nothing STRING, missing INT"
)


def test_documents_are_rows_of_declared_fields(spark: SparkSession) -> None:
    line = event(json.dumps(DOCUMENT))
    events = spark.createDataFrame([('{"id":"1"}', line)], "key string, value string")
    changes = headrace.table(events, "orders", FIELDS, documents=True)
    row = changes.selectExpr(
        "key.id", "after._id", "cast(after.total AS string)", "cast(after.placed AS string)",
        "cast(after.later AS string)", "cast(after.text AS string)", "after.count", "after.plain",
        "after.ratio", "hex(after.raw)", "to_json(after.lines)", "after.tags",
        "to_json(after.any)", "after.nothing", "after.missing",
    ).first()  # fmt: skip
    assert row is not None
    moment = "2026-01-02 03:04:05.678"
    assert tuple(row) == (
        "1", DOCUMENT["_id"]["$oid"], "12.50", moment, moment, moment, 5, 7, 0.5, "00FF",
        '[{"sku":"a","n":1},{"sku":"b"}]', {"x": 1}, '{"a":[1,"b"]}', None, None,
    )  # type: ignore[index] # fmt: skip
    # Spark 4.0 does not know `after:total`.
    total = "variant_get(after, '$.total', 'VARIANT')"
    whole = headrace.table(events, "orders", "VARIANT").selectExpr(total).first()
    assert whole is not None
    assert json.loads(whole[0].toJson()) == DOCUMENT["total"]
    with pytest.raises(Exception, match="the field lines holds a value of type array"):
        headrace.table(events, "orders", "lines INT", documents=True).select("after").collect()


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"key": "other"}, "spark.no_such_column"),
    ],
)
def test_what_is_no_table_is_refused(spark: SparkSession, wrong: Any, code: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        headrace.table(records(spark), "s.t", "id INT", **wrong)
    assert raised.value.code == code


@pytest.mark.parametrize(
    "value",
    ["{}", '{"id": 1}', '{"schema": {"type": "struct"}, "payload": {"id": 2}}', '{"op": null}'],
)
def test_a_value_without_an_operation_is_no_tombstone(spark: SparkSession, value: str) -> None:
    events = spark.createDataFrame([(value,)], "value string")
    with pytest.raises(Exception, match="a value without op is not a change event"):
        headrace.table(events, "t", "id INT", key=None).select("op").collect()


def test_a_tombstone_is_null_in_each_of_its_forms(spark: SparkSession) -> None:
    forms = [(None,), ('{"schema": null, "payload": null}',)]
    forms += [('{"schema": {"type": "struct"}, "payload": null}',)]
    events = spark.createDataFrame(forms, "value string")
    rows = headrace.table(events, "t", "id INT").select("op", "after").collect()
    assert [tuple(row) for row in rows] == [(None, None)] * len(forms)


def test_values_that_are_no_events_are_refused(spark: SparkSession) -> None:
    with pytest.raises(HeadraceError, match="holds no change events"):
        headrace.table(spark.range(1).withColumnRenamed("id", "value"), "t", "id INT")


def test_a_table_is_named_in_any_case_unless_two_differ_by_it() -> None:
    topics = ["p.INV.THINGS", "p.inv.orders", "p.INV.ORDERS"]
    assert topics_named(topics, "inv.things") == ["p.INV.THINGS"]
    assert topics_named(topics, "inv.orders") == ["p.inv.orders"]
    assert topics_named(topics, "Inv.Orders") == ["p.inv.orders", "p.INV.ORDERS"]
    assert topics_named(topics, "nv.things") == []
