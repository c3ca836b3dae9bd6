"""Batches applied to the files of a table give what a naive replay gives."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from headrace.errors import HeadraceError
from headrace.sinks.replicas.applying.batches import Batch, Limits, apply_batch
from headrace.sinks.replicas.changes.part import Operation
from headrace.sinks.replicas.files.compacting import compact
from headrace.sinks.replicas.files.live_rows import live_rows
from headrace.sinks.replicas.lake import DELETED, Column, TableSchema
from headrace.sinks.replicas.runners import Argument, Result
from tests.sinks.replicas.applying.folder_storage import FolderTable
from tests.sinks.replicas.applying.histories import (
    DRAWN,
    INTEGER,
    KEYS,
    SCHEMAS,
    VALUES,
    Drawn,
    Writer,
    key_of,
    write,
)
from tests.sinks.replicas.applying.replay import Change, Replay, Step, Truncate, write_part

SMALL = Limits()
LARGE = Limits(changes=1, change_bytes=1 << 20, file_rows=2, task_rows=1)
MIXED = Limits(file_rows=2, task_rows=1)


class PicklingRunner:
    """Gives everything as tasks elsewhere would have it."""

    def run(
        self, function: Callable[[Argument], Result], arguments: Sequence[Argument]
    ) -> list[Result]:
        outcomes = []
        for argument in arguments:
            function, argument = pickle.loads(pickle.dumps((function, argument)))
            outcomes.append(pickle.loads(pickle.dumps(function(argument))))
        return outcomes


class Pipeline:
    """A table, its replay, and batches on their way. With `soft` deletes, the replay has the rows
    that are not marked as deleted."""

    def __init__(
        self, folder: Path, schema: TableSchema, limits: Limits, *, soft: bool = False
    ) -> None:
        self.folder = folder
        self.schema = schema
        self.limits = limits
        self.soft = soft
        marked = (*schema.columns, Column(DELETED, pa.bool_()))
        self.stored_schema = TableSchema(marked, schema.key) if soft else schema
        self.table = FolderTable(folder / "table", self.stored_schema)
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
        batch = Batch(
            written,
            self.folder,
            self.stored_schema,
            f"b{self.batches}",
            "shop.orders",
            soft_deletes=self.soft,
        )
        for _ in range(times):
            transaction = self.table.begin()
            change, applied = apply_batch(transaction, batch, PicklingRunner(), self.limits)
            transaction.commit(change, {})
            deleted = applied.deleted if self.soft else 0
            assert applied.upserted + deleted == sum(file.rows for file in change.added)
            assert applied.bytes == sum(file.size for file in change.added)
        assert [path.name for path in self.folder.glob("apply-*")] == []
        steps = sorted((step for part in parts for step in part), key=lambda numbered: numbered[0])
        self.replay.apply([step for _, step in steps], self.schema)

    def check(self) -> None:
        rows = self.table.rows()
        stored = {tuple(row[name] for name in self.schema.key): row for row in rows}
        assert len(stored) == len(rows)
        live = {key: row for key, row in stored.items() if not row.pop(DELETED, False)}
        assert live == self.replay.rows


@settings(max_examples=120, deadline=None)
@given(
    schema=st.sampled_from(SCHEMAS),
    limits=st.sampled_from([SMALL, LARGE, MIXED]),
    batches=DRAWN,
    divided=st.booleans(),
    is_compacted=st.booleans(),
    soft=st.booleans(),
)
@example(
    schema=SCHEMAS[0],
    limits=SMALL,
    batches=[
        [("insert", number, 0, 0, 0) for number in (0, 1)],
        [("delete", 1, 0, 0, 0)],
        [("move", 0, 1, 1, 0)],
    ],
    divided=False,
    is_compacted=False,
    soft=True,
)
def test_a_table_is_what_a_replay_of_its_changes_gives(
    schema: TableSchema,
    limits: Limits,
    batches: list[Drawn],
    divided: bool,
    is_compacted: bool,
    soft: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pipeline = Pipeline(Path(folder), schema, limits, soft=soft)
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
        if is_compacted:
            change = compact(pipeline.table.begin(), "merged")
            if change is not None:
                pipeline.table.begin().commit(change, {})
            pipeline.check()


@settings(max_examples=40, deadline=None)
@given(
    schema=st.sampled_from(SCHEMAS),
    limits=st.sampled_from([SMALL, LARGE]),
    batches=DRAWN,
)
def test_a_batch_that_is_applied_again_changes_nothing(
    schema: TableSchema, limits: Limits, batches: list[Drawn]
) -> None:
    """But for values of moved rows: the property BATCH of a table keeps it from coming again."""
    with tempfile.TemporaryDirectory() as folder:
        pipeline = Pipeline(Path(folder), schema, limits)
        writer = Writer(schema, set())
        for number, drawn in enumerate(batches):
            whole = [
                (kind, key, other, 0 if kind == "move" else unavailable, part)
                for kind, key, other, unavailable, part in drawn
            ]
            pipeline.apply(write(writer, whole, number * 1000), times=2)
            pipeline.check()


@pytest.fixture(params=[SMALL, LARGE, MIXED], ids=["small", "large", "mixed"])
def pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> Pipeline:
    """A table of one file with the rows 0 to 9."""
    new_pipeline = Pipeline(tmp_path, INTEGER, SMALL)
    new_pipeline.apply([[(number, insert(number)) for number in range(10)]])
    new_pipeline.limits = request.param
    return new_pipeline


def insert(number: int, **values: object) -> Change:
    column_values = {"text": f"t{number}", "number": number, "amount": Decimal(number)}
    return Change(Operation.INSERT, (number,), column_values | values)


def delete(number: int) -> Change:
    return Change(Operation.DELETE, (number,))


def test_a_file_of_which_no_row_is_left_is_removed(pipeline: Pipeline) -> None:
    (file,) = pipeline.table.files.values()
    pipeline.apply([[(100 + number, delete(number)) for number in range(9)]])
    (file,) = pipeline.table.files.values()
    assert (file.rows, file.deleted) == (10, 9)
    pipeline.apply([[(200, delete(9)), (201, delete(3))]])
    assert pipeline.table.files == {}


def test_rows_deleted_before_are_in_the_new_vector(pipeline: Pipeline) -> None:
    pipeline.apply([[(100, delete(2))]])
    pipeline.apply([[(200, delete(5)), (201, delete(2))]])
    (file,) = pipeline.table.files.values()
    assert pipeline.table.storage.read_vector(file) == BitMap([2, 5])
    assert file.deleted == 2
    pipeline.check()


def test_a_truncate_removes_all_files_without_a_scan(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.sinks.replicas.applying.batches.scan", None)
    pipeline.apply([[(100, insert(50))], [(101, Truncate()), (102, insert(60)), (103, insert(61))]])
    pipeline.check()
    assert sorted(pipeline.replay.rows) == [(60,), (61,)]
    pipeline.apply([[(200, Truncate())]])
    assert pipeline.table.files == {}


def test_columns_added_renamed_widened_and_dropped_within_a_batch(pipeline: Pipeline) -> None:
    older = [
        (100, Change(Operation.UPDATE, (3,), {"number": 33, "amount": Decimal(3)})),
        (101, insert(20)),
        (102, Change(Operation.UPDATE, (4,), {"text": "four"})),
    ]
    wider = TableSchema(
        (
            Column("id", pa.int64()),
            Column("label", pa.string()),
            Column("number", pa.float64()),
            Column("added", pa.string()),
        ),
        ("id",),
    )
    newer = [(103, Change(Operation.UPDATE, (3,), {"number": 3.5, "added": "new"}))]
    parts = [
        write_part(pipeline.folder, "older", older, INTEGER),
        write_part(pipeline.folder, "newer", newer, wider),
    ]
    pipeline.table.evolve(wider, {"text": "label"})
    batch = Batch(
        parts,
        pipeline.folder,
        wider,
        "b",
        defaults={"added": "default"},
        renamed={parts[0].path: {"text": "label"}},
    )
    change, applied = apply_batch(pipeline.table.begin(), batch, PicklingRunner(), pipeline.limits)
    assert (applied.upserted, applied.deleted) == (3, 0)
    pipeline.table.begin().commit(change, {})
    rows_by_id = {row["id"]: row for row in pipeline.table.rows()}
    assert len(rows_by_id) == 11
    assert [tuple(rows_by_id[key].values()) for key in (2, 3, 4, 20)] == [
        (2, "t2", 2.0, None),
        (3, "t3", 3.5, "new"),
        (4, "four", 4.0, "default"),
        (20, "t20", 20.0, "default"),
    ]


def test_a_renamed_key_is_the_same_key(pipeline: Pipeline) -> None:
    moved = Change(Operation.INSERT, (40,), {"number": 4, "amount": Decimal(4)}, (4,))
    part = write_part(pipeline.folder, "p", [(100, delete(4)), (101, moved)], INTEGER)
    renamed = TableSchema((Column("key", pa.int64()), *VALUES), ("key",))
    pipeline.table.evolve(renamed, {"id": "key"})
    batch = Batch([part], pipeline.folder, renamed, "b", renamed={part.path: {"id": "key"}})
    change, _ = apply_batch(pipeline.table.begin(), batch, PicklingRunner(), pipeline.limits)
    pipeline.table.begin().commit(change, {})
    text_by_key = {row["key"]: row["text"] for row in pipeline.table.rows()}
    assert text_by_key == {number: f"t{number}" for number in (*range(4), *range(5, 10))} | {
        40: "t4"
    }


def test_rows_that_a_copy_has_not_brought_yet_are_left_out(pipeline: Pipeline) -> None:
    steps: list[tuple[int, Step]] = [
        (100 + key, Change(Operation.UPDATE, (key,), {"text": "new"})) for key in (3, 30)
    ]
    part = write_part(pipeline.folder, "p", steps, INTEGER)
    batch = Batch([part], pipeline.folder, INTEGER, "b", is_copied=True)
    change, applied = apply_batch(pipeline.table.begin(), batch, PicklingRunner(), pipeline.limits)
    assert (applied.upserted, applied.left_out) == (1, 1)
    pipeline.table.begin().commit(change, {})
    assert {row["id"]: row["text"] for row in pipeline.table.rows()} == {
        number: "new" if number == 3 else f"t{number}" for number in range(10)
    }


def test_soft_deletes_keep_rows_in_the_table(pipeline: Pipeline) -> None:
    soft = TableSchema((*INTEGER.columns, Column("__deleted", pa.bool_())), ("id",))
    pipeline.table.evolve(soft)
    for place, step in ((100, delete(3)), (200, delete(3)), (300, insert(3, text="again"))):
        part = write_part(pipeline.folder, f"p{place}", [(place, step)], INTEGER)
        batch = Batch([part], pipeline.folder, soft, f"b{place}", soft_deletes=True)
        change, _ = apply_batch(pipeline.table.begin(), batch, PicklingRunner(), pipeline.limits)
        pipeline.table.begin().commit(change, {})
        (row,) = (row for row in pipeline.table.rows() if row["id"] == 3)
        is_deleted = place < 300
        assert row["__deleted"] is is_deleted
        assert row["text"] == ("t3" if is_deleted else "again")
        assert len(pipeline.table.rows()) == 10


def test_two_rows_of_a_key_in_different_groups_of_files_are_an_error(pipeline: Pipeline) -> None:
    other = FolderTable(pipeline.folder / "table", INTEGER)
    part = write_part(pipeline.folder, "p", [(100, insert(3)), (101, insert(30))], INTEGER)
    batch = Batch([part], pipeline.folder, INTEGER, "other", "shop.orders")
    change, _ = apply_batch(other.begin(), batch)
    pipeline.table.begin().commit(change, {})
    with pytest.raises(HeadraceError) as caught:
        apply_batch(pipeline.table.begin(), batch, PicklingRunner(), pipeline.limits)
    assert caught.value.code == "replicas.key_not_unique"
    assert "shop.orders" in caught.value.message
    assert [path.name for path in pipeline.folder.glob("apply-*")] == []
    # A copy replaces all rows of a key.
    for limits in (pipeline.limits, SMALL):
        copying = replace(batch, name=f"copy-{limits.changes}", is_copied=True)
        change, _ = apply_batch(pipeline.table.begin(), copying, PicklingRunner(), limits)
        dead = sum(deleted for _, _, deleted in change.vectors)
        assert dead + sum(file.rows for file in change.removed) == 3


def test_parts_whose_keys_have_different_types_are_folded_together(tmp_path: Path) -> None:
    texts = TableSchema((Column("id", pa.decimal128(20, 0)), *VALUES), ("id",))
    pipeline = Pipeline(tmp_path, texts, LARGE)
    parts = [
        write_part(tmp_path, "a", [(1, insert(5)), (2, insert(6))], INTEGER, divided=True),
        write_part(tmp_path, "b", [(3, insert(5, text="b"))], texts, divided=True),
    ]
    change, applied = apply_batch(
        pipeline.table.begin(), Batch(parts, tmp_path, texts, "b"), PicklingRunner(), LARGE
    )
    pipeline.table.begin().commit(change, {})
    assert applied.upserted == 2
    assert sorted((row["id"], row["text"]) for row in pipeline.table.rows()) == [  # type: ignore[type-var]
        (Decimal(5), "b"),
        (Decimal(6), "t6"),
    ]


def test_many_rows_become_files_of_a_good_size_in_the_order_of_the_key(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.sinks.replicas.files.writing.FILE_BYTES", 2_000)
    steps = [(100 + place, insert(number)) for place, number in enumerate(range(999, 99, -1))]
    pipeline.apply([steps], divided=True)
    pipeline.check()
    files = [file for file in pipeline.table.files.values() if file.rows != 10]
    assert len(files) > 4
    ids = [live_rows(pipeline.table.storage, file)["id"].to_pylist() for file in files]
    assert [each == sorted(each) for each in ids] == [True] * len(files)
