"""The order of the changes of a key, and whether it determines the last of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructType,
    VariantType,
)

from headrace.connectors.registry import definitions
from headrace.errors import HeadraceError

_SEQUENCE, _OFFSET = "sequence", "offset"
"""Columns that order the changes of a key, by preference."""
_PARTITION = ("topic", "partition")
"""Columns that identify the partition of an offset."""
_SOURCE = "source."
_NUMBER = "decimal(38, 0)"
_TIMES = ("ts_ms", "ts_us", "ts_ns")


class Order:
    """The order of a DataFrame's changes: by its own columns, or by the given ones.

    Places compare like the columns, one after the other. Numbers that are texts in `source`, as in
    a map, compare as numbers. Raises HeadraceError: `spark.no_order`, `spark.no_such_column`.
    """

    def __init__(self, changes: DataFrame, ordering: str | Column | Sequence[str | Column]) -> None:
        columns = [ordering] if isinstance(ordering, str | Column) else list(ordering)
        if not columns:
            columns = [_own(changes)]
        self._names = ", ".join(map(_shown, columns))
        self._columns = [F.col(column) if isinstance(column, str) else column for column in columns]
        kinds = _kinds(changes, self._columns, self._names)
        self._are_numbers = [
            isinstance(kind, StringType) and isinstance(column, str) and _is_number(column)
            for column, kind in zip(columns, kinds, strict=True)
        ]
        owners = [F.col(name) for name in _PARTITION if name in changes.columns]
        is_offset = self._names == _OFFSET
        self.partition = F.struct(*owners) if is_offset and owners else None
        """The partition of the offsets that order the changes; None: the order holds for all
        partitions."""

    def place(self) -> Column:
        """Return the place of a change: a struct, in which nulls sort first."""
        parts: list[Column] = []
        for column, is_number in zip(self._columns, self._are_numbers, strict=True):
            parts += [column.try_cast(_NUMBER), column] if is_number else [column]
        return _struct(parts)

    def late_place(self, is_tombstone: Column) -> Column:
        """Return the place with nulls last: the last change by it is another one if nulls leave
        open which is the last. A tombstone without a place belongs to the delete before it."""
        parts: list[Column] = []
        for column, is_number in zip(self._columns, self._are_numbers, strict=True):
            parts.append(column.isNull() & ~is_tombstone)
            parts += [column.try_cast(_NUMBER), column] if is_number else [column]
        return _struct(parts)

    def ambiguous(self, key: Sequence[str]) -> HeadraceError:
        """Return the error of a key, by its columns, whose changes have no last one."""
        return HeadraceError(
            "spark.ambiguous_order",
            f"headrace.fold: changes of one key ({', '.join(key)}) have the same place in the "
            f"order ({self._names}), or none, so nothing says which is the last",
            f"Name columns that are never null and distinguish them: {_fields_of_sources()}",
        )

    def spread(self, key: Sequence[str]) -> HeadraceError:
        """The error of a key, by its columns, with changes in several partitions of Kafka."""
        return HeadraceError(
            "spark.ambiguous_order",
            f"headrace.fold: changes of one key ({', '.join(key)}) are in several partitions, "
            "and offsets order those of one partition only, so nothing says which is the last",
            f"Name columns that order all of them: {_fields_of_sources()}",
        )


def content(columns: Sequence[tuple[Column, DataType]]) -> Column:
    """Return a number that is equal for equal values (bigint, never null)."""
    return F.xxhash64(*(_hashable(column, kind) for column, kind in columns))


def _hashable(column: Column, kind: DataType) -> Column:
    return F.to_json(F.struct(column.alias("v"))) if _has_no_hash(kind) else column


def _has_no_hash(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_has_no_hash(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_no_hash(kind.elementType)
    return isinstance(kind, MapType | VariantType)


def any_of(conditions: Sequence[Column]) -> Column:
    """Return whether one of the conditions, at least one, holds."""
    return reduce(lambda left, right: left | right, conditions)


def _own(changes: DataFrame) -> str:
    for name in (_SEQUENCE, _OFFSET):
        if name in changes.columns:
            return name
    raise HeadraceError(
        "spark.no_order",
        f"nothing orders the changes: there is no column {_SEQUENCE} or {_OFFSET}",
        f"Name the columns that do: {_fields_of_sources()}",
    )


def _fields_of_sources() -> str:
    """Return the names of the order's fields for a message, by connector."""
    fields = [
        f"{definition.name}: {', '.join(_SOURCE + field for field in definition.change_order)}"
        for definition in definitions()
        if definition.change_order
    ]
    return (
        'fold(changes, order=["source.ts_us", …]). Of the source these order the changes of a '
        f"key, by connector: {'; '.join(fields)}. Rows out of their envelope have them with "
        "add.fields=op,source.NAME as __source_NAME."
    )


def _is_number(name: str) -> bool:
    field = name.removeprefix(_SOURCE)
    if field == name:
        return False
    return field in _TIMES or any(field in definition.change_order for definition in definitions())


def _kinds(changes: DataFrame, columns: Sequence[Column], names: str) -> list[DataType]:
    from pyspark.errors import AnalysisException

    try:
        schema = changes.select(
            *(column.alias(f"p{at}") for at, column in enumerate(columns))
        ).schema
    except AnalysisException:
        raise HeadraceError(
            "spark.no_such_column",
            f"the order {names} is not of columns of the changes, which are "
            f"{', '.join(changes.columns)}",
            "Name columns of the changes, or fields of them, as order.",
        ) from None
    return [field.dataType for field in schema.fields]


def _struct(parts: Sequence[Column]) -> Column:
    return F.struct(*(part.alias(f"p{at}") for at, part in enumerate(parts)))


def _shown(column: str | Column) -> str:
    if isinstance(column, str):
        return column
    return str(column).removeprefix("Column<'").removesuffix("'>")
