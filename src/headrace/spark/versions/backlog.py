"""A micro-batch with the whole backlog of a log, for versions of Spark that ask only for its end.

With the trigger availableNow Spark 4.0 and 4.1 ask once for the end of the log, and run one
micro-batch up to it. The end that is returned (`{"v": …, "server": …, "backlog": ID}`) is only a
name. Its ranges are written, one by one and before a task gets any of them, to a journal in the
query's checkpoint: the same as Spark's own log of offsets, inside one micro-batch. A micro-batch
that is planned again has the ranges of its journal, and the next one starts at the end of the last
one.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import InputPartition

from headrace.connect.disk import force_to_disk, replace_text
from headrace.errors import HeadraceError
from headrace.spark.checkpoint import all_planned
from headrace.spark.versions.feed import feed
from headrace.spark.versions.ranges import BACKLOG, Ranges

if TYPE_CHECKING:
    from headrace.offsets.offset import OffsetObject
    from headrace.spark.slice_partition import SlicePartition
    from headrace.spark.source_process import SourceSession

_FOLDER = "headrace"
_DONE = "done"


def place_of(checkpoint: Path, offset: OffsetObject) -> OffsetObject:
    """Return the place of the log for an offset in Spark's log.

    Raises HeadraceError("spark.backlog_lost") if its journal is gone.
    """
    if BACKLOG not in offset:
        return offset
    backlog = BatchJournal(checkpoint, str(offset[BACKLOG]))
    start, *ends = backlog.places()
    return ends[-1] if ends else start


class BatchJournal:
    """The journal of one micro-batch: its start, the ends of its ranges, and whether it is
    complete."""

    def __init__(self, checkpoint: Path, name: str) -> None:
        self._checkpoint = checkpoint
        self.path = checkpoint / _FOLDER / f"backlog-{name}.jsonl"

    def partitions(
        self, ranges: Ranges, start: OffsetObject, *, extends: bool
    ) -> Sequence[InputPartition]:
        """Return the partitions of the micro-batch that begins at `start`. It has the ranges in the
        journal, and, if it `extends`, further ones, up to the end of the log; otherwise it was
        planned before this process began. Raises HeadraceError."""
        if not self.path.exists():
            self._begin(start)
        if not extends:
            self.end()
            if len(self.places()) == 1:
                return []
        session = ranges.session()
        return [feed(self.path, lambda: self.parts(session, extends=extends))]

    def skip(self, start: OffsetObject) -> None:
        """End the micro-batch at its start, because no task will read it."""
        if not self.path.exists():
            self._begin(start)
        self.end()

    def parts(self, session: SourceSession, *, extends: bool) -> Iterator[Sequence[SlicePartition]]:
        """Yield the slices of each range in turn. A range is written to the journal before it is
        yielded, and its memory is freed when the next one is requested."""
        place, *ends = self.places()
        for end in ends:
            yield session.partitions(session.slices(place, end))
            place = end
        if not extends or self.is_ended:
            return
        session.bounded()
        while (end := session.poll(place)) != place:
            self._write(end)
            yield session.partitions(session.slices(place, end))
            place = end
        self.end()

    @property
    def is_ended(self) -> bool:
        """Whether no further range follows."""
        return any(_DONE in line for line in self._lines())

    def end(self) -> None:
        """Note that no further range follows."""
        if not self.is_ended:
            self._write({_DONE: True})

    def places(self) -> list[OffsetObject]:
        """Return the start, and the ends of the ranges. Raises
        HeadraceError("spark.backlog_lost")."""
        places = [line for line in self._lines() if _DONE not in line]
        if not places:
            raise HeadraceError(
                "spark.backlog_lost",
                f"The file {self.path} with the end of a micro-batch of the checkpoint is missing "
                f"or empty",
                "Restore the checkpoint with this file, or start with a new one.",
            )
        return places

    def _lines(self) -> list[Mapping[str, Any]]:
        """Return the complete lines; a line that a kill truncated was not given to any task."""
        lines: list[Mapping[str, Any]] = []
        with contextlib.suppress(OSError, ValueError):
            lines.extend(json.loads(text) for text in self.path.read_text().splitlines())
        return lines

    def _begin(self, start: OffsetObject) -> None:
        self.path.parent.mkdir(exist_ok=True)
        # Offsets of other sources of the query may be numbers.
        planned = {
            offset.get(BACKLOG)
            for offset in all_planned(self._checkpoint)
            if isinstance(offset, dict)
        }
        for path in self.path.parent.glob("backlog-*.jsonl"):
            if path.stem.removeprefix("backlog-") not in planned:
                path.unlink(missing_ok=True)
        replace_text(self.path, f"{json.dumps(dict(start))}\n")
        force_to_disk(self._checkpoint)

    def _write(self, line: Mapping[str, Any]) -> None:
        """Append a line after the last complete one, and wait for the disk."""
        with self.path.open("r+b") as journal:
            journal.truncate(journal.read().rfind(b"\n") + 1)
            journal.seek(0, os.SEEK_END)
            journal.write(f"{json.dumps(dict(line))}\n".encode())
            journal.flush()
            os.fsync(journal.fileno())
