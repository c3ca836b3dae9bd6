"""Batches applied to a history make the versions that a plain model makes."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.sinks.replicas.applying.batches import Batch, apply_batch
from headrace.sinks.replicas.applying.equality import equal_values
from headrace.sinks.replicas.applying.versions import closed
from headrace.sinks.replicas.changes.part import Operation
from headrace.sinks.replicas.files.compacting import compact
from headrace.sinks.replicas.files.live_rows import live_rows
from headrace.sinks.replicas.lake import Column, TableName, TableSchema
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.modes.own_columns import with_own_columns
from tests.sinks.replicas.applying.folder_storage import FolderTable
from tests.sinks.replicas.applying.histories import INTEGER, SCHEMAS, Writer, key_of
from tests.sinks.replicas.applying.replay import (
    Change,
    Key,
    Replay,
    Step,
    Truncate,
    commit_us,
    sequence,
    write_part,
)
from tests.sinks.replicas.applying.test_applying import LARGE, MIXED, SMALL, PicklingRunner

NAME = TableName(("shop",), "orders")
INSERT, UPDATE, DELETE, READ = Operation
KEYS = 5
Row = dict[str, Any]
DRAWN = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["insert", "update", "update", "move", "delete", "truncate", "read", "read other"]
            ),
            st.integers(0, KEYS - 1),
            st.integers(0, KEYS - 1),
            st.integers(0, 7),
            st.integers(0, 2),
        ),
        max_size=14,
    ),
    min_size=1,
    max_size=4,
)
"""Batches of steps, with the part of the batch that has each."""


def moment(number: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=commit_us(number))


class Model:
    """All versions of a table, made one after the other."""

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema
        self.versions: list[Row] = []
        self._current: dict[Key, Row] = {}
        self._before_delete: dict[Key, Row] = {}

    def values(self, version: Row) -> Row:
        return {name: version[name] for name in self.schema.names}

    def apply(self, number: int, step: Step) -> None:
        if isinstance(step, Truncate):
            for key in list(self._current):
                self._close(key, number)
            return
        current = self._current.get(step.key)
        if step.operation is DELETE:
            if current is not None:
                self._before_delete[step.key] = current
                self._close(step.key, number)
            return
        former = current if step.old_key is None else self._before_delete[step.old_key]
        row = {**(former or {}), **dict(zip(self.schema.key, step.key, strict=True))} | step.values
        if current is not None:
            if step.operation is READ and self.values(current) == self.values(row):
                return
            self._close(step.key, number)
        version = {name: row[name] for name in self.schema.names} | {
            "valid_from": moment(number),
            "valid_to": None,
            "valid_from_position": sequence(number),
            "valid_to_position": None,
            "is_current": True,
        }
        self._current[step.key] = version
        self.versions.append(version)

    def _close(self, key: Key, number: int) -> None:
        ends = {"valid_to": moment(number), "valid_to_position": sequence(number)}
        self._current.pop(key).update(ends, is_current=False)


class Source(Writer):
    """A database that also reads rows, as they are or as others."""

    def __init__(self, schema: TableSchema) -> None:
        super().__init__(schema, set())
        self.replay = Replay()

    def steps(self, kind: str, number: int, other: int, unavailable: int) -> list[Step]:
        key = key_of(self.schema, number)
        if kind.startswith("read"):
            row = self.replay.rows.get(key, {})
            values = {name: row[name] for name in row if name not in self.schema.key}
            if kind == "read other" or not row:
                self.count += 1
                values = self.values(0)
            self.present.add(number)
            history_steps: list[Step] = [Change(READ, key, values)]
        else:
            history_steps = super().steps(kind, number, other, unavailable)
        self.replay.apply(history_steps, self.schema)
        return history_steps


class History:
    """A table of versions, its model, and batches on their way."""

    def __init__(self, folder: Path, schema: TableSchema) -> None:
        self.folder, self.schema = folder, schema
        (folder / "table").mkdir()
        self.table = FolderTable(folder / "table", with_own_columns(NAME, schema, Mode.HISTORY))
        self.model = Model(schema)
        self.limits = SMALL
        self.batches = 0

    def apply(self, parts: Sequence[Sequence[tuple[int, Step]]], divided: bool = False) -> None:
        self.batches += 1
        written = [
            write_part(self.folder, f"{self.batches}-{place}", steps, self.schema, divided)
            for place, steps in enumerate(parts)
            if steps
        ]
        name = f"b{self.batches}"
        batch = Batch(written, self.folder, self.schema, name, "shop.orders", Mode.HISTORY)
        transaction = self.table.begin()
        change, applied = apply_batch(transaction, batch, PicklingRunner(), self.limits)
        transaction.commit(change, {})
        before = len(self.model.versions)
        for number, step in sorted((s for part in parts for s in part), key=lambda each: each[0]):
            self.model.apply(number, step)
        assert applied.upserted == len(self.model.versions) - before
        assert applied.left_out == 0

    def check(self) -> None:
        def place(row: Row) -> tuple[str, str]:
            return row["valid_from_position"], repr([row[name] for name in self.schema.key])

        assert sorted(self.table.rows(), key=place) == sorted(self.model.versions, key=place)

    def has_files_apart(self) -> bool:
        """Whether no file has both current and closed versions, the dead ones left out."""
        storage = self.table.storage
        number = storage.field_id("is_current")
        return all(
            file.bounds[number][0] == file.bounds[number][1] for file in self.table.files.values()
        )


@settings(max_examples=100, deadline=None)
@given(
    schema=st.sampled_from(SCHEMAS),
    limits=st.sampled_from([SMALL, LARGE, MIXED]),
    batches=DRAWN,
    divided=st.booleans(),
    is_compacted=st.booleans(),
)
def test_a_history_has_the_versions_of_a_model(
    schema: TableSchema,
    limits: Any,
    batches: list[list[tuple[str, int, int, int, int]]],
    divided: bool,
    is_compacted: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history, source = History(Path(folder), schema), Source(schema)
        history.limits = limits
        for number, drawn in enumerate(batches, 1):
            place, parts = number * 1000, [list[tuple[int, Step]]() for _ in range(3)]
            for kind, key, other, unavailable, part in drawn:
                for step in source.steps(kind, key, other, unavailable):
                    place += 1
                    parts[part].append((place, step))
            history.apply(parts, divided)
            history.check()
            assert history.has_files_apart()
        if is_compacted:
            change = compact(history.table.begin(), "merged")
            if change is not None:
                history.table.begin().commit(change, {})
            history.check()
            assert history.has_files_apart()


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Current versions of the keys 0 to 9 in one file."""
    new_history = History(tmp_path, INTEGER)
    new_history.apply([[(number, insert(number)) for number in range(10)]])
    return new_history


