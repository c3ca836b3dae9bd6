"""The handling of ranges, common to all ways in which Spark asks for them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from headrace.config.properties.connector import ConnectorConfig

if TYPE_CHECKING:
    from headrace.offsets.offset import OffsetObject
    from headrace.spark.source_process import SourceSession

BACKLOG = "backlog"
"""The member of an offset that is a name for a place (headrace.spark.versions.backlog)."""


class Ranges(DataSourceStreamReader):
    """What a reader does with a range, however Spark asks for it."""

    config: ConnectorConfig

    @abstractmethod
    def session(self) -> SourceSession:
        """The session of this process."""

    def following(self, start: OffsetObject, *, is_held: bool = True) -> OffsetObject:
        """The end of the range that follows `start`, which is `start` where nothing is new.
        `is_held`: Spark's checkpoint holds `start`, so it may be acknowledged to the database."""
        session = self.session()
        return session.latest_offset(start) if is_held else session.poll(start)

    def acknowledge(self, end: OffsetObject) -> None:
        """Spark's checkpoint holds `end`."""
        self.session().commit(end)

    @abstractmethod
    def plan(self, start: OffsetObject, end: OffsetObject) -> Sequence[InputPartition]:
        """The partitions of a range."""

    def configured(self, options: Mapping[str, str]) -> None:
        """Take those of the options that belong to the query. Raises HeadraceError."""
