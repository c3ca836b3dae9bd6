"""`headrace.transforms.apply`: checks in the driver, and the plan."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import types

from headrace.config.finding import error_of
from headrace.config.formats import Properties, read_mapping
from headrace.config.properties.frames import FrameSettings, examine_frame
from headrace.converters.configured import converters_of
from headrace.converters.reading.configured import record_reader
from headrace.errors import HeadraceError
from headrace.spark.kernels.beforehand import compile_if_local
from headrace.spark.kernels.needed import frame_kernels
from headrace.spark.versions.columns import map_in_arrow
from headrace.spark.versions.types import arrow_schema
from headrace.transforms.reading import examine_chain

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)

_HEADERS = types.ArrayType(
    types.StructType(
        [
            types.StructField("key", types.StringType()),
            types.StructField("value", types.BinaryType()),
        ]
    )
)
_OPTIONAL: Mapping[str, tuple[types.DataType, ...]] = {
    "topic": (types.StringType(),),
    "partition": (types.IntegerType(),),
    "timestamp": (types.TimestampType(), types.TimestampNTZType(), types.LongType()),
}
"""Optional columns of records, and their types."""
_TEXTS = (types.StringType(), types.BinaryType())


def apply(df: DataFrame, properties: Mapping[str, object]) -> DataFrame:
    """See `headrace.transforms.apply`."""
    parsed = read_mapping(properties)
    settings = _checked(parsed)
    _check_columns(df)
    schema = _output_schema(df, settings)
    zone = df.sparkSession.conf.get("spark.sql.session.timeZone")
    task = partial(_run, dict(parsed), arrow_schema(schema, zone))
    if hasattr(df, "_jdf"):  # tasks of Spark Connect run on the server's machines
        compile_if_local(df.sparkSession, frame_kernels(settings.output))
    return map_in_arrow(df, task, schema)


def _checked(properties: Properties) -> FrameSettings:
    """Return the settings of the properties. Raises HeadraceError that names all problems."""
    settings, problems = examine_frame(properties)
    examined = examine_chain(settings.output)
    problems = [*properties.problems, *problems, *examined.problems]
    if problems:
        raise error_of(problems)
    for warning in examined.warnings:
        log.warning("%s. %s", warning.message, warning.remedy)
    # Creating them detects further problems: stores that cannot be read, options of CloudEvents.
    record_reader(settings.input, dict(settings.prefixes))
    converters_of(settings.output)
    return settings


def _check_columns(df: DataFrame) -> None:
    fields = {field.name: field.dataType for field in df.schema.fields}
    problems = [
        f"{name} is a {fields[name].simpleString()}" if name in fields else f"{name} is missing"
        for name in ("key", "value")
        if fields.get(name) not in _TEXTS
    ]
    problems += [
        f"{name} is a {fields[name].simpleString()}"
        for name, kinds in _OPTIONAL.items()
        if name in fields and fields[name] not in kinds
    ]
    if "headers" in fields and not _are_headers(fields["headers"]):
        problems.append(f"headers is a {fields['headers'].simpleString()}")
    if problems:
        raise HeadraceError(
            "frames.columns",
            "the DataFrame does not have the columns of Kafka's records: " + "; ".join(problems),
            "Give it the columns key and value (string or binary), and optionally topic (string), "
            "partition (int), timestamp, and headers (array<struct<key:string,value:binary>>).",
        )


def _are_headers(kind: types.DataType) -> bool:
    return kind.simpleString() == _HEADERS.simpleString()


def _output_schema(df: DataFrame, settings: FrameSettings) -> types.StructType:
    """Return the columns of records, followed by the other columns of `df`."""
    fields = {field.name: field for field in df.schema.fields}

    def of_role(role: str) -> types.DataType:
        is_text = fields[role].dataType == types.StringType() and settings.output.is_text(role)
        return types.StringType() if is_text else types.BinaryType()

    timestamp = fields["timestamp"].dataType if "timestamp" in fields else types.TimestampType()
    if timestamp == types.LongType():
        timestamp = types.TimestampType()
    of_records = [
        types.StructField("topic", types.StringType(), nullable=False),
        types.StructField("partition", types.IntegerType()),
        types.StructField("key", of_role("key")),
        types.StructField("value", of_role("value")),
        types.StructField("headers", _HEADERS),
        types.StructField("timestamp", timestamp),
    ]
    names = {field.name for field in of_records}
    return types.StructType([*of_records, *(f for f in df.schema.fields if f.name not in names)])


def _run(
    properties: Mapping[str, str], schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    # Kernels are loaded in tasks, not where the query is built.
    from headrace.spark.frames.task import run_frame

    return run_frame(properties, schema, batches)
