"""Change logs and histories as a sink keeps them, in a lake without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.changed_rows import Changes
from headrace.sinks.replicas.changes.part import COMMIT_TIME, OPERATION, SEQUENCE, Operation
from headrace.sinks.replicas.changes.parts import PartWriter, parts_folder
from headrace.sinks.replicas.changes.schemas import TableShape, to_json
from headrace.sinks.replicas.comments import SourceComments
from headrace.sinks.replicas.lake import (
    MODE,
    Column,
    ColumnChange,
    TableChange,
    TableName,
    TableSchema,
)
from headrace.sinks.replicas.maintaining import Erased, erase, erase_from, note_tables
from headrace.sinks.replicas.modes.mode import Mode, TableModes
from headrace.sinks.replicas.options import ReplicaOptions
from headrace.sinks.replicas.outcomes import MicroBatch, Outcome, files_of
from headrace.sinks.replicas.replica import Replica
from headrace.sinks.replicas.runners import HereRunner
from headrace.sinks.replicas.verifying.digests import row_digests
from headrace.sinks.replicas.verifying.progress import ComparisonState, Found, TableProgress
from headrace.sinks.replicas.verifying.replica_rows import ReplicaRows
from tests.sinks.replicas.applying.folder_lake import FolderCommit, FolderLake

NAME = TableName(("shop",), "t")
COLUMNS = (Column("id", pa.int64()), Column("v", pa.string()), Column("w", pa.int64()))
SCHEMA = TableSchema(COLUMNS, ("id",), source="shop.t", source_id="1")
INSERT, UPDATE, DELETE, READ = Operation
QUERY = "12345678-query"
LETTERS = {"c": INSERT, "u": UPDATE, "d": DELETE, "r": READ}
Step = tuple[str, int, Mapping[str, object]]
"""Debezium's letter (`t`: a TRUNCATE), the key, and other values."""