def insert(number: int, text: str = "a") -> Change:
    return Change(INSERT, (number,), {"text": text, "number": 1, "amount": Decimal(1)})


def test_files_of_closed_versions_are_not_read(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.apply([[(100, Change(UPDATE, (3,), {"text": "b"})), (101, Change(DELETE, (4,)))]])
    number = history.table.storage.field_id("is_current")
    files = {file.path: file.bounds[number][1] for file in history.table.files.values()}
    assert sorted(files.values()) == [False, True, True]
    opened: list[str] = []
    from headrace.sinks.replicas.files.reading import DataFileReader

    init = DataFileReader.__init__

    def recording(self: DataFileReader, storage: Any, file: Any) -> None:
        opened.append(file.path)
        init(self, storage, file)

    monkeypatch.setattr(DataFileReader, "__init__", recording)
    history.apply([[(200, Change(UPDATE, (3,), {"text": "c"}))]])
    assert opened
    assert all(files[path] for path in opened)
    history.apply([[(300, Truncate())]])
    history.check()


def test_no_version_ends_before_it_begins(history: History) -> None:
    (file,) = history.table.files.values()
    rows = live_rows(history.table.storage, file)
    first = min(row["valid_from"] for row in rows.to_pylist())
    clock_lags = round((first - timedelta(hours=1)).timestamp() * 1_000_000)
    ended = closed(rows, (sequence(10**6), clock_lags)).to_pylist()
    assert [row["valid_to"] for row in ended] == [row["valid_from"] for row in ended]
    before_all = closed(rows, ("", clock_lags)).to_pylist()
    assert all(row["valid_to_position"] == row["valid_from_position"] for row in before_all)


def test_a_value_that_neither_the_batch_nor_the_current_version_has_is_an_error(
    history: History,
) -> None:
    history.apply([[(100, Change(DELETE, (3,)))]])
    with pytest.raises(HeadraceError, match=r"replicas\.value_unknown"):
        history.apply([[(200, Change(UPDATE, (3,), {"text": "b"}))]])
    history.check()


def test_a_column_that_the_source_dropped_is_null_in_later_versions_and_stays_in_former_ones(
    history: History,
) -> None:
    late = TableSchema(tuple(c for c in INTEGER.columns if c.name != "text"), ("id",))
    values = {"number": 1, "amount": Decimal(1)}
    same = Change(READ, (3,), values)
    other = Change(UPDATE, (4,), values)
    part = write_part(history.folder, "p", [(100, same), (101, other)], late)
    batch = Batch([part], history.folder, INTEGER, "b", "shop.orders", Mode.HISTORY)
    change, _ = apply_batch(history.table.begin(), batch)
    history.table.begin().commit(change, {})
    versions = [(r["id"], r["text"], r["is_current"]) for r in history.table.rows()]
    assert {row for row in versions if row[0] in (3, 4)} == {
        (3, "a", True),
        (4, "a", False),
        (4, None, True),
    }


VALUES = st.one_of(st.none(), st.integers(-2, 2))
NESTED = pa.struct(
    [("list", pa.list_(pa.int32())), ("map", pa.map_(pa.string(), pa.int32())), ("n", pa.int32())]
)


@given(
    st.lists(
        st.tuples(
            *[
                st.one_of(
                    st.none(),
                    st.fixed_dictionaries(
                        {
                            "list": st.one_of(st.none(), st.lists(VALUES, max_size=2)),
                            "map": st.one_of(
                                st.none(), st.just([]), st.just([("a", 1)]), st.just([("a", 2)])
                            ),
                            "n": VALUES,
                        }
                    ),
                )
            ]
            * 2
        )
    )
)
def test_nested_values_are_equal_if_they_are_equal_in_python(pairs: list[tuple[Any, Any]]) -> None:
    left, right = (pa.array([pair[side] for pair in pairs], NESTED) for side in (0, 1))
    assert equal_values(left, right).tolist() == [one == other for one, other in pairs]


def test_floats_are_equal_if_their_bits_are() -> None:
    nan = float("nan")
    left = pa.array([nan, 0.0, None, 1.5, 1.0])
    right = pa.array([nan, -0.0, None, 1.5, None])
    assert equal_values(left, right).tolist() == [True, False, True, True, False]


def test_a_column_of_the_source_with_the_name_of_one_of_ours_is_an_error() -> None:
    clashing_schema = TableSchema((*INTEGER.columns, Column("Valid_To", pa.int64())), ("id",))
    with pytest.raises(HeadraceError, match=r"column Valid_To, and headrace adds .* valid_to") as c:
        with_own_columns(NAME, clashing_schema, Mode.HISTORY)
    assert c.value.code == "replicas.column_reserved"
    assert with_own_columns(NAME, clashing_schema, Mode.REPLICA) == clashing_schema
