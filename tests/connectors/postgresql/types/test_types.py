"""Column types: schemas, exact decoding, defaults and stand-in values."""

from __future__ import annotations

import contextlib
import json
import math
import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Type
from headrace.connectors.postgresql.types.declarations import BUILT_IN
from headrace.connectors.postgresql.types.options import PostgresTypeOptions as TypeOptions
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.converters.json.values import render_cell
from headrace.errors import HeadraceError
from headrace.relational.types.column_type import ColumnName, ColumnType
from headrace.relational.types.declaration import NO_PLACEHOLDER
from tests.connectors.postgresql.facts import resolve


def facts(name: str) -> TypeFacts:
    return TypeFacts(1, name)


def array_facts(element: TypeFacts) -> TypeFacts:
    return TypeFacts(2, "_" + element.name, element.schema, element=element)


def numeric_typmod(precision: int, scale: int) -> int:
    return ((precision << 16) | (scale & 0x7FF)) + 4


def made(name: str, typmod: int = -1, **keywords: object) -> ColumnType:
    column_type = resolve(facts(name), typmod, **keywords)  # type: ignore[arg-type]
    assert column_type is not None
    return column_type


def cell(name: str, text: str, typmod: int = -1, **keywords: object) -> str:
    return render_cell(made(name, typmod, **keywords), text.encode()).decode()


@pytest.mark.parametrize(
    ("name", "typmod", "text", "expected"),
    [
        ("bool", -1, "t", "true"),
        ("int2", -1, "-32768", "-32768"),
        ("int8", -1, "9223372036854775807", "9223372036854775807"),
        ("oid", -1, "4294967295", "4294967295"),
        ("float8", -1, "1e+20", "1.0E20"),
        ("float8", -1, "NaN", '"NaN"'),
        ("float8", -1, "-Infinity", '"-Infinity"'),
        ("float4", -1, "0.1", "0.1"),
        ("numeric", numeric_typmod(5, 2), "12.34", '"BNI="'),
        ("numeric", numeric_typmod(5, 2), "-0.01", '"/w=="'),
        ("numeric", numeric_typmod(5, -2), "12300", '"ew=="'),
        ("numeric", -1, "10.1111", '{"scale":4,"value":"AYr3"}'),
        ("numeric", -1, "10", '{"scale":0,"value":"Cg=="}'),
        ("numeric", -1, "10.00", '{"scale":0,"value":"Cg=="}'),
        ("numeric", -1, "0.000", '{"scale":0,"value":"AA=="}'),
        ("varchar", 14, 'a"b\\c\n\x01é', '"a\\"b\\\\c\\n\\u0001é"'),
        ("bpchar", 8, "ab  ", '"ab  "'),
        ("bytea", -1, "\\x00ff", '"AP8="'),
        ("jsonb", -1, '{"a": 1}', '"{\\"a\\": 1}"'),
        ("date", -1, "2017-09-15", "17424"),
        ("date", -1, "1969-12-31", "-1"),
        ("date", -1, "infinity", "-2147472692"),
        ("date", -1, "-infinity", "-2147472691"),
        ("time", -1, "24:00:00", "86400000000"),
        ("time", 3, "00:00:01.5", "1500"),
        ("timestamp", -1, "2018-06-20 15:13:16.945104", "1529507596945104"),
        ("timestamp", -1, "4713-12-31 23:59:59.999999 BC", "-210831897600000001"),
        ("timestamp", 3, "2018-06-20 15:13:16.945", "1529507596945"),
        ("timestamp", -1, "infinity", "9223372036825200000"),
        ("timestamp", 0, "-infinity", "-9223372036832400"),
        ("timestamptz", -1, "2026-08-22 10:00:00.1+00", '"2026-08-22T10:00:00.100000Z"'),
        ("timestamptz", 0, "2026-08-22 10:00:00+00", '"2026-08-22T10:00:00Z"'),
        ("timestamptz", 3, "2026-08-22 10:00:00+02", '"2026-08-22T08:00:00.000Z"'),
        ("timestamptz", -1, "10000-01-01 00:00:00+00", '"+10000-01-01T00:00:00.000000Z"'),
        ("timestamptz", -1, "0044-03-15 12:00:00+00 BC", '"-0043-03-15T12:00:00.000000Z"'),
        ("timestamptz", -1, "infinity", '"infinity"'),
        ("timetz", -1, "13:51:30.120+02", '"11:51:30.12Z"'),
        ("timetz", -1, "24:00:00+00", '"00:00:00Z"'),  # java.time.OffsetTime reads no 24:00
        ("timetz", -1, "24:00:00+02", '"22:00:00Z"'),
        ("timetz", -1, "00:30:00+01", '"23:30:00Z"'),
        ("daterange", -1, "[2019-03-31,infinity)", '"[2019-03-31,infinity)"'),
        ("bit", 1, "1", "true"),
    ],
)
def test_a_value_is_rendered_exactly(name: str, typmod: int, text: str, expected: str) -> None:
    assert cell(name, text, typmod) == expected


