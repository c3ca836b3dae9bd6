"""Batches applied to the files of a table give what a naive replay gives."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.sinks.replicas.applying import Batch, Limits, apply_batch
from headrace.sinks.replicas.changes import Operation
from headrace.sinks.replicas.compacting import compact
from headrace.sinks.replicas.lake import TableSchema
from headrace.sinks.replicas.runners import Argument, Result
from tests.sinks.replicas.folder_storage import FolderTable
from tests.sinks.replicas.histories import (
    DRAWN,
    KEYS,
    SCHEMAS,
    Drawn,
    Writer,
    key_of,
    write,
)
from tests.sinks.replicas.replay import Change, Replay, Step, write_part

SMALL = Limits()
LARGE = Limits(changes=1, change_bytes=1 << 20, file_rows=2)
MIXED = Limits(file_rows=2)


class PicklingRunner:
    """Gives everything as tasks elsewhere would have it."""

    def run(
        self, function: Callable[[Argument], Result], arguments: Sequence[Argument]
    ) -> list[Result]:
        made = []
        for argument in arguments:
            function, argument = pickle.loads(pickle.dumps((function, argument)))
            made.append(pickle.loads(pickle.dumps(function(argument))))
        return made


class Pipeline:
    """A table, its replay, and batches on their way."""

    def __init__(self, folder: Path, schema: TableSchema, limits: Limits) -> None:
        self.folder = folder
        self.schema = schema
        self.limits = limits
        self.table = FolderTable(folder / "table", schema)
        self.replay = Replay()
        (folder / "table").mkdir()
        self.batches = 0

    def apply(
        self, parts: Sequence[Sequence[tuple[int, Step]]], divided: bool = False, times: int = 1
    ) -> None:
        self.batches += 1
        written = [
            write_part(self.folder, f"{self.batches}-{place}", steps, self.schema, divided)
            for place, steps in enumerate(parts)
            if steps
        ]
        batch = Batch(written, self.folder, self.schema, f"b{self.batches}", "shop.orders")
        for _ in range(times):
            transaction = self.table.begin()
            change, applied = apply_batch(transaction, batch, PicklingRunner(), self.limits)
            transaction.commit(change, {})
            assert applied.upserted == sum(file.rows for file in change.added)
            assert applied.bytes == sum(file.size for file in change.added)
        assert [path.name for path in self.folder.glob("apply-*")] == []
        steps = sorted((step for part in parts for step in part), key=lambda numbered: numbered[0])
        self.replay.apply([step for _, step in steps], self.schema)

    def check(self) -> None:
        found = {tuple(row[name] for name in self.schema.key): row for row in self.table.rows()}
        assert len(found) == len(self.table.rows())
        assert found == self.replay.rows


@settings(max_examples=120, deadline=None)
@given(
    schema=st.sampled_from(SCHEMAS),
    limits=st.sampled_from([SMALL, LARGE, MIXED]),
    batches=DRAWN,
    divided=st.booleans(),
    repeated=st.booleans(),
)
def test_a_table_is_what_a_replay_of_its_changes_gives(
    schema: TableSchema, limits: Limits, batches: list[Drawn], divided: bool, repeated: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pipeline = Pipeline(Path(folder), schema, limits)
        writer = Writer(schema, set(range(0, KEYS, 2)))
        first = [
            (place, Change(Operation.INSERT, key_of(schema, number), writer.values(0)))
            for place, number in enumerate(sorted(writer.present))
        ]
        pipeline.apply([first], divided)
        for number, drawn in enumerate(batches, 1):
            parts = write(writer, drawn, number * 1000)
            pipeline.apply(parts, divided)
            pipeline.check()
        if repeated:
            change = compact(pipeline.table.begin(), "merged")
            if change is not None:
                pipeline.table.begin().commit(change, {})
            pipeline.check()
