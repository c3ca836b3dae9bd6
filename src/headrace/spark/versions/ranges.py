"""The handling of ranges, common to all versions of Spark."""

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
    """A reader's handling of ranges, however Spark asks for them."""

    config: ConnectorConfig

    @abstractmethod
    def session(self) -> SourceSession:
        """Return the session of this process."""

    def following(self, start: OffsetObject, *, is_held: bool = True) -> OffsetObject:
        """Return the end of the range that follows `start`; `start` itself without new data.
        `is_held`: Spark's checkpoint contains `start`, so it may be acknowledged to the
        database."""
        session = self.session()
        return session.latest_offset(start) if is_held else session.poll(start)

    def acknowledge(self, end: OffsetObject) -> None:
        """Acknowledge `end`, which Spark's checkpoint contains."""
        self.session().commit(end)

    @abstractmethod
    def plan(self, start: OffsetObject, end: OffsetObject) -> Sequence[InputPartition]:
        """Return the partitions of a range."""

    def configured(self, options: Mapping[str, str]) -> None:
        """Read the options that belong to the query. Raises HeadraceError."""
