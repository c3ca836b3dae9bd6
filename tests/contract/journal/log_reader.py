"""Reads the journal's file into segments."""

from __future__ import annotations

import time

from headrace.offsets.position import PlacePosition
from headrace.streaming.frame_reader import FrameReader
from headrace.streaming.relations import RelationVersions
from tests.contract.journal.journal import Journal, offset_of, place_of, translate
from tests.contract.journal.kernel import index_frame

_TICK_SECONDS = 0.01


class JournalReader(FrameReader):
    """See headrace.streaming.log_reader.LogReader. `options`: those of row_kernel.add_change."""

    frame_kernel = staticmethod(index_frame)
    translate = staticmethod(translate)

    def __init__(
        self,
        journal: Journal,
        name: str,
        start: PlacePosition,
        relations: RelationVersions,
        options: int,
    ) -> None:
        super().__init__(relations, start, options=options)
        self._journal, self._acknowledged = journal, journal.acknowledged(name)
        self._start, self._offset = start.committed, offset_of(start.committed)

    def open(self) -> None:
        self._journal.check(self._start)

    def read_into(self, target: memoryview, seconds: float) -> int:
        log = self._journal.read(self._offset, len(target))
        if not log:
            time.sleep(min(seconds, _TICK_SECONDS))
        target[: len(log)] = log
        self._offset += len(log)
        self.ends_at(place_of(self._offset))
        return len(log)

    def acknowledge(self, place: int) -> None:
        self._acknowledged.write_text(f"{place:x}")
