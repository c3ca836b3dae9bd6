"""The last change of each key among change events, as input of a MERGE."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, StructField, StructType

from headrace.config.formats import OF_SPARK
from headrace.config.properties.relational import RelationalConfig
from headrace.connectors.registry import parse_configuration
from headrace.debezium.envelope import PLACEHOLDER
from headrace.errors import HeadraceError
from headrace.spark.query.format_options import Configured, read_configuration
from headrace.spark.tables.order import Order, any_of, content
from headrace.spark.tables.placeholders import can_show, shows

DELETED = "__deleted"
"""The column of the result that says whether the last change of a key deleted its row (boolean, not
null)."""
KEPT = "__kept"
"""The column with the names of columns whose values no change contains: the row keeps its own."""

_TRUNCATED = HeadraceError(
    "spark.truncate_in_fold",
    "headrace.fold: a TRUNCATE is among the changes, and it has no key",
    "Leave it out (skipped.operations=t), or empty the target and fold what comes after it.",
)
_KEYLESS = HeadraceError(
    "spark.change_without_key",
    "headrace.fold: a change has no key, so fold cannot identify its row",
    "Name columns of the rows that are never all null: fold(changes, key=...); or leave such "
    "changes out (where).",
)


def fold(
    changes: DataFrame,
    configuration: Configured | None = None,
    *,
    key: str | Sequence[str] = (),
    order: str | Column | Sequence[str | Column] = (),
    unavailable: str | None = None,
) -> DataFrame:
    """See `headrace.fold`."""
    if unavailable is None:
        unavailable = PLACEHOLDER if configuration is None else _placeholder(configuration)
    if changes.isStreaming:
        raise HeadraceError(
            "spark.fold_of_a_stream",
            "fold needs the changes of a batch, and this DataFrame is a stream",
            "Call it in foreachBatch, for the batch that the function is given.",
        )
    missing = [name for name in ("op", "before", "after") if name not in changes.columns]
    if missing:
        raise HeadraceError(
            "spark.no_changes",
            f"fold needs the column {missing[0]}; the columns are {', '.join(changes.columns)}",
            "Make the columns with headrace.table, or with "
            '.select("key", "value.*", "sequence") of a stream with value.converter=row.',
        )
    columns = _Columns(changes, [key] if isinstance(key, str) else list(key), unavailable)
    ordering = Order(changes, order)
    folded = (
        columns.changes()
        .withColumn("place", ordering.place())
        .withColumn("late_place", ordering.late_place(F.col("op").isNull()))
        .withColumn("content", columns.content())
        .select(
            "place",
            "late_place",
            "operation",
            "row",
            "identity",
            "content",
            (F.lit(None) if ordering.partition is None else ordering.partition).alias("partition"),
        )
        .groupBy("identity")
        .agg(*columns.last(), *columns.last_values(), *_partitions(ordering))
    )
    return folded.where(columns.is_ordered(ordering)).select(*columns.shown())


def _partitions(ordering: Order) -> list[Column]:
    """Return whether changes of a key are in several partitions whose offsets order them."""
    if ordering.partition is None:
        return []
    return [(F.min("partition") != F.max("partition")).alias("is_spread")]


def _placeholder(configuration: Configured) -> str:
    """Return the placeholder for values that the log of the source lacks. Raises HeadraceError for
    an invalid configuration."""
    properties, _ = read_configuration(configuration, "headrace.fold").split(OF_SPARK)
    config = parse_configuration(properties)
    if isinstance(config, RelationalConfig):
        return config.unavailable_value_placeholder
    return PLACEHOLDER  # the log of documents has all of their values


class _Columns:
    """The columns of a fold, from the input to the result."""

    def __init__(self, changes: DataFrame, key: list[str], unavailable: str) -> None:
        self._changes, self._placeholder = changes, unavailable
        kind = changes.schema["after"].dataType
        self._is_struct = isinstance(kind, StructType)
        self._row = (
            kind if isinstance(kind, StructType) else StructType([StructField("after", kind)])
        )
        key_type = changes.schema["key"].dataType if "key" in changes.columns else None
        self._held = key_type.names if isinstance(key_type, StructType) else []
        self._key = key or self._held
        if not self._key:
            raise HeadraceError(
                "spark.no_key",
                "the changes have no column key with fields, so fold cannot distinguish rows",
                "Name the key's columns: fold(changes, key=...) or headrace.table(..., key=...).",
            )
        names = self._row.names if self._is_struct else []
        unknown = [name for name in self._key if name not in (*names, *self._held)]
        clashing = [name for name in names if name in (DELETED, KEPT)]
        if unknown or clashing:
            name = (unknown or clashing)[0]
            problem = (
                "is not a column of the rows" if unknown else "is a name that fold itself gives"
            )
            raise HeadraceError(
                "spark.no_such_column",
                f"the column {name} {problem}; the columns are {', '.join(names)}",
                "Name columns of the rows as key." if unknown else "Rename the column.",
            )

    def changes(self) -> DataFrame:
        """Return the changes with their operation (null: a tombstone), row and key."""
        operation = F.col("op")
        row = (
            F.col("after")
            if self._is_struct
            else F.when(F.col("after").isNotNull(), F.struct("after"))
        )
        parts = [self._key_part(name) for name in self._key]
        is_known = F.coalesce(*(part.isNotNull() for part in parts[:1]))
        for part in parts[1:]:
            is_known |= part.isNotNull()
        checked = (
            F.when(operation == "t", _failure(_TRUNCATED))
            .when(operation.isNotNull() & ~is_known, _failure(_KEYLESS))
            .otherwise(operation)
        )
        has_value = operation.isNull() | operation.isin("d", "t") | F.col("after").isNotNull()
        identity = F.struct(*(part.alias(n) for n, part in zip(self._key, parts, strict=True)))
        return (
            self._changes.where(has_value)
            .withColumn("operation", checked)
            .withColumn("row", row)
            .withColumn("identity", identity)
            # A row without a key and an operation is not a change, but for example a heartbeat.
            .where(is_known | F.col("op").isNotNull())
        )

    def _key_part(self, name: str) -> Column:
        """Return a column of the key: of the key itself, or else of the row."""
        places = [F.col("key").getField(name)] if name in self._held else []
        if self._is_struct and name in self._row.names:
            places += [F.col("after").getField(name), F.col("before").getField(name)]
        return F.coalesce(*places)

    def _may_lack(self) -> list[tuple[int, StructField]]:
        """Return the columns that can show that the log does not carry a value."""
        if not self._is_struct:
            return []
        return [
            (at, field)
            for at, field in enumerate(self._row.fields)
            if field.name not in self._key and can_show(field.dataType)
        ]

    def _is_lacking(self, value: Column, kind: DataType) -> Column:
        return shows(value, kind, self._placeholder)

    def content(self) -> Column:
        """Return a number for the content of a change: equal for changes with equal content."""
        is_deleted = F.coalesce(F.col("operation") == "d", F.lit(True))
        fields = [(F.col("row").getField(field.name), field.dataType) for field in self._row.fields]
        return content([(is_deleted, BooleanType()), *fields])

    def last(self) -> list[Column]:
        """Return the last change of a key, and the content number that the last change could have
        instead."""
        said = F.struct("operation", "row", "content")
        return _last(said, F.col("content"), "last", "other")

    def last_values(self) -> list[Column]:
        """Return the last values of the columns that some changes do not contain."""
        columns: list[Column] = []
        for at, field in self._may_lack():
            value = F.col("row").getField(field.name)
            has_value = F.col("row").isNotNull() & ~self._is_lacking(value, field.dataType)
            number = content([(value, field.dataType)])
            said = F.struct(value.alias("value"), number.alias("content"))
            columns += _last(said, number, f"last{at}", f"other{at}", has_value)
        return columns

    def is_ordered(self, ordering: Order) -> Column:
        """Return true if the changes of a key have a last one; otherwise an error."""
        differs = [F.col("last.content") != F.col("other")]
        for at, field in self._may_lack():
            value = F.col("last.row").getField(field.name)
            lacks = F.col("last.row").isNotNull() & self._is_lacking(value, field.dataType)
            differs.append(lacks & (F.col(f"last{at}.content") != F.col(f"other{at}")))
        is_ambiguous = F.coalesce(any_of(differs), F.lit(False))
        failure = _failure(ordering.ambiguous(self._key)).cast("boolean")
        checked = F.when(is_ambiguous, failure)
        if ordering.partition is not None:
            failure = _failure(ordering.spread(self._key)).cast("boolean")
            checked = F.when(F.col("is_spread"), failure).when(is_ambiguous, failure)
        return checked.otherwise(F.lit(True))

    def shown(self) -> list[Column]:
        """Return the columns of the result."""
        row, operation = F.col("last.row"), F.col("last.operation")
        lacking = {field.name: at for at, field in self._may_lack()}
        of_row = self._row.names
        columns = [F.col("identity").getField(n).alias(n) for n in self._key if n not in of_row]
        absent: list[Column] = []
        for field in self._row.fields:
            value = row.getField(field.name)
            if self._is_struct and field.name in self._key:
                value = F.col("identity").getField(field.name)
            elif field.name in lacking:
                at = lacking[field.name]
                lacks = self._is_lacking(value, field.dataType)
                has_last = F.col(f"last{at}").isNotNull()
                absent.append(F.when(lacks & ~has_last, F.lit(field.name)))
                value = F.when(lacks & has_last, F.col(f"last{at}.value")).otherwise(value)
            columns.append(value.alias(field.name))
        deleted = F.coalesce(operation == "d", F.lit(True)).alias(DELETED)
        names = F.array_compact(F.array(*absent)) if absent else F.array().cast("array<string>")
        return [*columns, deleted, names.alias(KEPT)]


def _failure(error: HeadraceError) -> Column:
    """Return a text column that raises the error when it is evaluated."""
    return F.raise_error(F.lit(str(error))).cast("string")


def _last(
    said: Column, number: Column, name: str, other: str, counts: Column | None = None
) -> list[Column]:
    """Return `said` of the last change that counts, and the content number of the last change if
    nulls sort last, and the least number among equal places. The latter differs from the content
    number of the former if the places leave open which change is the last, and that matters."""
    place, late = F.struct("place", number), F.struct("late_place", F.bitwise_not(number))
    if counts is not None:
        place, late = F.when(counts, place), F.when(counts, late)
    return [F.max_by(said, place).alias(name), F.max_by(number, late).alias(other)]
