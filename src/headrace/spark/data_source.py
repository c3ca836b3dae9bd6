"""The `headrace` data source: translates Spark's calls, and keeps no data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Never

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.registry import parse_options
from headrace.errors import HeadraceError, one_sentence
from headrace.spark.query.source_options import SITUATIONS, of_connector
from headrace.spark.slice_partition import SlicePartition
from headrace.spark.starting.turns import first_turn
from headrace.spark.versions.contract import StreamReader, slices_of

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.connect.slices import Slice
    from headrace.offsets.offset import OffsetObject
    from headrace.spark.kernels.needed import Kernels
    from headrace.spark.source_process import SourceSession


def columns(config: ConnectorConfig) -> str | StructType:
    """Return the columns of a stream: its converters make keys and values texts, bytes, VARIANT, or
    structs. Queries the database if the converter is `row`. Raises HeadraceError."""
    if "struct" in (config.column_type("key"), config.column_type("value")):
        from headrace.spark.tables.source_schema import stream_columns

        return stream_columns(config)
    key, value = config.column_type("key"), config.column_type("value")
    return (
        f"topic string not null, partition int, key {key}, value {value}, "
        "headers array<struct<key: string, value: binary>>, sequence string not null"
    )


class HeadraceDataSource(DataSource):
    """`spark.readStream.format("headrace").options(**headrace.options({...})).load()`.

    The columns are the same for every connector and table; keys and values are texts, bytes,
    VARIANT or structs, depending on the converters; see README. Raises HeadraceError for invalid
    options, before anything is opened.
    """

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> str | StructType:
        with one_sentence():
            if SITUATIONS in self.options:
                from headrace.spark.query.situations import COLUMNS

                return COLUMNS
            if not self.options:
                raise HeadraceError(
                    "spark.no_options",
                    f'format("{self.name()}") was given no options',
                    "Pass a configuration: .options(**headrace.options({...})).",
                )
            return columns(self._config())

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
        """Refuse a batch read: a log has no table to read. It is only supported for states of
        sources (headrace.spark.query.situations)."""
        with one_sentence():
            if SITUATIONS in self.options:
                from headrace.spark.query.situations import SituationsReader

                return SituationsReader()
            raise HeadraceError(
                "spark.not_a_batch_source",
                f'format("{self.name()}") is a stream, and spark.read reads tables',
                "Use spark.readStream; with .writeStream.trigger(availableNow=True) it ends at "
                "the position that the log had when it started.",
            )

    def _config(self) -> ConnectorConfig:
        return parse_options(of_connector(self.options))

    def streamReader(self, schema: StructType) -> HeadraceReader:
        return self._reader(lambda: HeadraceReader(self._config(), schema))

    def _reader(self, make: Callable[[], HeadraceReader]) -> HeadraceReader:
        """Return the reader that `make` returns. PySpark replaces an error here by one of its own,
        so the error is raised by a reader when Spark calls it."""
        try:
            reader = make()
            reader.configured(self.options)
            return reader
        except Exception as error:  # noqa: BLE001 - raised by Refused
            return Refused(error)


class HeadraceReader(StreamReader):
    """Spark's reader. It is pickled to tasks, so connections and threads are in the session of the
    source process (headrace.spark.source_process), opened on first use."""

    converts = True
    """Whether texts are made of events; see `headrace.spark.kernels.needed.query_kernels`."""

    def __init__(self, config: ConnectorConfig, schema: StructType | None = None) -> None:
        """`schema` is that of the stream's columns, if a converter needs it."""
        self.config, self.schema = config, schema

    def initialOffset(self) -> dict[str, Any]:
        """Return a constant: Spark asks for it in every process and does not store it."""
        return {"v": 1, "server": self.config.topic_prefix}

    def plan(self, start: OffsetObject, end: OffsetObject) -> Sequence[InputPartition]:
        """See Ranges."""
        session = self.session()
        return session.partitions(session.slices(start, end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from headrace.spark.kernels.beforehand import compile_beforehand

        with one_sentence():
            compile_beforehand(self.sink_kernels())
            yield from self.batches(partition)

    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of `read` for a partition."""
        from headrace.spark.task import read_slice

        columns = self._arrow_schema()
        parts = self.slices(partition)
        return (batch for part in parts for batch in read_slice(part, self.config, columns))

    def slices(self, partition: InputPartition) -> Iterator[Slice]:
        """Return the slices of a partition. Runs in a task."""
        if isinstance(partition, SlicePartition):
            return iter([partition.unpack()])
        return slices_of(partition)

    def _arrow_schema(self) -> pa.Schema | None:
        """Return the columns in Arrow's types, for converters that make columns of Spark's
        types."""
        if self.schema is None or not any(map(self.config.makes_columns, ("key", "value"))):
            return None
        from headrace.spark.versions.types import arrow_schema

        return arrow_schema(self.schema)

    def stop(self) -> None:
        from headrace.spark.source_process import stop

        stop()

    def sink_kernels(self) -> Kernels:
        """Return the kernels of the sink that the reader writes to while it reads events."""
        return {}

    def session(self) -> SourceSession:
        """Return the session of this process."""
        with first_turn():
            from headrace.spark.source_process import session

            return session(self.config, self.sink_kernels(), converts=self.converts)


class Refused(HeadraceReader):
    """The reader for invalid options: Spark's first call raises `error`."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def getDefaultReadLimit(self) -> Never:
        with one_sentence():
            raise self._error

    @property
    def starts(self) -> Never:
        """See Ranges."""
        raise self._error

    def initialOffset(self) -> dict[str, Any]:
        with one_sentence():
            raise self._error

    def session(self) -> SourceSession:
        raise self._error

    def stop(self) -> None:
        """Do nothing: nothing was opened."""
