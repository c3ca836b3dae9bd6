"""Casts of Connect values to another primitive type, as in Kafka Connect's Cast, by Java's rules.

Integers keep their low bits, fractions are truncated, a float beyond an integer's range becomes its
bound.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation.arrow import arrow_type
from headrace.connect.java_numbers import java_double, java_float
from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.transforms.kafka.times.date_format import DateFormat

TARGETS = {
    "int8": Type.INT8,
    "int16": Type.INT16,
    "int32": Type.INT32,
    "int64": Type.INT64,
    "float32": Type.FLOAT32,
    "float64": Type.FLOAT64,
    "boolean": Type.BOOLEAN,
    "string": Type.STRING,
}
"""The types to which values can be cast, by their names in Cast."""

TIMES = {
    "org.apache.kafka.connect.data.Date": 86_400_000,
    "org.apache.kafka.connect.data.Time": 1,
    "org.apache.kafka.connect.data.Timestamp": 1,
}
"""Connect's temporal types, and the milliseconds of their units."""

_INTEGERS = {
    Type.INT8: np.int8,
    Type.INT16: np.int16,
    Type.INT32: np.int32,
    Type.INT64: np.int64,
}
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_FLOATS = {Type.FLOAT32: np.float32, Type.FLOAT64: np.float64}
_TEXT = pa.large_string()
_DAY = 86_400_000
_INTEGER = re.compile("[+-]?[0-9]+")
_FLOAT = re.compile(
    r"\s*([+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?))[fFdD]?\s*"
)
_FORMATS = {
    "Date": DateFormat("yyyy-MM-dd"),
    "Time": DateFormat("HH:mm:ss.SSS'Z'"),
    "Timestamp": DateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"),
}


def cast_values(schema: Schema, values: pa.Array, target: Type) -> pa.Array:
    """Cast values of `schema`, in the form of `headrace.connect.evaluation.values`, to `target`.

    Raises ValueError for types that cannot be cast, and for texts that are not numbers of the type.
    """
    kind = arrow_type(Schema(target))
    if values.null_count == len(values):
        return pa.nulls(len(values), kind)
    if schema.type is Type.STRING:
        return _each(values, _PARSERS[target], kind) if target is not Type.STRING else values
    if schema.name == DECIMAL:
        return _decimals(values, target, kind)
    if schema.type is Type.BYTES and target is Type.STRING:
        return _each(values, lambda raw: base64.b64encode(raw).decode(), kind)
    if schema.type is Type.BOOLEAN:
        return _booleans(values, target, kind)
    if schema.type not in _INTEGERS and schema.type not in _FLOATS:
        raise ValueError(schema.name or schema.type.value)
    if target is Type.STRING:
        return _number_texts(schema, values)
    numbers = np.asarray(values.fill_null(0))
    mask = np.asarray(values.is_null())
    if target is Type.BOOLEAN:
        return pa.array(_integers(numbers, Type.INT64) != 0, mask=mask)
    numbers_of_target = (
        _integers(numbers, target) if target in _INTEGERS else _single(numbers, target)
    )
    return pa.array(numbers_of_target, mask=mask).cast(kind)


def cast_one(schema: Schema, value: object, target: Type) -> object:
    """Cast one value. Raises ValueError as `cast_values`."""
    return cast_values(schema, pa.array([value], arrow_type(schema)), target)[0].as_py()


def _single(numbers: np.ndarray, target: Type) -> np.ndarray:
    with np.errstate(over="ignore"):
        return numbers.astype(_FLOATS[target])


def _integers(numbers: np.ndarray, target: Type) -> np.ndarray:
    """Narrow as in Java: fractions first become int or long, bounded, and then lose high bits."""
    if numbers.dtype.kind == "f":
        wide = np.int64 if target is Type.INT64 else np.int32
        bounds = np.iinfo(wide)
        cut = np.trunc(
            np.nan_to_num(numbers.astype(np.float64), nan=0.0, posinf=1e300, neginf=-1e300)
        )
        is_high, is_low = cut >= float(bounds.max), cut <= float(bounds.min)
        inner = np.where(is_high | is_low, 0.0, cut).astype(wide)
        numbers = np.where(is_high, bounds.max, np.where(is_low, bounds.min, inner))
    return numbers.astype(_INTEGERS[target])