class Kept:
    """A table of a mode, and the micro-batches that it was given."""

    def __init__(self, folder: Path, **options: str) -> None:
        self.folder = folder
        self.lake = FolderLake(folder / "lake")
        self.options = ReplicaOptions.of({name.replace("_", "."): t for name, t in options.items()})
        self.replica = self.new_replica()

    def new_replica(self) -> Replica:
        """The table as another process opens it."""
        comments = SourceComments(lambda: None)
        return Replica(self.lake, NAME, self.options, HereRunner(), comments)

    def apply(
        self, number: int, steps: Sequence[Step], schema: TableSchema = SCHEMA, **how: bool
    ) -> Outcome:
        """Apply a micro-batch, whose places and seconds begin with ten times its number."""
        places = dict(enumerate(steps, number * 10))
        changes = {place: step for place, step in places.items() if step[0] != "t"}
        values: dict[str, object] = {
            SEQUENCE: [f"{place:020}" for place in changes],
            OPERATION: pa.array([LETTERS[step[0]] for step in changes.values()], pa.int8()),
            COMMIT_TIME: pa.array([p * 10**6 for p in changes], pa.timestamp("us", "UTC")),
        }
        for column in schema.columns:
            change_rows = [{"id": key, **more} for _, key, more in changes.values()]
            values[column.name] = pa.array(
                [row.get(column.name) for row in change_rows], column.type
            )
        truncates = tuple((f"{p:020}", p * 10**6) for p, step in places.items() if step[0] == "t")
        with PartWriter(parts_folder(self.folder), f"{number}") as writer:
            shape = TableShape(schema, to_json(schema), {})
            table = pa.table(values)
            writer.add(Changes("shop.t", shape, table, truncates=truncates))
            parts = writer.finish()
        batch = MicroBatch(QUERY, number, "{}")
        return self.replica.apply(batch, parts, parts_folder(self.folder), **how)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Columns of all rows, in the order of the source."""
        rows = self.lake.kept.rows()
        place = "__position" if "__position" in rows[0] else "valid_from_position"
        return [
            tuple(row[name] for name in columns)
            for row in sorted(rows, key=lambda row: (str(row[place]), row["id"] or 0))
        ]

    def versions(self) -> list[tuple[Any, ...]]:
        """The key, the value of `v`, and the seconds of the beginning and the end."""
        return [
            (key, value, begin.timestamp(), None if end is None else end.timestamp())
            for key, value, begin, end in self.rows("id", "v", "valid_from", "valid_to")
        ]


@pytest.fixture
def history(tmp_path: Path) -> Kept:
    return Kept(tmp_path, mode="history")


@pytest.fixture
def log(tmp_path: Path) -> Kept:
    return Kept(tmp_path, append_tables=r"other\.t, shop\..*")


def test_a_history_follows_its_source_and_a_repeated_micro_batch_changes_nothing(
    history: Kept,
) -> None:
    history.apply(1, [("r", 1, {"v": "a"}), ("r", 2, {"v": "b"})])
    second: Sequence[Step] = [("u", 1, {"v": "c"}), ("u", 1, {"v": "d"}), ("d", 2, {})]
    history.apply(2, second)
    expected_versions = [(1, "a", 10, 20), (2, "b", 11, 22), (1, "c", 20, 21), (1, "d", 21, None)]
    assert history.versions() == expected_versions
    assert history.apply(2, second).is_repeated
    assert history.apply(1, second).is_repeated
    history.replica = history.new_replica()
    assert history.apply(2, second).is_repeated
    assert history.versions() == expected_versions
    history.apply(3, [("t", 0, {})])
    assert history.versions()[-1] == (1, "d", 21, 30)
    assert history.lake.properties()[MODE] == "history"
    assert history.lake.properties()["headrace.key"] == '["is_current", "id"]'


def test_a_change_log_has_every_change_and_needs_no_key(log: Kept) -> None:
    keyless = replace(SCHEMA, key=())
    log.apply(1, [("r", 1, {"v": "a"}), ("d", 1, {"v": "a"})], keyless)
    log.apply(2, [("c", 1, {"v": "b"}), ("t", 0, {}), ("c", 1, {"v": "b"})], keyless)
    assert log.apply(2, [("c", 7, {})], keyless).is_repeated
    assert log.rows("__op", "id", "v") == [
        ("r", 1, "a"),
        ("d", 1, "a"),
        ("c", 1, "b"),
        ("t", None, None),
        ("c", 1, "b"),
    ]
    with pytest.raises(HeadraceError, match=r"replicas\.no_key"):
        Kept(log.folder / "history", mode="history").apply(1, [("c", 1, {})], keyless)


class Killed(BaseException):
    """A kill: nothing is done after it."""


@pytest.mark.parametrize("mode", ["append", "history"])
@pytest.mark.parametrize("is_committed", [False, True])
def test_a_micro_batch_is_in_a_table_once_whenever_its_run_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, is_committed: bool
) -> None:
    kept_replica = Kept(tmp_path, mode=mode)
    kept_replica.apply(1, [("c", 1, {"v": "a"}), ("c", 2, {"v": "b"})])
    second: Sequence[Step] = [("u", 1, {"v": "c"}), ("d", 2, {})]
    commit = FolderCommit.commit

    def killed(self: FolderCommit, change: TableChange, properties: Mapping[str, str]) -> None:
        if is_committed:
            commit(self, change, properties)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(FolderCommit, "commit", killed)
        with pytest.raises(Killed):
            kept_replica.apply(2, second)
    kept_replica.replica = kept_replica.new_replica()
    assert kept_replica.apply(2, second).is_repeated is is_committed
    if mode == "append":
        assert kept_replica.rows("__op", "id") == [("c", 1), ("c", 2), ("u", 1), ("d", 2)]
    else:
        assert kept_replica.versions() == [(1, "a", 10, 20), (2, "b", 11, 21), (1, "c", 20, None)]
    of_batch = {name for name in kept_replica.lake.names if name.startswith(f"{files_of(QUERY)}2-")}
    assert of_batch
    assert of_batch <= kept_replica.lake.live_names


@pytest.mark.parametrize("mode", ["append", "history"])
def test_a_dropped_column_stays_and_another_one_of_its_name_is_beside_it(
    tmp_path: Path, mode: str
) -> None:
    def schema(*columns: Column) -> TableSchema:
        numbered = zip(columns, ("1", "2", "3", "4"), strict=False)
        return replace(SCHEMA, columns=tuple(c if c.id else replace(c, id=n) for c, n in numbered))

    kept_replica, (key, text, number) = Kept(tmp_path, mode=mode), COLUMNS
    kept_replica.apply(1, [("c", 1, {"v": "a", "w": 1})], schema(key, text, number))
    without = schema(key, replace(number, id="3"))
    kept_replica.apply(2, [("u", 1, {"w": 2})], without)
    assert kept_replica.rows("v", "w") == [("a", 1), (None, 2)]
    other = replace(COLUMNS[1], type=pa.int64(), id="4")
    kept_replica.apply(3, [("u", 1, {"w": 3, "v": 5})], schema(key, replace(number, id="3"), other))
    assert kept_replica.rows("v_former", "v", "w") == [
        ("a", None, 1),
        (None, None, 2),
        (None, 5, 3),
    ]
    renamed = schema(key, replace(number, id="3", name="x"), other)
    kept_replica.apply(4, [("u", 1, {"x": 4, "v": 6})], renamed)
    assert kept_replica.rows("v", "x")[-1] == (6, 4)
    assert kept_replica.rows("v_former", "x")[0] == ("a", 1)


def test_versions_get_the_default_of_a_new_column_and_rows_of_a_change_log_do_not(
    tmp_path: Path,
) -> None:
    late = replace(SCHEMA, columns=(*COLUMNS, Column("n", pa.int64(), default=7)))
    for mode, expected in (("append", [(None,), (8,)]), ("history", [(7,), (8,)])):
        kept_replica = Kept(tmp_path / mode, mode=mode)
        kept_replica.apply(1, [("c", 1, {"v": "a"})])
        kept_replica.apply(2, [("u", 1, {"v": "b", "n": 8})], late)
        assert kept_replica.rows("n") == expected


def test_a_type_that_a_column_cannot_take_begins_another_column_of_a_change_log(
    log: Kept, tmp_path: Path
) -> None:
    other = replace(SCHEMA, columns=(COLUMNS[0], Column("v", pa.int64()), COLUMNS[2]))
    log.apply(1, [("c", 1, {"v": "a"})])
    log.apply(2, [("u", 1, {"v": 5})], other)
    assert log.rows("v_former", "v") == [("a", None), (None, 5)]
    history = Kept(tmp_path / "history", mode="history")
    history.apply(1, [("c", 1, {"v": "a"})])
    with pytest.raises(HeadraceError, match=r"replicas\.column_not_taken"):
        history.apply(2, [("u", 1, {"v": 5})], other)
    history.apply(2, [("r", 1, {"v": 5})], other, is_copied=True, may_empty=True)
    assert history.rows("v_former", "v") == [("a", None), (None, 5)]


@pytest.mark.parametrize("restarts", [False, True])
def test_a_copy_of_a_history_closes_what_the_source_no_longer_has_and_keeps_what_is_equal(
    history: Kept, *, restarts: bool
) -> None:
    history.apply(1, [("c", key, {"v": "a"}) for key in (1, 2, 3)])
    history.apply(2, [("u", 1, {"v": "b"})])
    files = history.replica.files()
    history.apply(3, [("r", 1, {"v": "b"}), ("r", 2, {"v": "x"})], is_copied=True, may_empty=True)
    if restarts:
        history.replica = history.new_replica()
    history.replica.remove(files, files_of(QUERY))
    history.replica.remove(files, files_of(QUERY))
    versions = history.versions()
    assert [row[:3] for row in versions] == [
        (1, "a", 10), (2, "a", 11), (3, "a", 12), (1, "b", 20), (2, "x", 31)
    ]  # fmt: skip
    assert [row[3] is None for row in versions] == [False, False, False, True, True]
    assert [row[0] for row in history.rows("valid_to_position")][2] == f"{31:020}"


def test_a_copy_of_a_change_log_adds_rows(log: Kept) -> None:
    log.apply(1, [("c", 1, {"v": "a"})])
    files = log.replica.files()
    log.apply(2, [("r", 1, {"v": "a"})], is_copied=True, may_empty=True)
    log.replica.remove(files, files_of(QUERY))
    assert log.rows("__op", "v") == [("c", "a"), ("r", "a")]


def test_a_table_of_another_mode_is_refused_before_the_first_write(log: Kept) -> None:
    log.apply(1, [("c", 1, {"v": "a"})])
    log.options = ReplicaOptions.of({"mode": "history"})
    log.replica = log.new_replica()
    for act in (lambda: log.apply(2, [("c", 2, {})]), lambda: log.replica.prepare(SCHEMA, QUERY)):
        with pytest.raises(
            HeadraceError, match=r"mode=append, and the configuration says history for shop\.t"
        ) as c:
            act()
        assert c.value.code == "replicas.other_mode"
    assert log.rows("id") == [(1,)]


def test_options_choose_the_mode_of_each_table() -> None:
    modes = TableModes.of({"mode": "history", "append.tables": r"shop\.log_.*,SHOP\.t{1,2}"})
    names = ("shop.log_a", "shop.t", "shop.tt", "shop.ttt", "xshop.t")
    append, other = Mode.APPEND, Mode.HISTORY
    assert [modes.mode(name) for name in names] == [append, append, append, other, other]
    both = TableModes.of({"append.tables": "a.*", "history.tables": r"a\.b"})
    assert [both.mode(name) for name in ("a.c", "b.b")] == [append, Mode.REPLICA]
    with pytest.raises(
        HeadraceError, match=r"a\.b is selected by .*append.tables and by .*history"
    ):
        both.mode("a.b")
    with pytest.raises(HeadraceError, match=r"headrace.sink.append.tables=\(a is not a valid"):
        TableModes.of({"append.tables": "(a"})


def test_deletes_have_no_meaning_where_no_row_is_removed() -> None:
    for mode in ("append", "history"):
        with pytest.raises(HeadraceError, match=f"deletes=soft has no meaning .*mode={mode}"):
            ReplicaOptions.of({"mode": mode, "deletes": "soft"})
    assert ReplicaOptions.of({"append.tables": "a", "deletes": "soft"}).modes.mode("a") == "append"


@pytest.mark.parametrize("mode", ["replica", "append", "history"])
def test_no_file_has_a_row_of_a_key_that_was_erased(tmp_path: Path, mode: str) -> None:
    kept_replica = Kept(tmp_path, mode=mode)
    kept_replica.apply(1, [("c", 1, {"v": "a"}), ("c", 2, {"v": "b"}), ("c", 3, {"v": "c"})])
    kept_replica.apply(2, [("u", 1, {"v": "secret"}), ("d", 2, {})])
    kept_replica.apply(3, [("u", 1, {"v": "d"})])
    erased = erase(kept_replica.lake, {"id": 1}, HereRunner())
    assert erased.rows == (1 if mode == "replica" else 3)
    files = [file.path for file in kept_replica.lake.begin(ColumnChange()).files]
    for path in files:
        table = pq.read_table(path)
        assert 1 not in table.column(0).to_pylist()
        assert "secret" not in table.column(1).to_pylist()
    assert {row["id"] for row in kept_replica.lake.kept.rows()} == (
        {3} if mode == "replica" else {2, 3}
    )
    kept_replica.apply(4, [("u", 3, {"v": "e"})])
    assert erase(kept_replica.lake, {"id": 1}, HereRunner()) == Erased(0, 0)


def test_an_erasure_names_the_folders_that_may_still_have_the_key(tmp_path: Path) -> None:
    kept_replica, state = Kept(tmp_path), tmp_path / "own"
    kept_replica.apply(1, [("c", 1, {"v": "secret"})])
    state.mkdir()
    note_tables(state, [NAME])
    lines = [
        *erase_from(kept_replica.lake, state, "shop.t", '{"id": 1}', HereRunner(), lambda _: 0)
    ]
    assert not any(str(state) in line for line in lines)
    ComparisonState(state / "verify", NAME).keep(TableProgress("", Found(keys={"s.t": ((1,),)})))
    (state / "stopped" / "t").mkdir(parents=True)
    (state / "stopped" / "t" / "3-0.arrow").touch()
    lines = [
        *erase_from(kept_replica.lake, state, "shop.t", '{"id": 1}', HereRunner(), lambda _: 0)
    ]
    named = [line.split(" keeps ")[0] for line in lines if " keeps " in line]
    assert named == [str(state / "stopped"), str(state / "verify")]


def test_a_key_that_a_table_cannot_have_is_an_error(history: Kept) -> None:
    history.apply(1, [("c", 1, {"v": "a"})])
    for key, message in (
        ({"v": "a"}, "has the columns v"),
        ({}, "has the columns none"),
        ({"id": "x"}, "has a value of the column id that is no int64"),
    ):
        with pytest.raises(HeadraceError, match=message) as caught:
            erase(history.lake, key, HereRunner())
        assert caught.value.code == "replicas.no_such_key"


def test_a_comparison_with_the_source_sees_the_current_versions_only(history: Kept) -> None:
    history.apply(1, [("c", 1, {"v": "a"}), ("c", 2, {"v": "b"}), ("c", 3, {"v": "c"})])
    history.apply(2, [("u", 1, {"v": "x"}), ("d", 2, {})])
    assert isinstance(history.replica._table, FolderLake)
    replica_rows = ReplicaRows(history.replica._table, ("id", "v"))
    digests = np.concatenate([each.rows for each in replica_rows.digests()])
    expected_table = pa.table({"id": pa.array([1, 3], pa.int64()), "v": ["x", "c"]})
    assert sorted(digests) == sorted(row_digests(expected_table, ("id", "v")))
    places, rows = replica_rows.find(pa.table({"id": pa.array([1, 2, 3], pa.int64())}))
    assert len(places) == 2
    assert sorted(rows.to_pylist(), key=lambda row: row["id"]) == expected_table.to_pylist()
