"""Spark's types for the values of Connect's and Debezium's schemas, as Arrow types.

| schema | type |
|---|---|
| integers, floats, boolean, string, bytes | the same |
| Decimal of 1 to 38 digits | decimal(precision, scale); 38 digits where the schema names none |
| other Decimals, VariableScaleDecimal | string: the number in plain digits |
| Date (Debezium's, Connect's) | date |
| Timestamp, MicroTimestamp | timestamp without time zone |
| ZonedTimestamp, Connect's Timestamp | timestamp |
| Time, MicroTime, Connect's Time | string `HH:MM:SS.ffffff`: Spark 4.2 supports TIME only in part |
| nanoseconds, durations, texts of other names | as the schema's own type says |
| arrays, maps, structs (geometry among them) | arrays, maps, structs of these |
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation.arrow import arrow_array, arrow_type
from headrace.connect.java_numbers import decimal_of
from headrace.connect.schema import DECIMAL, Schema, Type, decimal_scale
from headrace.debezium import temporal
from headrace.debezium.decimals import VARIABLE_SCALE_DECIMAL_NAME, plain_text
from headrace.errors import HeadraceError

TEXT = pa.large_string()
LOCAL = pa.timestamp("us")
INSTANT = pa.timestamp("us", "UTC")
MAX_DIGITS = 38
"""The most digits of Spark's decimals."""

_DATES = (temporal.DATE.name, temporal.CONNECT_DATE.name)
_TIMES = {temporal.TIME.name: 1_000, temporal.CONNECT_TIME.name: 1_000, temporal.MICRO_TIME.name: 1}
"""Schemas of times of day, and their unit in microseconds."""
_MILLIS = (temporal.TIMESTAMP.name, temporal.CONNECT_TIMESTAMP.name)
_INSTANTS = (temporal.ZONED_TIMESTAMP.name, temporal.CONNECT_TIMESTAMP.name)
_LOCALS = (temporal.TIMESTAMP.name, temporal.MICRO_TIMESTAMP.name)
_ISO_INSTANT = re.compile(
    r"([+-]?[0-9]+)-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?Z"
)
_INFINITE = {
    temporal.POSITIVE_INFINITY: temporal.POSITIVE_INFINITY_MICROS,
    temporal.NEGATIVE_INFINITY: temporal.NEGATIVE_INFINITY_MICROS,
}


def decimal_digits(schema: Schema) -> tuple[int, int] | None:
    """Precision and scale of the Spark decimal that holds every value of a Decimal schema; None if
    no Spark decimal does."""
    parameters = dict(schema.parameters)
    scale = decimal_scale(schema)
    precision = int(parameters.get("connect.decimal.precision", MAX_DIGITS))
    fits = 0 <= scale <= precision <= MAX_DIGITS and precision > 0
    return (precision, scale) if fits else None


def typed(schema: Schema) -> pa.DataType:
    """The type of a schema's values; see the module. Texts and bytes are large_string and
    large_binary, lists large_list.

    Raises HeadraceError("connect.value_not_in_arrow") if a value has no schema.
    """
    if schema.name == DECIMAL:
        digits = decimal_digits(schema)
        return TEXT if digits is None else pa.decimal128(*digits)
    if schema.name == VARIABLE_SCALE_DECIMAL_NAME or schema.name in _TIMES:
        return TEXT
    if schema.name in _DATES:
        return pa.date32()
    if schema.name in _INSTANTS:
        return INSTANT
    if schema.name in _LOCALS:
        return LOCAL
    match schema.type:
        case Type.ARRAY if schema.values is not None:
            return pa.large_list(typed(schema.values))
        case Type.MAP if schema.keys is not None and schema.values is not None:
            return pa.map_(typed(schema.keys), typed(schema.values))
        case Type.STRUCT:
            return pa.struct([pa.field(f.name, typed(f.schema)) for f in schema.fields])
    return arrow_type(schema)


def typed_array(schema: Schema, array: pa.Array) -> pa.Array:
    """Convert an array of `headrace.connect.evaluation.arrow.arrow_type(schema)` to
    `typed(schema)`.

    Raises HeadraceError("converters.value_not_representable") for a value that its type cannot
    hold: a decimal with more digits, a text that is not a time.
    """
    if schema.name == DECIMAL and typed(schema) == TEXT:
        return _plain_digits(pc.cast(array, TEXT))
    if typed(schema) == array.type:
        return array
    try:
        return _typed_array(schema, array)
    except (pa.ArrowException, ValueError, OverflowError):
        raise HeadraceError(
            "converters.value_not_representable",
            f"a value of {schema.name or schema.type.value} cannot be represented as "
            f"{typed(schema)}",
            "Leave the column out (column.exclude.list), or write it as text: "
            "decimal.handling.mode=string, time.precision.mode=isostring.",
        ) from None


