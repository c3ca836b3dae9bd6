"""Chunks of tables that no database has: what the walker cuts, and where it goes on."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.offsets.snapshot_progress import SnapshotProgress
from headrace.signals.notifications import Notifier
from headrace.snapshots.chunks import Chunk, ChunkKind, KeyBound, grouped
from headrace.snapshots.planner import AttemptOver, SnapshotOptions, SnapshotPlanner
from headrace.snapshots.tables import Leaf, SnapshotTable


class Held:
    taken_us, transaction, visible = 7, None, "everything"


class Source:
    """Tables whose keys are the numbers from 0 on; `lost` says that nobody holds the snapshot,
    `shown` that the database can still show it."""

    page_bytes = 1000

    def __init__(self, tables: Sequence[SnapshotTable], keyless: Sequence[str] = ()) -> None:
        self._tables, self._keyless = tables, keyless
        self.lost = self.shown = False
        self.came: dict[object, tuple[Leaf, ...]] = {}

    @property
    def held(self) -> Held | None:
        return None if self.lost else Held()

    def lock(self) -> None:
        pass

    def regain(self, visible: str) -> bool:
        self.lost = self.lost and not self.shown
        return self.shown

    def hold(self, covers: str | None) -> Held:
        self.lost = False
        return Held()

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        return list(self._tables)

    def expect(self, tables: Sequence[SnapshotTable]) -> None:
        pass

    def refresh(self, tables: Sequence[SnapshotTable] = ()) -> None:
        pass

    def is_outdated(self, tables: Sequence[SnapshotTable]) -> bool:
        return False

    def recut(
        self, tables: Sequence[SnapshotTable], begun: Sequence[int]
    ) -> Sequence[SnapshotTable]:
        assert len(begun) == len(tables)
        return [replace(t, leaves=t.leaves + self.came.get(t.id, ())) for t in tables]

    def let_go(self) -> None:
        self.lost = True

    def has_key(self, table: SnapshotTable) -> bool:
        return table.table not in self._keyless

    def rows(self, leaf: Leaf) -> int:
        return leaf.rows

    def next_bound(
        self, table: SnapshotTable, leaf: Leaf, lower: KeyBound | None, rows: int
    ) -> KeyBound | None:
        number = rows + (0 if lower is None else int(lower[0]))
        return (str(number),) if number < leaf.rows else None

    def close(self) -> None:
        pass


class Config:
    notification_enabled_channels: tuple[str, ...] = ()
    notification_sink_topic_name = None
    topic_prefix = "server"


def table(number: int, kind: ChunkKind, *rows: int) -> SnapshotTable:
    leaves = tuple(Leaf(10 * number + i, "s", f"t{number}_{i}", n, n) for i, n in enumerate(rows))
    return SnapshotTable(10 * number, "s", f"t{number}", kind, leaves, opens=number == 0)


def snapshot(source: Source, *, restarts: bool = False, streams: bool = True) -> SnapshotPlanner:
    options = SnapshotOptions(3_000_000, 2, restarts, streams)
    return SnapshotPlanner(source, options, Notifier(Config()))  # type: ignore[arg-type]


def stored(progress: SnapshotProgress) -> SnapshotProgress:
    return SnapshotProgress.from_json(json.loads(json.dumps(progress.to_json())))


def chunks_of(planner: SnapshotPlanner, progress: SnapshotProgress | None) -> list[Chunk]:
    chunks: list[Chunk] = []
    while progress is not None:
        progress = planner.next_range(stored(progress))
        if progress is not None:
            chunks += [chunk for chunk, _ in planner.chunks(progress)]
    return chunks


TABLES = [
    table(0, ChunkKind.KEY, 2500, 10_000),
    table(1, ChunkKind.PAGES, 7000),
    table(2, ChunkKind.WHOLE, 9000),
]


@given(
    st.integers(0, 9),
    st.one_of(st.none(), st.integers(0, 9), st.tuples(st.text(), st.text())),
    st.sampled_from(ChunkKind),
)
def test_a_chunk_survives_an_offset(
    ordinal: int, lower: tuple[str, ...] | int | None, cut: ChunkKind
) -> None:
    chunk = Chunk(1, ordinal, cut, lower=lower, upper=lower)
    assert Chunk.from_json(json.loads(json.dumps(chunk.to_json()))) == chunk


def test_chunks_follow_one_another_without_a_gap_and_carry_the_markers() -> None:
    planner = snapshot(Source(TABLES))
    chunks = chunks_of(planner, planner.begin())
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    for before, after in itertools.pairwise(chunks):
        same = (before.table, before.leaf) == (after.table, after.leaf)
        assert after.lower == (before.upper if same else None)
        assert same or before.upper is None
    ends = [(chunk.table, chunk.first, chunk.last) for chunk in chunks if chunk.first or chunk.last]
    assert ends == [
        (0, "run", ""), (0, "", "table"), (1, "table", ""), (1, "", "table"), (2, "table", "run"),
    ]  # fmt: skip


def test_a_lost_snapshot_continues_after_the_chunks_of_tables_with_a_key() -> None:
    source = Source(TABLES)
    planner = snapshot(source)
    first = planner.next_range(planner.begin())
    assert first is not None
    source.lost = True
    later = planner.next_range(stored(first))
    assert later is not None
    assert later.chunks[0]["lower"] == first.chunks[-1]["upper"]
    assert not later.reread


@pytest.mark.parametrize("done", [0, 1])
def test_partitions_that_came_are_read_also_when_the_table_was_handed_out(done: int) -> None:
    """`done` 1: the range that is lost has the last chunk of the first table, and the second one
    follows."""
    tables = [table(0, ChunkKind.KEY, 2500), table(1, ChunkKind.KEY, 9000)]
    source = Source(tables)
    planner = snapshot(source)
    progress = planner.next_range(planner.begin())
    while progress is not None and progress.table < done:
        progress = planner.next_range(progress)
    assert progress is not None
    source.lost, source.came = True, {0: (Leaf(5, "s", "t0_5", 1200, 1200),)}
    progress = planner.next_range(stored(progress))
    assert progress is not None
    source.came = {}
    chunks = [chunk for chunk, _ in planner.chunks(progress)] + chunks_of(planner, progress)
    assert any((chunk.table, chunk.leaf) == (0, 1) for chunk in chunks)
    read = [(chunk.table, chunk.leaf, chunk.lower) for chunk in chunks]
    assert len(read) == len(set(read))
    last = [chunk for chunk in chunks if chunk.table == 1][-1]
    assert last.upper is None


def test_a_table_that_is_cut_by_pages_is_read_again_from_its_beginning() -> None:
    source = Source([TABLES[1]])
    planner = snapshot(source)
    first = planner.next_range(planner.begin())
    assert first is not None
    resumed = planner.resumed(first)
    assert (resumed.table, resumed.reread) == (0, True)
    assert resumed.after == {"leaf": 0, "lower": None, "ordinal": len(first.chunks)}


@pytest.mark.parametrize(("keyless", "streams"), [(("t1",), True), ((), False)])
def test_rows_that_would_come_twice_end_the_attempt(keyless: Sequence[str], streams: bool) -> None:
    planner = snapshot(Source(TABLES, keyless), streams=streams)
    first = planner.next_range(planner.begin())
    assert first is not None
    with pytest.raises(AttemptOver):
        planner.resumed(first)


@pytest.mark.parametrize("streams", [True, False])
def test_a_lost_snapshot_that_can_still_be_shown_continues_where_it_was(streams: bool) -> None:
    source = Source(TABLES, ("t1",))
    planner = snapshot(source, restarts=True, streams=streams)
    first = planner.next_range(planner.begin())
    assert first is not None
    source.lost = source.shown = True
    assert planner.resumed(stored(first)) == first
    later = planner.next_range(stored(first))
    assert later is not None
    assert later.chunks[0]["lower"] == first.chunks[-1]["upper"]


def test_a_lost_snapshot_begins_again_when_the_configuration_says_so() -> None:
    planner = snapshot(Source(TABLES), restarts=True)
    first = planner.next_range(planner.begin())
    assert first is not None
    resumed = planner.resumed(first)
    assert (resumed.table, resumed.reread, resumed.done) == (0, True, False)


@given(st.lists(st.integers(0, 1000), max_size=70), st.integers(1, 9))
def test_groups_of_chunks_are_neighbours(rows: list[int], slices: int) -> None:
    items = list(range(len(rows)))
    groups = grouped(items, rows, slices)
    assert [item for group in groups for item in group] == items
    assert len(groups) <= slices
    assert all(groups)