@pytest.mark.parametrize(
    ("mode", "typmod", "text", "expected"),
    [
        ("double", -1, "1.10", "1.1"),
        ("double", -1, "NaN", '"NaN"'),
        ("string", numeric_typmod(5, 2), "1.1", '"1.10"'),
        ("string", -1, "22.2200", '"22.2200"'),
        ("string", -1, "NaN", '"NAN"'),
        ("string", -1, "-Infinity", '"NEGATIVE_INFINITY"'),
    ],
)
def test_numerics_follow_the_decimal_mode(mode: str, typmod: int, text: str, expected: str) -> None:
    options = TypeOptions(decimal_handling_mode=mode)
    assert cell("numeric", text, typmod, options=options) == expected


def test_a_numeric_of_any_length_is_exact() -> None:
    digits = "9" * 20_000
    value = made("numeric").decode(digits.encode())
    assert isinstance(value, dict)
    assert int.from_bytes(value["value"], "big", signed=True) == 10**20_000 - 1
    fixed = made("numeric", numeric_typmod(1000, 2)).decode(b"9" * 6000 + b".25")
    assert fixed == Decimal("9" * 6000 + ".25")


def test_nan_in_precise_mode_is_null() -> None:
    column = ColumnName("inventory.orders", "nan_amount")
    kind = made("numeric", column=column)
    assert render_cell(kind, b"NaN") == b"null"


def test_nan_in_a_required_decimal_is_an_error_that_names_the_column() -> None:
    kind = made("numeric", optional=False, column=ColumnName("inventory.orders", "amount"))
    with pytest.raises(HeadraceError, match=r"amount of inventory\.orders") as raised:
        kind.decode(b"NaN")
    assert raised.value.code == "relational.value_not_representable"
    assert "decimal.handling.mode" in raised.value.remedy


def test_the_schemas_are_debeziums() -> None:
    assert made("numeric", numeric_typmod(5, 2)).schema.json == (
        '{"type":"bytes","optional":true,"name":"org.apache.kafka.connect.data.Decimal",'
        '"version":1,"parameters":{"scale":"2","connect.decimal.precision":"5"}}'
    )
    assert made("timestamp", 3).schema.name == "io.debezium.time.Timestamp"
    assert made("timestamp", 4).schema.name == "io.debezium.time.MicroTimestamp"
    assert made("time", 0).schema.name == "io.debezium.time.Time"
    assert made("time").schema.name == "io.debezium.time.MicroTime"
    assert made("tsvector").schema.name == "io.debezium.data.Tsvector"


def test_an_enum_lists_its_labels() -> None:
    mood = TypeFacts(5, "mood", "public", kind="e", labels=("sad", "happy"))
    kind = resolve(mood, optional=False, default="'happy'::mood")
    assert kind is not None
    assert kind.schema.parameters == (("allowed", "sad,happy"),)
    assert kind.schema.default == "happy"
    assert kind.fallback == "happy"


