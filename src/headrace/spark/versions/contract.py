"""The methods that Spark calls on a streaming reader, by Spark's version (decision 27).

Spark 4.2 and later versions report where a range starts. Spark 4.0 and 4.1 do not, so this package,
`headrace.spark.versions`, finds the start. Decision 27 names the other places that depend on the
version of Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import InputPartition

from headrace.connect.slices import Slice
from headrace.errors import one_sentence
from headrace.spark.versions.installed import REPORTS_STARTS
from headrace.spark.versions.ranges import BACKLOG, Ranges

if TYPE_CHECKING:
    from headrace.offsets.offset import OffsetObject
    from headrace.spark.versions.starts import Starts


def slices_of(partition: InputPartition) -> Iterator[Slice]:
    """Return the slices of a partition with many ranges. Runs in a task."""
    from headrace.spark.versions.feed import FeedPartition

    assert isinstance(partition, FeedPartition)
    return (part.unpack() for part in partition.parts())


if REPORTS_STARTS:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, SupportsTriggerAvailableNow

    class StreamReader(Ranges, SupportsTriggerAvailableNow):
        """The reader for versions of Spark that report where each range starts."""

        def getDefaultReadLimit(self) -> ReadAllAvailable:
            """Return no limit: headrace.range.max.bytes and headrace.range.max.rows limit
            ranges."""
            return ReadAllAvailable()

        def prepareForTriggerAvailableNow(self) -> None:
            with one_sentence():
                self.session().bounded()

        def latestOffset(self, start: dict[str, Any], limit: object = None) -> dict[str, Any]:  # noqa: ARG002
            with one_sentence():
                place = self._place(start)
                end = self.following(place)
                return start if end is place else dict(end)

        def reportLatestOffset(self) -> dict[str, Any] | None:
            with one_sentence():
                return dict(self.session().report())

        def partitions(self, start: OffsetObject, end: OffsetObject) -> Sequence[InputPartition]:
            with one_sentence():
                if BACKLOG in end:
                    from headrace.spark.versions.starts import backlog_of_older_spark

                    return backlog_of_older_spark(self, start, end)
                return self.plan(self._place(start), end)

        def commit(self, end: dict[str, Any]) -> None:
            with one_sentence():
                self.acknowledge(self._place(end))

        def _place(self, offset: OffsetObject) -> OffsetObject:
            """Return the place of an offset, which may have been written under an older Spark."""
            if BACKLOG not in offset:
                return offset
            from headrace.spark.versions.starts import place_of_older_spark

            return place_of_older_spark(self, offset)

else:

    class StreamReader(Ranges):  # type: ignore[no-redef]
        """The reader for versions of Spark that report only which ranges they plan; the starts are
        found in the query's log of offsets."""

        starts: Starts

        def configured(self, options: Mapping[str, str]) -> None:
            """See Ranges."""
            from headrace.spark.versions.starts import Starts

            self.starts = Starts.of(options, self.config, self.initialOffset())

        def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]
            with one_sentence():
                return dict(self.starts.following(self))

        def partitions(self, start: OffsetObject, end: OffsetObject) -> Sequence[InputPartition]:
            with one_sentence():
                return self.starts.partitions(self, start, end)

        def commit(self, end: dict[str, Any]) -> None:
            with one_sentence():
                self.starts.commit(self, end)
