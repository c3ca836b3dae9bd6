"""Columns that events have and their table did not have when its schema was read: an error, because
their values would be lost silently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StringType, VariantType

from headrace.errors import HeadraceError

_COLUMNS = "{columns}"
"""The placeholder in the error for the unknown columns of a row."""


def column_names(kind: DataType, value: Column, payload: Column) -> Column | None:
    """Return the names of the columns of an event, which is in the column `value` of this type: an
    array of strings, or null; None for a struct, which has exactly its fields.

    `value` is the event as a struct, `payload` null if its JSON has no schema. Rows before and
    after a change have the same columns, so only one of them is read, once per event.
    """
    has_after = value.getField("after").isNotNull()
    if isinstance(kind, VariantType):

        def of_variant(member: str) -> Column:
            return F.map_keys(F.variant_get("value", f"$.{member}", "map<string, variant>"))

        return F.when(has_after, of_variant("after")).otherwise(of_variant("before"))
    if not isinstance(kind, StringType | BinaryType):
        return None

    def of_text(path: str) -> Column:
        return F.json_object_keys(F.get_json_object(F.col("value").cast("string"), path))

    has_schema = payload.isNotNull()
    return (
        F.when(has_schema & has_after, of_text("$.payload.after"))
        .when(has_schema, of_text("$.payload.before"))
        .when(has_after, of_text("$.after"))
        .otherwise(of_text("$.before"))
    )


@dataclass(frozen=True)
class UnknownColumns:
    """Refuses events of a table that have other columns than `known`."""

    table: str
    known: Sequence[str]
    names: Column

    def refused(self, image: Column, kind: DataType) -> Column:
        """Return `image`, a row of the event and of the type `kind`; an error if the event has more
        columns."""
        known = F.array(*map(F.lit, self.known)).cast("array<string>")
        unknown = F.array_except(self.names, known)
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
