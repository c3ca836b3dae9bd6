"""The place in the log that rows show if its lower half has another meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from headrace.connect.images import make_image
from headrace.connect.rows import Sequences, place_of
from headrace.offsets.offset import Offset
from headrace.offsets.position import PlacePosition
from headrace.signals.progress import Insert
from headrace.snapshots.chunks import Chunk, ChunkKind
from headrace.snapshots.image_block import ImageBlock
from headrace.snapshots.incremental.inserts import notification_block, transaction_of
from headrace.snapshots.incremental.metrics import IncrementalMetrics
from headrace.snapshots.incremental.runner import IncrementalSnapshots, SignalStream
from headrace.snapshots.slices import ChunkQuery, ChunkSlice, SnapshotPlace, SnapshotReader
from headrace.snapshots.slices import SnapshotRows as Rows
from headrace.snapshots.snapshot_source import SnapshotSource
from headrace.streaming.facts import EventSettings
from tests.contract.journal.connector import JournalConfig
from tests.contract.journal.events import JournalFacts, JournalSource
from tests.snapshots.incremental.no_tables import NoTables

PLACE, INCREMENT = 0x7000_0001 << 96 | 3 << 64 | 5, 3
WIDE = 1 << 70 | 9


class Timed(PlacePosition):
    """A time of 32 bits, its increment, and the number of an event of that time, in 64 bits."""

    @property
    def shown(self) -> int:
        return self.committed >> 64 & 0xFFFFFFFF


class OneRow(Rows):
    """A table of one row."""

    def blocks(self, query: ChunkQuery) -> Iterator[ImageBlock]:
        yield ImageBlock.of([make_image(["1", "text"])])


class Reader(SnapshotReader):
    def open(self) -> AbstractContextManager[OneRow]:
        return nullcontext(OneRow())


def inserts(folder: Path, position: Timed) -> Sequence[Insert]:
    """The record between transactions at a position: there was no initial snapshot."""
    config = JournalConfig.parse(
        {
            "topic.prefix": "s",
            "journal.folder": str(folder),
            "journal.reader": "r",
            "notification.enabled.channels": "sink",
            "notification.sink.topic.name": "notifications",
        }
    )
    stream = SignalStream[Timed](greets=True)
    snapshots = IncrementalSnapshots(config, NoTables(), stream, IncrementalMetrics())
    after = Offset("s", position, 1)
    snapshots.begin(after)
    signals = snapshots.end(after, replace(after, position=position)).signals
    assert signals is not None
    return signals.inserts


def test_a_notification_shows_what_its_position_shows(tmp_path: Path) -> None:
    (insert,) = inserts(tmp_path, Timed(PLACE))
    rows = notification_block(insert, "notifications").rows
    assert rows["place"].tolist() == [INCREMENT]
    assert [place_of(row) for row in rows] == [PLACE]


def test_rows_of_a_snapshot_show_what_its_position_shows() -> None:
    shown_position = SnapshotSource.shown(None, Timed(PLACE))  # type: ignore[arg-type]
    place = SnapshotPlace(PLACE, shown_position, WIDE, 1, None, blocking=False)
    query = ChunkQuery(Chunk(0, 1, ChunkKind.WHOLE), None, JournalFacts("s.a", "a"))
    settings = EventSettings("s", JournalSource(), run="r")
    ((records,),) = ChunkSlice((query,), Reader(), place, Sequences(1), settings).read()
    rows = records.table.rows
    assert rows["place"].tolist() == [INCREMENT]
    assert [place_of(row) for row in rows] == [PLACE]


def test_a_last_commit_of_more_than_64_bits_is_cut_and_no_error() -> None:
    insert = Insert((PLACE, 1, 1, 0), INCREMENT, WIDE, 1)
    assert transaction_of(insert)["last_commit"].tolist() == [9]
    place = SnapshotPlace(PLACE, INCREMENT, WIDE, 1, None, blocking=False)
    assert place.entry(place.image_memory())["last_commit"].tolist() == [9]