@pytest.mark.parametrize(
    ("element", "typmod", "text", "expected"),
    [
        ("int4", -1, "{1,NULL,-3}", "[1,null,-3]"),
        ("int4", -1, "[0:1]={1,2}", "[1,2]"),
        ("text", -1, '{a,"b,\\"c\\\\","NULL",NULL,""}', '["a","b,\\"c\\\\","NULL",null,""]'),
        ("text", -1, "{}", "[]"),
        ("numeric", numeric_typmod(5, 2), "{1.10,NULL}", '["bg==",null]'),
        ("timestamp", 3, '{"2018-06-20 15:13:16.945"}', "[1529507596945]"),
        ("bytea", -1, '{"\\\\x00ff"}', '["AP8="]'),
    ],
)
def test_an_array_is_rendered_by_its_elements(
    element: str, typmod: int, text: str, expected: str
) -> None:
    kind = resolve(array_facts(facts(element)), typmod)
    assert kind is not None
    assert kind.schema.type is Type.ARRAY
    assert kind.schema.values is not None
    assert kind.schema.values.optional
    assert render_cell(kind, text.encode()).decode() == expected


def test_an_array_of_arrays_is_null_and_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    kind = resolve(array_facts(facts("int4")), column=ColumnName("public.t", "matrix"))
    assert kind is not None
    assert kind.decode(b"{{1,2},{3,4}}") is None
    assert kind.decode(b"{{1,2},{3,4}}") is None
    assert [message.count("column matrix of public.t") for message in caplog.messages] == [1]


def test_a_domain_is_what_it_is_made_over() -> None:
    inner = TypeFacts(
        10, "price", "public", "d", base=facts("numeric"), typmod=numeric_typmod(9, 2)
    )
    outer = TypeFacts(11, "net_price", "public", kind="d", base=inner)
    kind = resolve(outer)
    assert kind is not None
    assert kind.encoding is Encoding.DECIMAL
    assert kind.parameter == 2


@pytest.mark.parametrize(
    "unknown",
    [
        facts("pg_lsn"),
        facts("tsquery"),
        TypeFacts(9, "pair", "public", kind="c"),
        array_facts(facts("money")),
        array_facts(facts("xml")),
        array_facts(TypeFacts(9, "price", "public", kind="d", base=facts("numeric"))),
    ],
)
def test_a_type_that_debezium_leaves_out_is_left_out(unknown: TypeFacts) -> None:
    assert resolve(unknown) is None


@pytest.mark.parametrize(
    ("name", "typmod", "expression", "default"),
    [
        ("int4", -1, "42", 42),
        ("int4", -1, "'-5'::integer", -5),
        ("int4", -1, "nextval('orders_id_seq'::regclass)", 0),
        ("int4", -1, "NULL::integer", None),
        ("int4", -1, "(1 + 2)", None),
        ("int8", -1, "'9223372036854775807'::bigint", 2**63 - 1),
        ("bool", -1, "true", True),
        ("bool", -1, "false", False),
        ("text", -1, "'it''s'::text", "it's"),
        ("text", -1, r"E'a\\b'::text", "a\\b"),
        ("text", -1, "''::text", ""),
        ("text", -1, "upper('x'::text)", ""),
        ("text", -1, "('a'::text || 'b'::text)", None),
        ("text", -1, "NULL::character varying", None),
        ("text", -1, "CURRENT_USER", None),
        ("varchar", 14, "'abc'::character varying", "abc"),
        ("numeric", numeric_typmod(5, 2), "1.5", Decimal("1.50")),
        ("numeric", numeric_typmod(5, 2), "1.555", None),
        ("numeric", -1, "1.5", None),
        ("float8", -1, "'-1.5'::numeric", -1.5),
        ("float8", -1, "'NaN'::double precision", math.nan),
        ("date", -1, "'2017-09-15'::date", 17424),
        ("date", -1, "CURRENT_DATE", 0),
        ("date", -1, "('now'::text)::date", None),
        ("time", -1, "'10:00:00'::time without time zone", 36_000_000_000),
        ("timestamp", -1, "LOCALTIMESTAMP", 0),
        ("timestamp", 3, "'1970-01-01 00:00:01'::timestamp without time zone", 1000),
        ("timestamptz", -1, "now()", "1970-01-01T00:00:00.000000Z"),
        ("timestamptz", -1, "CURRENT_TIMESTAMP(3)", "1970-01-01T00:00:00.000000Z"),
        ("uuid", -1, "gen_random_uuid()", "00000000-0000-0000-0000-000000000000"),
        ("jsonb", -1, "'{}'::jsonb", "{}"),
        ("bit", 1, "B'1'::\"bit\"", True),
        ("bytea", -1, r"'\x00'::bytea", None),
        ("citext", -1, "'a'::citext", None),
    ],
)
def test_a_default_is_read_from_its_expression(
    name: str, typmod: int, expression: str, default: object
) -> None:
    schema = "public" if name == "citext" else "pg_catalog"
    kind = resolve(TypeFacts(1, name, schema), typmod, default=expression)
    assert kind is not None
    assert kind.schema.default == default or default is kind.schema.default
    assert type(kind.schema.default) is type(default)