def _typed_array(schema: Schema, array: pa.Array) -> pa.Array:
    name = schema.name
    if name == DECIMAL:
        return pc.cast(array, typed(schema))
    if name == VARIABLE_SCALE_DECIMAL_NAME:
        return pa.array([_plain(value) for value in array.to_pylist()], TEXT)
    if name in _TIMES:
        return times_of_day(array, _TIMES[name])
    if name in _DATES:
        return pc.cast(array, pa.date32())
    if name == temporal.ZONED_TIMESTAMP.name:
        return instants(array)
    if name in _MILLIS:
        array = pc.cast(array, pa.timestamp("ms"))
        array = pc.cast(array, LOCAL)
        return pc.cast(array, pa.int64()).cast(typed(schema))
    if name in _LOCALS:
        return pc.cast(array, LOCAL)
    absent = pc.is_null(array)
    match schema.type:
        case Type.ARRAY:
            assert schema.values is not None
            inner = typed_array(schema.values, array.values)
            return pa.LargeListArray.from_arrays(array.offsets, inner, mask=absent)
        case Type.MAP:
            assert schema.keys is not None
            assert schema.values is not None
            keys, items = typed_array(schema.keys, array.keys), array.items
            items = typed_array(schema.values, items)
            return pa.MapArray.from_arrays(array.offsets, keys, items, mask=absent)
    members = [typed_array(f.schema, array.field(at)) for at, f in enumerate(schema.fields)]
    return pa.StructArray.from_arrays(members, fields=list(typed(schema)), mask=absent)


def typed_constants(schema: Schema, values: Sequence[object]) -> pa.Array:
    """Connect values of `schema`, one per element, as an array of `typed(schema)`. The placeholder
    of an unavailable value is null if the type cannot represent it."""
    array = arrow_array(schema, values)
    try:
        return typed_array(schema, array)
    except HeadraceError:
        if schema.type is Type.STRING:
            return pa.nulls(len(values), typed(schema))
        raise


def times_of_day(array: pa.Array, unit: int) -> pa.Array:
    """Convert times since midnight (integers in units of `unit` microseconds) to texts
    `HH:MM:SS.ffffff`, up to and including 24:00:00."""
    micros = pc.multiply(pc.cast(array, pa.int64()), unit)
    largest = pc.max(micros).as_py()
    if largest is not None and largest < temporal.MICROS_PER_DAY and pc.min(micros).as_py() >= 0:
        return pc.cast(pc.cast(micros, pa.time64("us")), TEXT)
    return pa.array([_clock(value) for value in micros.to_pylist()], TEXT)


def _clock(micros: int | None) -> str | None:
    if micros is None:
        return None
    seconds, fraction = divmod(abs(micros), 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{'-' if micros < 0 else ''}{hour:02}:{minute:02}:{second:02}.{fraction:06}"


def instants(texts: pa.Array) -> pa.Array:
    """Convert ISO 8601 texts in UTC to timestamps; the infinities become the instants that
    Debezium's other schemas have for them. Raises ValueError for other texts."""
    try:
        return pc.cast(texts, INSTANT)
    except pa.ArrowInvalid:
        micros = [None if text is None else _micros(text) for text in texts.to_pylist()]
        return pa.array(micros, pa.int64()).cast(INSTANT)


def _micros(text: str) -> int:
    if text in _INFINITE:
        return _INFINITE[text]
    match = _ISO_INSTANT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
    fraction = int((match[7] or "").ljust(6, "0"))
    days = temporal.epoch_day(year, month, day)
    seconds = (days * 24 + hour) * 3600 + minute * 60 + second
    return seconds * 1_000_000 + fraction


def _plain_digits(texts: pa.Array) -> pa.Array:
    """Convert texts of decimals to digits without an exponent, which Java's BigDecimal writes for
    small numbers and for negative scales."""
    if not pc.any(pc.match_substring(texts, "E")).as_py():
        return texts
    return pa.array(
        [None if text is None else plain_text(Decimal(text)) for text in texts.to_pylist()], TEXT
    )


def _plain(value: Mapping[str, object] | None) -> str | None:
    """The text of a VariableScaleDecimal."""
    if value is None:
        return None
    unscaled, scale = value["value"], value["scale"]
    assert isinstance(unscaled, bytes)
    assert isinstance(scale, int)
    number: Decimal = decimal_of(int.from_bytes(unscaled, "big", signed=True), scale)
    return plain_text(number)