def _number_texts(schema: Schema, values: pa.Array) -> pa.Array:
    if schema.name in TIMES:
        return _time_texts(schema.name, values)
    if schema.type in _INTEGERS:
        return values.cast(_TEXT)
    return _float_texts(values, java_float if schema.type is Type.FLOAT32 else java_double)


def _float_texts(values: pa.Array, show: Callable[[float], str]) -> pa.Array:
    """Return Java's texts of floats: those without exponent are Arrow's, with at least one fraction
    digit."""
    size = pc.abs(values)
    is_plain = pc.and_(pc.greater_equal(size, 1e-3), pc.less(size, 1e7)).fill_null(True)
    texts = pc.if_else(is_plain, values, pa.scalar(1.0, values.type)).cast(_TEXT)
    is_whole = pc.less(pc.find_substring(texts, "."), 0)
    whole = pc.binary_join_element_wise(texts, pa.scalar(".0", _TEXT), pa.scalar("", _TEXT))
    texts = pc.if_else(is_whole, whole, texts)
    if pc.all(is_plain).as_py():
        return texts
    others = _each(values.filter(pc.invert(is_plain)), show, _TEXT)
    return pc.replace_with_mask(texts, pc.invert(is_plain), others)


def _time_texts(name: str, values: pa.Array) -> pa.Array:
    """Return the texts of times; a timestamp at midnight shows only its date."""
    millis = np.asarray(values.cast(pa.int64()).fill_null(0)) * TIMES[name]
    short = name.rpartition(".")[2]
    texts = _FORMATS[short].format(millis)
    if short == "Timestamp":
        midnight = (millis % _DAY == 0) & (millis != 0)
        texts = pc.if_else(pa.array(midnight), _FORMATS["Date"].format(millis), texts)
    return pc.if_else(values.is_null(), pa.scalar(None, _TEXT), texts)


def _booleans(values: pa.Array, target: Type, kind: pa.DataType) -> pa.Array:
    if target is Type.BOOLEAN:
        return values
    if target is Type.STRING:
        return pc.if_else(values, pa.scalar("true", _TEXT), pa.scalar("false", _TEXT))
    return values.cast(pa.int8()).cast(kind)


def _decimals(values: pa.Array, target: Type, kind: pa.DataType) -> pa.Array:
    def cast(number: Decimal) -> object:
        if target is Type.STRING:
            return str(number)
        if target in _FLOATS:
            return float(_single(np.array([float(number)]), target)[0])
        whole = int(number)
        if target is Type.BOOLEAN:
            return _wrapped(whole, 64) != 0
        return _wrapped(whole, _BITS[target])

    return pa.array([None if v is None else cast(v) for v in values.to_pylist()], kind)


def _wrapped(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _each(values: pa.Array, change: Callable[..., object], kind: pa.DataType) -> pa.Array:
    """Apply `change` to each distinct value."""
    encoded = values.dictionary_encode()
    changed: Sequence[object] = [change(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(changed, kind).take(encoded.indices)


def _parse_integer(bits: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text) if _INTEGER.fullmatch(text) else None
        if number is None or not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise ValueError(text)
        return number

    return parse


def _parse_float(text: str) -> float:
    match = _FLOAT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return float(match[1])


_PARSERS: dict[Type, Callable[[str], object]] = {
    **{kind: _parse_integer(bits) for kind, bits in _BITS.items()},
    Type.FLOAT32: lambda text: float(_single(np.array([_parse_float(text)]), Type.FLOAT32)[0]),
    Type.FLOAT64: _parse_float,
    Type.BOOLEAN: lambda text: text.lower() == "true",
}
