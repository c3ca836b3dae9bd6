"""Rows that a snapshot reads later than the place in its log where it began, as after a restart, in
histories and change logs: no value is shown before the change that made it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.rows import RowKind, Sequences
from headrace.errors import HeadraceError
from headrace.sinks.replicas.applying.change_log import log_rows
from headrace.sinks.replicas.applying.closing import CloseStep, close_versions
from headrace.sinks.replicas.applying.folding import Folding
from headrace.sinks.replicas.applying.versions import Versions
from headrace.sinks.replicas.changes.part import (
    COMMIT_TIME,
    OLD_KEY,
    OPERATION,
    SEQUENCE,
    UNAVAILABLE,
    Operation,
)
from headrace.sinks.replicas.files.writing import write_files
from headrace.sinks.replicas.lake import Column, TableName, TableSchema
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.modes.own_columns import with_own_columns
from tests.sinks.replicas.applying.folder_storage import FolderTable

SCHEMA = TableSchema((Column("id", pa.int64()), Column("v", pa.int64())), ("id",))
INSERT, UPDATE, DELETE, READ = Operation
SEQUENCES = Sequences(3)
BEGUN, TAKEN = 10, 30
"""The places where the log begins, and at which the snapshot was taken again."""
KEYS = 4
Row = dict[str, Any]


def sequence(place: int, kind: RowKind, ordinal: int) -> str:
    return f"{SEQUENCES.beginning(place)}{kind:d}{ordinal:012x}{0:08x}"


def changes(*rows: tuple[int, Operation, int, int | None]) -> pa.Table:
    """Changes from (place, operation, key, value); None: the log does not carry the value. Rows of
    a snapshot are at BEGUN."""
    sequences = [
        sequence(BEGUN, RowKind.SNAPSHOT, number)
        if operation is READ
        else sequence(place, RowKind.TRANSACTION, number)
        for number, (place, operation, _, _) in enumerate(rows)
    ]
    times = [(BEGUN if operation is READ else place) * 1_000_000 for place, operation, _, _ in rows]
    return pa.table(
        {
            SEQUENCE: pa.array(sequences, pa.large_string()),
            OPERATION: pa.array([operation for _, operation, _, _ in rows], pa.int8()),
            COMMIT_TIME: pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
            f"{UNAVAILABLE}v": pa.array(
                [value is None and operation is not DELETE for _, operation, _, value in rows]
            ),
            "id": pa.array([key for _, _, key, _ in rows], pa.int64()),
            "v": pa.array([value for _, _, _, value in rows], pa.int64()),
        }
    )


@dataclass
class History:
    """Current versions in memory, and all closed ones."""

    current: pa.Table | None = None
    closed: list[Row] = field(default_factory=list)

    def apply(
        self, *rows: tuple[int, Operation, int, int | None], snapshot_place: int | None
    ) -> None:
        """Apply a micro-batch of a query whose snapshot was taken at a place (None: where it
        began)."""
        place = "" if snapshot_place is None else SEQUENCES.beginning(snapshot_place)
        versions = Versions([changes(*rows)], SCHEMA, shown_until=[place], table="shop.orders")
        touched = set(versions.keys["id"].to_pylist())
        if self.current is None:
            version_rows = versions.rows(None)
        else:
            is_touched = pa.array(
                [key in touched for key in self.current["id"].to_pylist()], pa.bool_()
            )
            touched_rows = self.current.filter(is_touched)
            rest = self.current.filter(pa.compute.invert(is_touched))
            version_rows = pa.concat_tables(
                [versions.rows(touched_rows), rest.select(touched_rows.column_names)]
            )
        self.closed += version_rows.filter(
            pa.compute.invert(version_rows["is_current"])
        ).to_pylist()
        self.current = version_rows.filter(version_rows["is_current"])

    def intervals(self) -> set[tuple[int, int, int, int | None]]:
        """(key, value, first second, second of the end or None) of all versions."""
        assert self.current is not None
        return {
            (
                row["id"],
                row["v"],
                int(row["valid_from"].timestamp()),
                None if row["valid_to"] is None else int(row["valid_to"].timestamp()),
            )
            for row in [*self.closed, *self.current.to_pylist()]
        }


class Source:
    """A table whose changes are at the places after BEGUN, one at each."""

    def __init__(self, first: dict[int, int], drawn: list[tuple[int, bool]]) -> None:
        self.rows = [dict(first)]
        self.log: list[tuple[int, Operation, int, int | None]] = []
        for number, (key, deletes) in enumerate(drawn, 1):
            place, rows = BEGUN + number, dict(self.rows[-1])
            if deletes and key in rows:
                del rows[key]
                self.log.append((place, DELETE, key, None))
            else:
                operation = UPDATE if key in rows else INSERT
                rows[key] = 1000 + number
                self.log.append((place, operation, key, rows[key]))
            self.rows.append(rows)

    def at(self, place: int) -> dict[int, int]:
        return self.rows[min(place - BEGUN, len(self.rows) - 1)]

    def versions(self, late: set[int]) -> set[tuple[int, int, int, int | None]]:
        """The intervals of all versions, but for those of the keys in `late` that ended before the
        snapshot read them."""
        expected_versions: set[tuple[int, int, int, int | None]] = set()
        for key in range(KEYS):
            begun = BEGUN if key in self.rows[0] else None
            value = self.rows[0].get(key, 0)
            for place, operation, changed, new in self.log:
                if changed != key:
                    continue
                is_unknown = key in late and begun == BEGUN and place < TAKEN
                if begun is not None and not is_unknown:
                    expected_versions.add((key, value, begun, place))
                begun = None if operation is DELETE else place
                value = new or 0
            if begun is not None:
                expected_versions.add((key, value, begun, None))
        return expected_versions


@given(
    first=st.dictionaries(st.integers(0, KEYS - 1), st.integers(0, 9)),
    drawn=st.lists(st.tuples(st.integers(0, KEYS - 1), st.booleans()), max_size=40),
    late=st.sets(st.integers(0, KEYS - 1)),
    reread=st.sets(st.integers(0, KEYS - 1)),
    sizes=st.lists(st.integers(1, 12), min_size=1),
)
def test_a_history_shows_no_value_before_the_change_that_made_it(
    first: dict[int, int],
    drawn: list[tuple[int, bool]],
    late: set[int],
    reread: set[int],
    sizes: list[int],
) -> None:
    source, history = Source(first, drawn), History()
    reread = reread & first.keys()
    early = [(BEGUN, READ, key, first[key]) for key in first if key not in late]
    history.apply(*early, snapshot_place=None)
    visible_rows = source.at(TAKEN - 1)
    # Rows that were read early may be read again.
    again = [
        (BEGUN, READ, key, visible_rows[key])
        for key in visible_rows
        if key in late or key in reread
    ]
    history.apply(*again, snapshot_place=TAKEN)
    log, sizes = list(source.log), list(sizes)
    while log:
        size = sizes.pop() if len(sizes) > 1 else sizes[0]
        history.apply(*log[:size], snapshot_place=TAKEN)
        del log[:size]
    assert history.intervals() == source.versions(late)


def test_rows_and_changes_that_waited_are_applied_in_one_micro_batch() -> None:
    history = History()
    history.apply((BEGUN, READ, 1, 7), (20, UPDATE, 1, 7), (40, UPDATE, 1, 8), snapshot_place=TAKEN)
    assert history.intervals() == {(1, 7, 20, 40), (1, 8, 40, None)}


def test_a_change_at_the_place_of_the_snapshot_is_not_in_its_rows() -> None:
    history = History()
    history.apply((BEGUN, READ, 1, 7), snapshot_place=TAKEN)
    history.apply((TAKEN, UPDATE, 1, 8), snapshot_place=TAKEN)
    assert history.intervals() == {(1, 7, BEGUN, TAKEN), (1, 8, TAKEN, None)}


def test_rows_that_were_read_in_time_keep_their_version_if_all_are_applied_together() -> None:
    history = History()
    parts = [changes((BEGUN, READ, 1, 7)), changes((BEGUN, READ, 2, 9))]
    places = ["", SEQUENCES.beginning(TAKEN)]
    history.current = Versions(parts, SCHEMA, shown_until=places).rows(None)
    history.apply((20, UPDATE, 1, 8), (21, UPDATE, 2, 9), snapshot_place=TAKEN)
    assert history.intervals() == {(1, 7, BEGUN, 20), (1, 8, 20, None), (2, 9, 21, None)}


def test_a_row_that_was_deleted_before_it_was_read_has_no_version_with_unknown_values() -> None:
    history = History()
    history.apply((BEGUN, READ, 1, 7), snapshot_place=TAKEN)
    history.apply((20, UPDATE, 2, None), (21, DELETE, 2, None), snapshot_place=TAKEN)
    assert history.intervals() == {(1, 7, BEGUN, None)}


@pytest.mark.parametrize(
    "rows",
    [
        [(20, UPDATE, 3, None)],  # the snapshot would have found it
        [(31, UPDATE, 3, None), (32, DELETE, 3, None)],  # it was not deleted before the snapshot
        [(20, UPDATE, 3, None), (31, DELETE, 3, None)],
        [(20, DELETE, 3, None), (21, INSERT, 3, 7), (22, DELETE, 3, None), (23, INSERT, 3, None)],
    ],
)
def test_a_value_that_is_unknown_for_another_reason_is_an_error(
    rows: list[tuple[int, Operation, int, int | None]],
) -> None:
    with pytest.raises(HeadraceError, match=r"replicas\.value_unknown"):
        History().apply(*rows, snapshot_place=TAKEN)


def moved(before: list[tuple[int, Operation, int, int | None]], former: int, key: int) -> pa.Table:
    """Changes of which the last one but one inserts a row under a key that had the former one, and
    does not carry its value; the last one inserts a row under the former key."""
    rows = changes(
        *before, (23, DELETE, former, None), (23, INSERT, key, None), (24, INSERT, former, 9)
    )
    olds = [None] * (len(before) + 1) + [{"id": former}, None]
    return rows.append_column(OLD_KEY, pa.array(olds, pa.struct([("id", pa.int64())])))


@pytest.mark.parametrize("fold", [Folding, Versions])
def test_a_row_that_moved_does_not_get_the_value_of_the_row_that_has_its_former_key(
    fold: type[Folding],
) -> None:
    freed = moved([(20, DELETE, 2, None)], former=1, key=2)
    place = [SEQUENCES.beginning(TAKEN)]
    stored = History()
    stored.apply((BEGUN, READ, 1, 9), (BEGUN, READ, 2, 5), snapshot_place=TAKEN)
    with pytest.raises(HeadraceError, match=r"replicas\.value_unknown"):
        fold([freed], SCHEMA, shown_until=place).rows(stored.current)
    # The key was free, so its stored row is the one that moved.
    rows = fold([moved([], former=1, key=2)], SCHEMA, shown_until=place).rows(stored.current)
    assert (2, 5) in {(row["id"], row["v"]) for row in rows.to_pylist()}
    # The snapshot is older than these changes, so the row of the former key is the one that moved.
    rows = fold([freed], SCHEMA).rows(stored.current)
    assert (2, 9) in {(row["id"], row["v"]) for row in rows.to_pylist()}


def test_a_change_log_has_the_row_at_the_place_where_it_was_read() -> None:
    rows = log_rows(
        [changes((BEGUN, READ, 1, 7), (20, UPDATE, 1, 7), (40, UPDATE, 1, 8))],
        SCHEMA,
        shown_until=[SEQUENCES.beginning(TAKEN)],
    )
    assert rows["__op"].to_pylist() == ["u", "r", "u"]
    assert rows["__position"].to_pylist() == sorted(rows["__position"].to_pylist())


def test_a_truncate_removes_versions_that_were_read_after_it(tmp_path: Any) -> None:
    table = FolderTable(
        tmp_path, with_own_columns(TableName(("shop",), "orders"), SCHEMA, Mode.HISTORY)
    )
    history = History()
    history.apply((BEGUN, READ, 1, 5), snapshot_place=None)
    history.apply((BEGUN, READ, 2, 7), snapshot_place=TAKEN)
    assert history.current is not None
    storage = table.storage
    files = write_files(storage, history.current.select(storage.schema.names), "versions")
    end = sequence(20, RowKind.TRANSACTION, 1), 20_000_000
    closing = close_versions(CloseStep(storage, files, "closed", end, drops_begun_after=True))
    assert closing.closed == 1
    assert [file.rows for file in closing.files] == [1]
