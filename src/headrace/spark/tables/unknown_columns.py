"""Columns that events have and their table did not have when it was asked for: an error, because
their values would be lost without a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StringType, VariantType

from headrace.errors import HeadraceError

_COLUMNS = "{columns}"
"""Stands in the error for the columns that each row has too many."""
Names = Callable[[str], Column]
"""The names in `before` or `after` of an event: an array of strings, or null."""


def column_names(kind: DataType) -> Names | None:
    """How the names in events are found whose column `value` has this type; None: a struct, whose
    fields are all that there is."""
    if isinstance(kind, VariantType):
        return lambda member: F.map_keys(
            F.variant_get("value", f"$.{member}", "map<string, variant>")
        )
    if not isinstance(kind, StringType | BinaryType):
        return None
    text = F.col("value").cast("string")

    def names(member: str) -> Column:
        with_schema = F.get_json_object(text, f"$.payload.{member}")
        return F.json_object_keys(F.coalesce(with_schema, F.get_json_object(text, f"$.{member}")))

    return names


@dataclass(frozen=True)
class UnknownColumns:
    """Refuses events of a table that have other columns than `known`."""

    table: str
    known: Sequence[str]
    names: Names

    def refused(self, member: str, image: Column, kind: DataType) -> Column:
        """`image`, which is `member` of the event and of the type `kind`; an error where the event
        has more columns."""
        known = F.array(*map(F.lit, self.known)).cast("array<string>")
        unknown = F.array_except(self.names(member), known)
        error = HeadraceError(
            "spark.unknown_columns",
            f"headrace.table: events of {self.table} have columns that the table did not have when "
            f"the query started: {_COLUMNS}",
            "Start the query again: it reads the table's columns then. "
            "headrace.table.unknown.columns=drop leaves such columns out.",
        )
        before, _, after = str(error).partition(_COLUMNS)
        message = F.concat(F.lit(before), F.array_join(unknown, ", "), F.lit(after))
        return F.when(F.size(unknown) > 0, F.raise_error(message).cast(kind)).otherwise(image)