def test_a_required_column_falls_back_to_its_default_or_its_zero() -> None:
    assert made("int4").fallback is None
    assert made("int4", optional=False).fallback == 0
    assert made("int4", optional=False, default="7").fallback == 7
    assert made("timestamptz", optional=False).fallback == "1970-01-01T00:00:00Z"
    assert made("numeric", numeric_typmod(5, 2), optional=False).fallback == Decimal("0.00")


def test_the_placeholder_has_the_shape_of_the_column() -> None:
    text = "__debezium_unavailable_value"
    assert made("text").unavailable == text
    assert made("bytea").unavailable == text.encode()
    assert made("numeric").unavailable is NO_PLACEHOLDER
    expected = {
        "text": [text],
        "jsonb": [text],
        "bytea": [text.encode()],
        "int4": list(text.encode()),
        "int8": list(text.encode()),
        "date": list(text.encode()),
        "uuid": ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"],
        "numeric": NO_PLACEHOLDER,
    }
    for element, placeholder in expected.items():
        kind = resolve(array_facts(facts(element)))
        assert kind is not None
        assert kind.unavailable == placeholder
    assert made(
        "bytea", options=TypeOptions(unavailable_value_placeholder="hex:00ff")
    ).unavailable == (b"\x00\xff")


def test_a_column_type_travels_to_tasks() -> None:
    for name in BUILT_IN:
        kind = resolve(facts(name), 1, optional=False)
        assert kind is not None
        unpickled = pickle.loads(pickle.dumps(kind))
        assert unpickled.schema == kind.schema
        assert unpickled.unavailable == kind.unavailable
    assert pickle.loads(pickle.dumps(NO_PLACEHOLDER)) is NO_PLACEHOLDER


KINDS = [
    column_type
    for options in (TypeOptions(), TypeOptions("double"), TypeOptions("string"))
    for name in sorted(BUILT_IN)
    for typmod in (-1, 1, 3, numeric_typmod(5, 2), numeric_typmod(5, -3))
    for kind in (facts(name), array_facts(facts(name)))
    if not (name in ("bit", "varbit") and (typmod != 1 or kind.element))
    for column_type in (resolve(kind, typmod, options=options),)
    if column_type is not None
]

TEXTS = st.one_of(
    st.binary(max_size=40),
    st.text(alphabet='0123456789-+:. eE{},"\\NaInfityULBCx[]=tTZ', max_size=40).map(str.encode),
    st.from_regex(rb"[0-9]{4,8}-[0-9]{2}-[0-9]{2}( [0-9:.]{5,15}([+-][0-9:]{2,8})?)?( BC)?"),
    st.from_regex(rb"\{[^{}]*\}"),
)


@given(st.sampled_from(KINDS), TEXTS)
def test_no_text_raises_anything_but_a_headrace_error(kind: ColumnType, text: bytes) -> None:
    with contextlib.suppress(HeadraceError):
        json.loads(render_cell(kind, text), strict=False)


@given(st.sampled_from(sorted(BUILT_IN)), st.text(max_size=60))
def test_no_default_expression_raises(name: str, expression: str) -> None:
    assert resolve(facts(name), 1, default=expression) is not None


@given(
    st.lists(st.none() | st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")))
)
def test_any_text_array_is_read_back(items: list[str | None]) -> None:
    quoted = (
        "NULL" if i is None else '"' + i.replace("\\", "\\\\").replace('"', '\\"') + '"'
        for i in items
    )
    kind = resolve(array_facts(facts("text")))
    assert kind is not None
    assert kind.decode(("{" + ",".join(quoted) + "}").encode()) == items
