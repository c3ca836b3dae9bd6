"""The `headrace` data source: translates Spark's calls, keeps no data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from headrace.config.properties.common import ConnectorConfig
from headrace.connectors.registry import parse_options
from headrace.spark.slice_partition import SlicePartition

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.offsets.offset import OffsetObject


def columns(config: ConnectorConfig) -> str:
    """The columns of a stream: its converters make keys and values texts or bytes."""
    key, value = ("string" if config.is_text(role) else "binary" for role in ("key", "value"))
    return (
        f"topic string not null, partition int, key {key}, value {value}, "
        "headers array<struct<key: string, value: binary>>, sequence string not null"
    )


class HeadraceDataSource(DataSource):
    """`spark.readStream.format("headrace").options(**headrace.options({...})).load()`.

    The columns are the same for every connector and table, keys and values texts or bytes as the
    converters make them; see README. Raises HeadraceError when
    the options are wrong, before anything is opened.
    """

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> str:
        return columns(parse_options(dict(self.options)))

    def streamReader(self, schema: StructType) -> HeadraceReader:  # noqa: ARG002
        return HeadraceReader(parse_options(dict(self.options)))


class HeadraceReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Spark's reader. It is pickled to tasks, so connections and threads live in the session of
    the source process (headrace.spark.source_process), opened on first use."""

    def __init__(self, config: ConnectorConfig) -> None:
        self.config = config

    def initialOffset(self) -> dict[str, Any]:
        """A constant: Spark asks for it in every process and does not store it."""
        return {"v": 1, "server": self.config.topic_prefix}

    def getDefaultReadLimit(self) -> ReadAllAvailable:
        """Ranges are cut by headrace.range.max.bytes and headrace.range.max.rows."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        from headrace.spark.source_process import session

        session(self.config).bounded()

    def latestOffset(self, start: dict[str, Any], limit: object = None) -> dict[str, Any]:  # noqa: ARG002
        from headrace.spark.source_process import session

        return dict(session(self.config).latest_offset(start))

    def reportLatestOffset(self) -> dict[str, Any] | None:
        from headrace.spark.source_process import session

        return dict(session(self.config).report())

    def partitions(self, start: OffsetObject, end: OffsetObject) -> Sequence[InputPartition]:
        from headrace.spark.source_process import session

        opened = session(self.config)
        return opened.partitions(opened.slices(start, end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from headrace.spark.task import read_slice

        assert isinstance(partition, SlicePartition)
        return read_slice(partition.unpack(), self.config, partition.schema_ids)

    def commit(self, end: dict[str, Any]) -> None:
        from headrace.spark.source_process import session

        session(self.config).commit(end)

    def stop(self) -> None:
        from headrace.spark.source_process import stop

        stop()
