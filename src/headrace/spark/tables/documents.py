"""Documents in Extended JSON as columns of Spark's types, by expressions of Spark over VARIANT.

What Extended JSON wraps (`{"$oid": …}`, `{"$date": …}`, `{"$numberLong": …}`, `{"$numberDecimal":
…}`, `{"$binary": …}`) is taken out, in version 1 and 2. A value that is none of its type is an
error of the query, never null; one that is missing is null.
"""

from __future__ import annotations

import json

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from headrace.spark.tables.forms import bound

_TEXTS = ("$oid", "$symbol", "$uuid", "$numberDecimal", "$numberLong", "$numberDouble")
_NUMBERS = ("$numberLong", "$numberInt", "$numberDouble", "$numberDecimal")


def document(text: Column, target: DataType) -> Column:
    """A document's text as a target: a struct of its fields, or VARIANT as the text is."""
    return of_variant(F.parse_json(text), target)


def of_variant(value: Column, target: DataType) -> Column:
    """A VARIANT that holds a value of Extended JSON as a target."""
    if isinstance(target, VariantType):
        return value
    present = F.when(~F.is_variant_null(value), value)
    return bound(present, lambda each: _present(each, target))


def _present(value: Column, target: DataType) -> Column:
    if isinstance(target, StructType):
        members = [
            of_variant(_inside(value, f.name), f.dataType).alias(f.name) for f in target.fields
        ]
        is_object = F.try_variant_get(value, "$", "map<string, variant>")
        return _checked(value, F.when(is_object.isNotNull(), F.struct(*members)), target)
    if isinstance(target, ArrayType):
        elements = F.try_variant_get(value, "$", "array<variant>")
        made = F.transform(elements, lambda each: of_variant(each, target.elementType))
        return _checked(value, made, target)
    if isinstance(target, MapType):
        entries = F.try_variant_get(value, "$", "map<string, variant>")
        made = F.transform_values(entries, lambda _, each: of_variant(each, target.valueType))
        return _checked(value, made, target)
    return _checked(value, _scalar(value, target), target)


def _inside(value: Column, name: str) -> Column:
    return F.try_variant_get(value, f"$[{json.dumps(name, ensure_ascii=False)}]", "variant")


def _got(value: Column, kind: str, *names: str) -> Column:
    """What lies under one of the names, as a type."""
    paths = [f"$[{json.dumps(name)}]" for name in names]
    return F.coalesce(*(F.try_variant_get(value, path, kind) for path in paths))


def _scalar(value: Column, target: DataType) -> Column:
    kind = target.simpleString()
    plain = F.try_variant_get(value, "$", kind)
    if isinstance(target, StringType):
        is_object = F.try_variant_get(value, "$", "map<string, variant>").isNotNull()
        return F.coalesce(
            F.when(is_object, F.coalesce(_got(value, "string", *_TEXTS), F.to_json(value))),
            plain,
            F.to_json(value),
        )
    if isinstance(target, TimestampType | TimestampNTZType | DateType):
        instant = F.coalesce(
            F.timestamp_millis(_got(value, "bigint", "$date")),
            F.timestamp_millis(F.try_variant_get(value, '$["$date"]["$numberLong"]', "bigint")),
            F.try_variant_get(value, '$["$date"]', "timestamp"),
            F.timestamp_seconds(F.try_variant_get(value, '$["$timestamp"]["t"]', "bigint")),
        )
        if isinstance(target, TimestampType):
            return F.coalesce(instant, plain)
        utc = F.to_utc_timestamp(instant, F.current_timezone())
        return F.coalesce(utc.cast(target), plain)
    if isinstance(target, BinaryType):
        text = F.coalesce(
            F.try_variant_get(value, '$["$binary"]["base64"]', "string"),
            _got(value, "string", "$binary"),
        )
        return F.try_to_binary(text, F.lit("base64"))
    numbers = _got(value, "string", *_NUMBERS)
    if isinstance(target, DecimalType):
        return F.coalesce(numbers.try_cast(target), plain)
    return F.coalesce(numbers.try_cast(target), plain)


def _checked(value: Column, made: Column, target: DataType) -> Column:
    """`made`, or an error where it is null and `value` is not."""
    message = F.concat(F.lit(f"headrace.table: no {target.simpleString()}: "), F.to_json(value))
    return F.coalesce(made, F.when(value.isNotNull(), F.raise_error(message).cast(target)))
