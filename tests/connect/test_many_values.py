"""Arrays of many values are read and written as each of their values by itself."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import chain
from random import Random
from typing import Any

import pytest

from headrace.connect.json_values import Allowance, dump_value, load_value
from headrace.connect.schema import DECIMAL, Field, Schema, Type
from headrace.converters.avro.schemas import AvroOptions
from headrace.converters.avro.values import branch_of, encode, long
from headrace.converters.binary.texts import java_text
from headrace.converters.json.values import JsonOptions, render
from headrace.errors import HeadraceError

MONEY = Schema(Type.BYTES, name=DECIMAL, version=1, parameters=(("scale", "2"),))
_CONNECT = "org.apache.kafka.connect.data."
_NUMBERS = (0, 1, -1, 64, 127, -128, 1)
_DOUBLES = (0.0, -0.0, 0.1, 1.0, 1e7, -2e-7, 5e-324, 1e308, float("nan"), float("inf"), 1.0)
_SINGLES = (0.0, -0.0, 0.5, 1.401298464324817e-45, 3.4028234663852886e38, float("-inf"), 0.1, 7e-45)
LEAVES: tuple[tuple[Schema, tuple[Any, ...]], ...] = (
    *((Schema(each), _NUMBERS) for each in (Type.INT8, Type.INT16, Type.INT32, Type.INT64)),
    (Schema(Type.INT32, name=f"{_CONNECT}Date"), _NUMBERS),
    (Schema(Type.INT64, name=f"{_CONNECT}Timestamp"), (*_NUMBERS, 1 << 62)),
    (Schema(Type.FLOAT64), _DOUBLES),
    (Schema(Type.FLOAT32), _SINGLES),
    (Schema(Type.BOOLEAN), (True, False)),
    (Schema(Type.STRING), ("", "a", "é😀", 'a"\\\n', "null")),
    (Schema(Type.STRING), ("a", "b")),
    (Schema(Type.BYTES), (b"", b"\0", b"\xff\0")),
    (MONEY, tuple(map(Decimal, ("0.00", "-0.01", "12.50", "1" * 60 + ".00")))),
)


def drawn(random: Random, depth: int = 0) -> tuple[Schema, list[Any]]:
    """A schema, and values of it, now and then nulls among them."""
    count = random.choice((0, 1, 3, 250))
    kind = random.randrange(6) if depth < 3 else 5
    if kind == 0:
        inner, values = drawn(random, depth + 1)
        schema = Schema(Type.ARRAY, values=inner)
        values = [values[: random.randrange(4)] for _ in range(min(count, 20))]
    elif kind == 1:
        parts = [drawn(random, depth + 1) for _ in range(random.randrange(4))]
        fields = tuple(Field(f"f{n}", inner) for n, (inner, _) in enumerate(parts))
        schema = Schema(Type.STRUCT, fields=fields)
        rows = zip(*(values or [None] for _, values in parts), strict=False)
        values = [dict(zip(schema.places, row, strict=True)) for row in rows] or [{}]
        if any(None in row.values() for row in values):
            schema = Schema(
                Type.STRUCT,
                fields=tuple(Field(f.name, f.schema.as_optional()) for f in fields),
            )
    elif kind == 2:
        inner, values = drawn(random, 3)
        schema = Schema(Type.MAP, keys=Schema(Type.STRING), values=inner)
        values = [{"k": each} for each in values]
    else:
        schema, leaf_values = random.choice(LEAVES)
        values = [random.choice(leaf_values) for _ in range(count)]
    if random.randrange(3) == 0:
        schema = schema.as_optional()
        values = list(chain.from_iterable((each, None) for each in values))
    if random.randrange(8) == 0 and values and schema.type is not Type.ANY:
        values[random.randrange(len(values))] = object()
    return schema, values


def outcome(make: Any) -> Any:
    try:
        return make()
    except HeadraceError as error:
        return error.code


@pytest.mark.parametrize("seed", range(300))
def test_an_array_is_written_as_its_items_are(seed: int) -> None:
    random = Random(seed)
    inner, values = drawn(random)
    schema = Schema(Type.ARRAY, values=inner)
    options = JsonOptions(decimal_numeric=random.random() < 0.5)
    avro = AvroOptions()

    def rendered() -> str:
        return "[" + ",".join([plainly(inner, each, options) for each in values]) + "]"

    def encoded() -> bytes:
        items = [encoded_plainly(inner, each, avro) for each in values]
        return (long(len(items)) + b"".join(items) if items else b"") + b"\0"

    assert outcome(lambda: render(schema, values, options)) == outcome(rendered)
    assert outcome(lambda: encode(schema, values, avro)) == outcome(encoded)
    texts = [outcome(lambda each=each: text_plainly(inner, each)) for each in values]
    expected = next((each for each in texts if each in ("converters.value_mismatch",)), None)
    assert outcome(lambda: java_text(schema, values)) == (expected or "[" + ", ".join(texts) + "]")


@pytest.mark.parametrize("seed", range(300))
def test_an_array_is_read_as_its_items_are(seed: int) -> None:
    random = Random(seed)
    inner, values = drawn(random)
    values = [each for each in values if type(each) is not object]
    if inner.type is Type.MAP or "object at" in repr(values):
        return
    schema = Schema(Type.ARRAY, values=inner)
    payload = json.loads(json.dumps(dump_value(schema, values)), parse_float=Decimal)
    assert json.dumps(payload, default=str) == json.dumps(
        json.loads(json.dumps([dumped_plainly(inner, v) for v in values]), parse_float=Decimal),
        default=str,
    )
    if random.random() < 0.3 and payload:
        wrong = random.choice((True, "x", 1 << 70, 1.5, [], {}, None, Decimal("1e400"), 7))
        payload[random.randrange(len(payload))] = wrong
    allowance = Allowance(10**6, 10**6)

    def plainly_loaded() -> object:
        return [loaded_plainly(inner, each) for each in payload]

    array_values, expected = (
        outcome(lambda: load_value(schema, payload, allowance)),
        outcome(plainly_loaded),
    )
    assert repr(array_values) == repr(expected)


# -- each value by itself ------------------------------------------------------------------------


def plainly(schema: Schema, value: Any, options: JsonOptions) -> str:
    if schema.type is Type.ARRAY and isinstance(value, list) and schema.values is not None:
        return "[" + ",".join([plainly(schema.values, each, options) for each in value]) + "]"
    if schema.type is Type.STRUCT and isinstance(value, dict):
        members = [
            f'"{f.name}":{plainly(f.schema, value.get(f.name), options)}' for f in schema.fields
        ]
        return "{" + ",".join(members) + "}"
    return render(schema, value, options)


def encoded_plainly(schema: Schema, value: Any, options: AvroOptions) -> bytes:
    branch = branch_of(schema)
    if schema.type is Type.ARRAY and isinstance(value, list) and schema.values is not None:
        items = [encoded_plainly(schema.values, each, options) for each in value]
        return branch + (long(len(items)) + b"".join(items) if items else b"") + b"\0"
    if schema.type is Type.STRUCT and isinstance(value, dict):
        members = [encoded_plainly(f.schema, value.get(f.name), options) for f in schema.fields]
        return branch + b"".join(members)
    return encode(schema, value, options)


def text_plainly(schema: Schema, value: Any) -> str:
    if schema.type is Type.ARRAY and isinstance(value, list) and schema.values is not None:
        return "[" + ", ".join([text_plainly(schema.values, each) for each in value]) + "]"
    return java_text(schema, value)


def dumped_plainly(schema: Schema, value: Any) -> object:
    if schema.type is Type.ARRAY and isinstance(value, list) and schema.values is not None:
        return [dumped_plainly(schema.values, each) for each in value]
    if schema.type is Type.STRUCT and isinstance(value, dict):
        return {f.name: dumped_plainly(f.schema, value.get(f.name)) for f in schema.fields}
    return dump_value(schema, value)


def loaded_plainly(schema: Schema, payload: Any) -> object:
    if schema.type is Type.ARRAY and isinstance(payload, list) and schema.values is not None:
        return [loaded_plainly(schema.values, each) for each in payload]
    if schema.type is Type.STRUCT and isinstance(payload, dict):
        return {f.name: loaded_plainly(f.schema, payload.get(f.name)) for f in schema.fields}
    return load_value(schema, payload)
