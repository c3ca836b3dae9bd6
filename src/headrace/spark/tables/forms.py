"""Values in Debezium's JSON as columns of Spark's types, by expressions of Spark.

A target is a Spark type; the comment of a struct's field names the schema that its values have in
JSON (`io.debezium.time.Timestamp`), if it differs from Debezium's default:

| type | schema of the values without a comment |
|---|---|
| decimal | Connect's Decimal: base64 of the unscaled number at the type's scale |
| date | Date: days since 1970-01-01; or an ISO 8601 text |
| timestamp_ntz | MicroTimestamp: microseconds since 1970-01-01; or an ISO 8601 text |
| timestamp | ZonedTimestamp, an ISO 8601 text; or Connect's Timestamp, milliseconds |
| binary | base64 |
| variant | JSON, as text or as it is |
| others | the same |

A value that does not have its type is an error of the query, never null.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from headrace.connect.schema import DECIMAL
from headrace.converters.typed.types import MAX_DIGITS
from headrace.debezium import temporal
from headrace.debezium.decimals import VARIABLE_SCALE_DECIMAL_NAME
from headrace.spark.tables.misfits import misfit

PLAIN = "plain"
"""The comment for numbers and texts with their plain meaning, such as a decimal as text or
number."""
_NUMBER = "^-?[0-9]+$"
_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
_MILLIS = "org.apache.kafka.connect.data.Timestamp"
_MICROSECONDS: dict[str | None, int] = {temporal.TIMESTAMP.name: 1000, _MILLIS: 1000}
"""Microseconds per unit of timestamps, by schema."""
_TIMES: dict[str | None, int] = {
    temporal.TIME.name: 1_000,
    temporal.CONNECT_TIME.name: 1_000,
    temporal.MICRO_TIME.name: 1,
}
"""Microseconds per unit of times of day, by schema."""
_SHORT_DIGITS = 18
"""The most digits that always fit an integer of 8 bytes."""
_PARTS = StructType().add("scale", IntegerType()).add("value", StringType())


def comment_of(field: StructField) -> str | None:
    """Return the name of a schema in a field's comment."""
    return (field.metadata or {}).get("comment")


def wire_type(target: DataType, name: str | None = None) -> DataType:
    """Return the type by which `from_json` reads values of a target; `name` is that of their
    schema."""
    if isinstance(target, StructType):
        fields = [StructField(f.name, wire_type(f.dataType, comment_of(f))) for f in target.fields]
        return StructType(fields)
    if isinstance(target, ArrayType):
        return ArrayType(wire_type(target.elementType, name))
    if isinstance(target, MapType):
        return MapType(StringType(), wire_type(target.valueType, name))
    if name == VARIABLE_SCALE_DECIMAL_NAME:
        return _PARTS
    if isinstance(target, _READ_AS_TEXT) or name in _TIMES:
        return StringType()
    return target


_READ_AS_TEXT = (
    BinaryType,
    DateType,
    DecimalType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)
"""The types whose values `from_json` reads as texts, which `decoded` converts."""


def decoded(value: Column, target: DataType, path: str, name: str | None = None) -> Column:
    """Return a column of `wire_type(target, name)` as one of `target`; `path` names it in
    errors."""
    if isinstance(target, StructType):
        members = [
            decoded(value.getField(f.name), f.dataType, f"{path}.{f.name}", comment_of(f)).alias(
                f.name
            )
            for f in target.fields
        ]
        return F.when(value.isNotNull(), F.struct(*members))
    if isinstance(target, ArrayType):
        return F.transform(value, _each(target.elementType, path, name))
    if isinstance(target, MapType):
        inner = _each(target.valueType, path, name)
        return F.transform_values(value, lambda _, item: inner(item))
    if name == VARIABLE_SCALE_DECIMAL_NAME and isinstance(target, StringType):
        return checked(value, _variable_text(value), target, path)
    if name in _TIMES and isinstance(target, StringType):
        return checked(value, _clock(value, _TIMES[name]), target, path)
    if isinstance(target, VariantType):
        return checked(value, F.try_parse_json(value), target, path)
    if isinstance(target, DecimalType):
        result = _decimal(value, target, name)
    elif isinstance(target, DateType):
        days = F.date_add(F.lit("1970-01-01").cast("date"), value.try_cast("int"))
        text = F.regexp_replace(value, "Z$", "").try_cast("date")
        result = F.when(value.rlike(_NUMBER), days).otherwise(text)
    elif isinstance(target, TimestampNTZType):
        text = F.regexp_replace(value, "Z$", "").try_cast("timestamp_ntz")
        moment = _after_epoch(_micros(value, name))
        result = F.when(value.rlike(_NUMBER), moment).otherwise(text)
    elif isinstance(target, TimestampType):
        moment = F.timestamp_micros(_micros(value, name or _MILLIS))
        result = F.when(value.rlike(_NUMBER), moment).otherwise(value.try_cast("timestamp"))
    elif isinstance(target, BinaryType):
        result = F.try_to_binary(value, F.lit("base64"))
    else:
        return value
    return checked(value, result, target, path)


def _each(target: DataType, path: str, name: str | None) -> Callable[[Column], Column]:
    return lambda element: decoded(element, target, path, name)


