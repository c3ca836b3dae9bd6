"""Errors of values that their columns' types do not hold: they name the column, and not the value,
which may be confidential."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.errors import HeadraceError

CORRUPT = "__corrupt"
"""The field, besides those of a struct parsed from JSON, with the text if not all of it fits."""
_NOT_JSON = HeadraceError(
    "spark.events_not_understood",
    "headrace.table: a key or value is not a JSON object",
    "Pass events as the converter json or Debezium wrote them, and leave others out (where).",
)
_UNNAMED = HeadraceError(
    "spark.value_does_not_fit",
    "headrace.table: a value in an array or map does not fit the type of its column",
    "Declare a type that holds all values of the column (STRING holds any).",
)


def misfit(path: str, kind: str) -> HeadraceError:
    """Return the error of a column whose type does not hold a value."""
    return HeadraceError(
        "spark.value_does_not_fit",
        f"headrace.table: a value of the column {_lost_value(path, kind)}",
        "Declare a type that holds all values of the column (STRING holds any), or say in a "
        "COMMENT which schema they have; the properties of the source as third argument know both.",
    )


def _lost_value(path: str, kind: str) -> str:
    return f"{path} does not fit its type {kind}"


def refused(parsed: Column, kind: StructType, text: Column, prefix: str) -> Column:
    """Return an error of type `kind` that names the column of a text which does not fit: `parsed`
    is the struct of `kind` parsed from it. `prefix` is the path of the struct."""
    first = F.get(F.flatten(F.array(*_all_lost(parsed, kind, text, prefix))), F.lit(0))
    before, _, after = str(misfit("C", "T")).partition(_lost_value("C", "T"))
    unnamed = F.when(F.json_object_keys(text).isNotNull(), F.lit(str(_UNNAMED)))
    message = F.coalesce(
        F.concat(F.lit(before), first, F.lit(after)), unnamed, F.lit(str(_NOT_JSON))
    )
    return F.raise_error(message).cast(kind)


def _all_lost(parsed: Column, kind: StructType, text: Column, prefix: str) -> list[Column]:
    """Return `_lost` of a struct and of those in it, inner ones first."""
    inner = [
        lost
        for field in kind.fields
        if isinstance(field.dataType, StructType)
        for lost in _all_lost(
            parsed.getField(field.name),
            field.dataType,
            F.get_json_object(text, f"$['{field.name}']"),
            f"{prefix}{field.name}.",
        )
    ]
    return [*inner, _lost(parsed, kind, text, prefix)]


def _lost(parsed: Column, kind: StructType, text: Column, prefix: str) -> Column:
    """Return errors for the fields of a struct that are null, and not null in its text."""
    texts = F.from_json(text, "map<string, string>")
    names = F.map_keys(F.map_filter(texts, lambda _, value: value.isNotNull()))
    lost = [
        F.when(
            parsed.getField(field.name).isNull() & F.array_contains(names, field.name),
            F.lit(_lost_value(f"{prefix}{field.name}", field.dataType.simpleString())),
        )
        for field in kind.fields
    ]
    return F.coalesce(F.array_compact(F.array(*lost)), F.array().cast("array<string>"))
