"""Single message transforms: Debezium's and Kafka Connect's, on Records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["apply", "apply_json"]


def apply(df: DataFrame, properties: Mapping[str, object]) -> DataFrame:
    """The records of a DataFrame, batch or streaming, through the transforms of `properties`.

    `df` has `key` and `value` (string or binary) as read from Kafka, and may have `topic`,
    `partition`, `timestamp` and `headers`. `properties` are those of a connector: transforms and
    predicates, `errors.*`, and the converters: records are read as `key.converter`,
    `value.converter` and `header.converter` with their options say, or as
    `headrace.input.key.converter` and so on say where that differs, and written as the former say.
    The answer has `topic`, `partition`, `key`, `value`, `headers` and `timestamp`, and after
    these the other columns of `df` as they are. Records that the chain drops are left out; the
    order of records in a partition of `df` stays.

    Raises HeadraceError at once when the properties are wrong, naming all that is wrong with them,
    when `df` lacks a column or has one of another type, and for Spark Connect.
    """
    # Spark is above transforms: the module is loaded by name, and only here.
    frames: Any = import_module("headrace.spark.frames.applying")
    applied: DataFrame = frames.apply(df, properties)
    return applied


def apply_json(
    properties: Mapping[str, str], records: Sequence[Mapping[str, object]]
) -> list[dict[str, object] | None]:
    """Records in Kafka Connect's JSON form through the transforms of `properties`, and back.

    `properties` are those of a connector; only what belongs to transforms and predicates counts. A
    record has `topic`, `partition`, `timestamp`, `key`, `value` and `headers`; key and value are
    `{"schema": …, "payload": …}`, or null when there is neither, and a header is `{"name": …,
    "schema": …, "payload": …}`. The answer has one entry per record: the record as it is after the
    chain, None when it was dropped, or `{"error": …}` with what was wrong with it.

    Raises HeadraceError when the properties are wrong, naming all that is wrong with them.
    """
    from headrace.transforms.json_form import apply_json as applied

    return applied(properties, records)
