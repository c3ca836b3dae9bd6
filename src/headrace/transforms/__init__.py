"""Single message transforms: Debezium's and Kafka Connect's, on Records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["apply", "apply_json"]


def apply(df: DataFrame, properties: Mapping[str, object]) -> DataFrame:
    """Apply the transforms of `properties` to the records of a DataFrame, batch or streaming.

    `df` has `key` and `value` (string or binary) as read from Kafka, and may have `topic`,
    `partition`, `timestamp` and `headers`. `properties` are those of a connector: transforms and
    predicates, `errors.*`, and the converters: records are read with `key.converter`,
    `value.converter` and `header.converter` and their options, or with
    `headrace.input.key.converter` and so on if these differ, and are written with the former. The
    result has `topic`, `partition`, `key`, `value`, `headers` and `timestamp`, followed by the
    other columns of `df`, unchanged. Records that the chain drops are left out; the order of
    records in a partition of `df` is kept.

    Raises HeadraceError immediately, naming all problems, when the properties are wrong, when `df`
    lacks a column or has one of another type, and for Spark Connect.
    """
    # Spark is above transforms: the module is loaded by name, and only here.
    frames: Any = import_module("headrace.spark.frames.applying")
    applied: DataFrame = frames.apply(df, properties)
    return applied


def apply_json(
    properties: Mapping[str, str], records: Sequence[Mapping[str, object]]
) -> list[dict[str, object] | None]:
    """Apply the transforms of `properties` to records in Kafka Connect's JSON form.

    `properties` are those of a connector; only those of transforms and predicates have an effect. A
    record has `topic`, `partition`, `timestamp`, `key`, `value` and `headers`; key and value are
    `{"schema": …, "payload": …}`, or null if there is neither, and a header is `{"name": …,
    "schema": …, "payload": …}`. The result has one entry per record: the record after the chain,
    None if it was dropped, or `{"error": …}` with its error.

    Raises HeadraceError when the properties are wrong, naming all problems.
    """
    from headrace.transforms.json_form import apply_json as applied

    return applied(properties, records)
