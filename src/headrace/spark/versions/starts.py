"""The starts of micro-batches, for versions of Spark that do not report them.

Spark 4.0 and 4.1 call `latestOffset()`, and name a start only when they plan a range. So the start
of the next range is the end of the last planned one, once the query's checkpoint has it among its
commits; each plan is compared with the checkpoint's entry. Ends of ranges have a member for the
process that returned them (`run`), which no other checkpoint can contain: only such an end, read
back from the checkpoint, is acknowledged.

A query with Spark's trigger availableNow asks for one end only, before it names a start, and any
other query begins in the same way. The end that is returned is then a name for the entries of the
checkpoint's journal (headrace.spark.versions.backlog).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from pyspark.sql.datasource import InputPartition

from headrace.config.properties.connector import ConnectorConfig
from headrace.offsets.offset import OffsetObject
from headrace.spark.query.source_options import BOUNDED, CHECKPOINT
from headrace.spark.versions.backlog import BatchJournal, place_of
from headrace.spark.versions.query_log import QueryLog, checkpoint_folder
from headrace.spark.versions.ranges import BACKLOG, Ranges

RUN = "run"
"""The member of an offset that names the process that returned it."""


class Starts:
    """The state of a source's query, derived from Spark's calls."""

    def __init__(self, log: QueryLog, initial: OffsetObject, *, is_bounded: bool | None) -> None:
        """`is_bounded`: whether the source ends with the log that exists at the start; None:
        Spark's trigger decides."""
        self._log, self._initial = log, dict(initial)
        self._is_bounded = is_bounded
        self._run = ""
        self._planned: OffsetObject | None = None
        """The end of the range that Spark planned last."""
        self._given: OffsetObject | None = None
        """The last result of `following`."""
        self._is_available_now = False
        self._is_prepared = self._is_asked_again = False

    @staticmethod
    def of(options: Mapping[str, str], config: ConnectorConfig, initial: OffsetObject) -> Starts:
        """Return the starts of a query's source. Raises HeadraceError as `checkpoint_folder`."""
        folder = checkpoint_folder(options, config)
        is_bounded = options.get(BOUNDED) == "true" if CHECKPOINT in options else None
        return Starts(QueryLog(folder), initial, is_bounded=is_bounded)

    def following(self, ranges: Ranges) -> OffsetObject:
        """Return the end of the range after the last finished one. Raises HeadraceError."""
        self._begin(ranges)
        if self._planned is None:
            return self._first(ranges)
        if self._is_available_now:
            assert self._given is not None
            # After the one micro-batch Spark asks for its progress only, for the last time.
            if self._log.is_finished(self._given):
                ranges.acknowledge(place_of(self._log.folder, self._given))
                ranges.session().let_acknowledge()
            return self._given
        # Spark asks for the next end when a micro-batch is finished. It does not ask for the
        # partitions of one that its sink has already.
        if self._given is not None and self._log.is_finished(self._given):
            self._planned = self._given
        self._log.require_finished(self._planned)
        return self._polled(ranges, self._planned)

    def partitions(
        self, ranges: Ranges, start: OffsetObject, end: OffsetObject
    ) -> Sequence[InputPartition]:
        """Return the partitions of a range; none if `start` is `end`, by which Spark first names
        the end of the last planned micro-batch. Raises HeadraceError."""
        self._begin(ranges)
        if start == end:
            self._log.require_planned(end)
            self._planned = end
            return []
        self._log.require_planned(end, start)
        self._planned = end
        place = place_of(self._log.folder, start)
        if BACKLOG not in end:
            return ranges.plan(place, end)
        extends = self._is_available_now and self._is_ours(end)
        return BatchJournal(self._log.folder, str(end[BACKLOG])).partitions(
            ranges, place, extends=extends
        )

    def commit(self, ranges: Ranges, end: OffsetObject) -> None:
        """Acknowledge `end`, which Spark's checkpoint contains. Raises HeadraceError."""
        self._log.require_finished(end)
        if self._is_ours(end):
            ranges.acknowledge(place_of(self._log.folder, end))

    def _begin(self, ranges: Ranges) -> None:
        if not self._run:
            self._run = secrets.token_hex(4)
            ranges.session().withhold_start()

    def _first(self, ranges: Ranges) -> OffsetObject:
        """Return the first end, before Spark has named a start. Spark names one if the checkpoint
        has entries, unless the trigger is availableNow; only then it asks twice."""
        if self._is_bounded is not None:
            self._log.require_new()
            return self._polled(ranges, self._initial)
        if self._given is not None:
            return self._asked_again(ranges, self._given)
        self._is_available_now = self._log.require_query(has_begun=False) >= 0
        self._given = {**self._initial, BACKLOG: f"{self._run}-{secrets.token_hex(4)}"}
        return self._given

    def _asked_again(self, ranges: Ranges, end: OffsetObject) -> OffsetObject:
        """Return the end again if Spark has planned nothing since the first one was returned. With
        availableNow Spark asks once more; with any trigger, after a micro-batch that its sink has
        already."""
        if self._log.require_query() >= 0 and self._log.is_finished(end):
            BatchJournal(self._log.folder, str(end[BACKLOG])).skip(self._initial)
            self._planned = end
            return self.following(ranges)
        if self._is_asked_again:
            self._log.require_finished(end)
        self._is_available_now = self._is_asked_again = True
        return end

    def _polled(self, ranges: Ranges, start: OffsetObject) -> OffsetObject:
        if self._is_bounded and not self._is_prepared:
            self._is_prepared = True
            ranges.session().bounded()
        place = place_of(self._log.folder, start)
        end = ranges.following(place, is_held=self._is_ours(start))
        is_over = dict(end) == dict(place)
        ranges.session().write_report(is_over=bool(self._is_bounded) and is_over)
        self._given = start if is_over else {**end, RUN: self._run}
        return self._given

    def _is_ours(self, offset: OffsetObject) -> bool:
        """Return whether this process returned an offset."""
        run = str(offset.get(RUN) or str(offset.get(BACKLOG, "")).partition("-")[0])
        return bool(self._run) and run == self._run


def place_of_older_spark(ranges: Ranges, offset: OffsetObject) -> OffsetObject:
    """Return the place of an offset that was written under an older Spark. Raises HeadraceError."""
    return place_of(checkpoint_folder({}, ranges.config), offset)


def backlog_of_older_spark(
    ranges: Ranges, start: OffsetObject, end: OffsetObject
) -> Sequence[InputPartition]:
    """Return the partitions of a micro-batch that an older Spark planned and did not finish. Raises
    HeadraceError."""
    folder = checkpoint_folder({}, ranges.config)
    backlog = BatchJournal(folder, str(end[BACKLOG]))
    return backlog.partitions(ranges, place_of(folder, start), extends=False)