def checked(value: Column, converted: Column, target: DataType, path: str) -> Column:
    """Return `converted`, or an error where it is null and `value` is not."""
    error = F.raise_error(F.lit(str(misfit(path, target.simpleString())))).cast(target)
    return F.coalesce(converted, F.when(value.isNotNull(), error))


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """Return `body` of a value that it uses several times, so that the value is computed once: the
    expression would otherwise contain it as many times, and grow with each step."""
    return F.element_at(F.transform(F.array(value), body), F.lit(1))


def _decimal(value: Column, target: DecimalType, name: str | None) -> Column:
    """Return a number as a decimal; null if the type does not hold it exactly."""
    if name == VARIABLE_SCALE_DECIMAL_NAME:
        return let(_variable_text(value), lambda text: _exact(text, target))
    if name is not None and name != DECIMAL:
        return let(value, lambda text: _exact(text, target))
    digits = _bytes(value)
    scale = target.scale
    if target.precision > _SHORT_DIGITS:
        text = let(let(digits, _unscaled), lambda number: _with_scale(number, F.lit(scale)))
        return text.try_cast(target)
    filler = F.when(digits >= "8", F.lpad(digits, 16, "F")).otherwise(F.lpad(digits, 16, "0"))
    number = F.when(F.length(digits) <= 16, F.conv(filler, 16, -10))
    whole = number.try_cast(DecimalType(target.precision, 0))
    return (whole * F.lit(Decimal(1).scaleb(-scale))).try_cast(target) if scale else whole


def _bytes(value: Column) -> Column:
    """Return the hexadecimal digits of a Base64 text's bytes; null if it is empty or not Base64."""
    digits = F.hex(F.try_to_binary(value, F.lit("base64")))
    return F.when(digits != "", digits)


def _variable_text(value: Column) -> Column:
    """Return the digits of a VariableScaleDecimal as text; null beyond 38 of them."""
    number = let(_bytes(value.getField("value")), _unscaled)
    return let(number, lambda digits: _with_scale(digits, value.getField("scale")))


def _exact(text: Column, target: DecimalType) -> Column:
    """Return a number's text as a decimal; null if the type would round it."""
    fraction = F.regexp_extract(text, "\\.([0-9]*?)0*$", 1)
    wide = DecimalType(MAX_DIGITS, MAX_DIGITS - target.precision + target.scale)
    is_same = text.try_cast(target) == text.try_cast(wide)
    fits = F.when(text.rlike("[eE]"), is_same).otherwise(F.length(fraction) <= target.scale)
    return F.when(fits, text.try_cast(target))


def _unscaled(digits: Column) -> Column:
    """Return the text of an integer, given as hexadecimal digits of its two's complement; null
    beyond 16 bytes."""
    negative = digits >= "8"
    short = F.when(negative, F.lpad(digits, 16, "F")).otherwise(F.lpad(digits, 16, "0"))
    whole = F.when(negative, F.lpad(digits, 32, "F")).otherwise(F.lpad(digits, 32, "0"))
    high = F.conv(F.substring(whole, 1, 16), 16, -10).cast("decimal(19, 0)")
    low = F.conv(F.substring(whole, 17, 16), 16, 10).cast("decimal(20, 0)")
    # Each part is nearer to zero than the whole, so it has no more digits.
    base = F.lit(Decimal(1 << 64))
    carry = F.when(negative, F.lit(Decimal(1))).otherwise(F.lit(Decimal(0)))
    of_high = ((high + carry) * base).cast("decimal(38, 0)")
    of_low = (low - carry * base).cast("decimal(38, 0)")
    long = (of_high + of_low).cast("decimal(38, 0)").cast("string")
    by_length = F.when(F.length(digits) <= 16, F.conv(short, 16, -10))
    return by_length.when(F.length(digits) <= 32, long)


def _with_scale(digits: Column, scale: Column) -> Column:
    """Return the text of an integer with a point before the last `scale` digits."""
    sign = F.when(digits.startswith("-"), F.lit("-")).otherwise(F.lit(""))
    plain = F.regexp_replace(digits, "^-", "")

    def with_point(padded: Column) -> Column:
        whole = F.left(padded, F.length(padded) - scale)
        return F.concat(sign, whole, F.lit("."), F.right(padded, scale))

    zeros = F.repeat(F.lit("0"), F.greatest(scale + 1 - F.length(plain), F.lit(0)))
    return F.when(scale == 0, digits).otherwise(let(F.concat(zeros, plain), with_point))


def _micros(value: Column, name: str | None) -> Column:
    """Return the microseconds since 1970-01-01 of a number in the unit of a schema; null if it is
    not a whole number of microseconds."""
    number = value.try_cast("bigint")
    if name == temporal.NANO_TIMESTAMP.name:
        return F.call_function("div", F.when(number % 1000 == 0, number), F.lit(1000))
    return F.try_multiply(number, F.lit(_MICROSECONDS.get(name, 1)))


def _after_epoch(micros: Column) -> Column:
    return F.timestamp_add("MICROSECOND", micros, F.expr(_EPOCH))


def _clock(value: Column, unit: int) -> Column:
    """Return a time of day as text, `HH:MM:SS.ffffff`; 24:00:00 is the end of the day; null if the
    text is not a number."""
    micros = F.try_multiply(value.try_cast("bigint"), F.lit(unit))
    of_day = F.date_format(_after_epoch(micros), "HH:mm:ss.SSSSSS")
    return F.when(micros == temporal.MICROS_PER_DAY, F.lit("24:00:00.000000")).otherwise(of_day)
