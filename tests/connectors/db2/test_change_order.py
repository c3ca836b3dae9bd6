"""Rows of change tables become changes in the order of commits and of the log, each one once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.images import make_image
from headrace.connectors.db2.lsn import format_lsn
from headrace.connectors.db2.streaming import frames
from headrace.connectors.db2.streaming.change_table import ChangeTable
from headrace.connectors.db2.streaming.recorded_tables import SchemaChange
from headrace.relational import schema_changes
from tests.connectors.db2.change_rows import (
    IMAGES,
    Change,
    Row,
    Rows,
    Transaction,
    change_table,
    lsn,
    read,
    written,
)


def changes_of(operations: str) -> list[tuple[str, tuple[int, ...]]]:
    """Kinds and row numbers of the changes of one transaction's rows in one table."""
    rows = [(lsn(7), lsn(10 + n), letter, n) for n, letter in enumerate(operations)]
    ((transaction),) = read(written([change_table(rows, 0, (1000,))]))
    return [(change.kind, change.ids) for change in transaction.changes]


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ("I", [("c", (0,))]),
        ("D", [("d", (0,))]),
        ("U", [("w", (0,))]),
        ("DI", [("u", (0, 1))]),
        ("IDI", [("c", (0,)), ("u", (1, 2))]),
        ("DDII", [("d", (0,)), ("u", (1, 2)), ("c", (3,))]),
        ("DID", [("u", (0, 1)), ("d", (2,))]),
        ("DII", [("u", (0, 1)), ("c", (2,))]),
        ("II", [("c", (0,)), ("c", (1,))]),
        ("DIDI", [("u", (0, 1)), ("u", (2, 3))]),
        ("DUI", [("d", (0,)), ("w", (1,)), ("c", (2,))]),
    ],
)
def test_a_delete_that_an_insert_follows_is_an_update(
    operations: str, expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert changes_of(operations) == expected


def test_a_pair_does_not_reach_into_the_next_commit() -> None:
    rows = [(lsn(7), lsn(10), "D", 1), (lsn(8), lsn(11), "I", 2)]
    kinds = [
        change.kind
        for transaction in read(written([change_table(rows, 0)]))
        for change in transaction.changes
    ]
    assert kinds == ["d", "c"]


def test_an_update_shows_the_number_of_its_second_half() -> None:
    rows = [(lsn(7), lsn(10), "D", 1), (lsn(7), lsn(11), "I", 2)]
    ((transaction),) = read(written([change_table(rows, 0)]))
    assert transaction.commit_lsn == "00000000:00000000:0000000000000007"
    assert [change.change_lsn for change in transaction.changes] == [format_lsn(lsn(11))]


def test_numbers_of_ten_bytes_have_their_own_text() -> None:
    rows = [(lsn(0x48C31B, 10), lsn(0x48C2F1, 10), "I", 1)]
    ((transaction),) = read(written([change_table(rows, 0)], 10))
    assert transaction.commit_lsn == "00000000:00000048:c31b"
    assert transaction.place == 0x48C31B
    assert transaction.changes[0].change_lsn == "00000000:00000048:c2f1"


def test_rows_without_a_place_are_left_out_with_a_word(caplog: pytest.LogCaptureFixture) -> None:
    rows: list[Row] = [(None, lsn(1), "I", 1), (lsn(2), lsn(3), "I", 2)]  # type: ignore[list-item]
    ((transaction),) = read(written([change_table(rows, 0, (10,))]))
    assert [change.ids for change in transaction.changes] == [(2,)]
    assert "1 rows of the change table ASNCDC.CD0 have no commit or intent sequence" in caplog.text


def test_a_fetch_is_bounded_by_what_its_rows_could_hold() -> None:
    """Rows that were small so far may all be large from now on."""
    row_counts: list[int] = []

    class Asked(Rows):
        def _take(self, rows: int) -> Sequence[Row]:
            row_counts.append(rows)
            return super()._take(rows)

    def most(widest_row: int, tables: int) -> int:
        row_counts.clear()
        rows = [(lsn(7), lsn(10 + n), "I", n) for n in range(2000)]
        table = ChangeTable(
            Asked(rows, (2000,)), IMAGES, 0, ("ASNCDC", "CD"), 10_000, tables, widest_row
        )
        written([table])
        return max(row_counts)

    assert most(100, 1) == 10_000
    assert most(20_000, 1) * 20_000 <= 64 << 20
    assert most(20_000, 4) * 20_000 <= 16 << 20
    assert most(32_000, 1000) == 500, "as many as the first fetch takes"


TRANSACTIONS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(("I", "D", "DI", "U"))), max_size=6),
    max_size=8,
)
"""Per transaction: the tables that it changes in turn, and the rows that each change makes."""


@given(TRANSACTIONS, st.randoms(use_true_random=False), st.sampled_from((10, 16)), st.data())
def test_every_transaction_comes_once_and_in_order(
    transactions: Sequence[Sequence[tuple[int, str]]],
    random: object,
    size: int,
    data: st.DataObject,
) -> None:
    """This holds whatever the interleaving of transactions in the log, and however rows are
    fetched."""
    turns = [number for number, transaction in enumerate(transactions) for _ in transaction]
    random.shuffle(turns)  # type: ignore[attr-defined]
    intents, ids = itertools.count(1 << 70 if size == 10 else 1 << 100), itertools.count()
    waiting = [list(transaction) for transaction in transactions]
    rows: dict[int, list[Row]] = {0: [], 1: [], 2: []}
    for number in turns:
        table, letters = waiting[number].pop(0)
        for letter in letters:
            place = lsn((number + 1) << 60, size), lsn(next(intents), size)
            rows[table].append((*place, letter, next(ids)))
    for table_rows in rows.values():
        table_rows.sort(key=lambda row: row[:2])
    sizes = [data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)) for _ in rows]
    tables = [change_table(table_rows, table, sizes[table]) for table, table_rows in rows.items()]
    assert list(read(written(tables, size))) == model(rows)


def model(rows: dict[int, list[Row]]) -> list[Transaction]:
    """The same transactions, computed one row after the other."""
    changes: dict[bytes, list[tuple[bytes, Change]]] = {}
    for table, table_rows in rows.items():
        for commit, group in itertools.groupby(table_rows, key=lambda row: row[0]):
            commit_changes = changes.setdefault(commit, [])
            waiting = list(group)
            while waiting:
                first = waiting.pop(0)
                kind = {"I": "c", "D": "d", "U": "w"}[first[2]]
                last, ids = first, (first[3],)
                if first[2] == "D" and waiting and waiting[0][2] == "I":
                    last = waiting.pop(0)
                    kind, ids = "u", (first[3], last[3])
                commit_changes.append((first[1], Change(table, kind, format_lsn(last[1]), ids)))
    return [
        Transaction(
            format_lsn(commit),
            int.from_bytes(commit, "big"),
            tuple(change for _, change in sorted(commit_changes, key=lambda pair: pair[0])),
        )
        for commit, commit_changes in sorted(changes.items())
        if commit_changes
    ]


def test_a_schema_change_comes_once_before_the_first_change_of_its_table() -> None:
    places: list[tuple[bytes, bytes]] = []

    def schema_change_at(commit_lsn: bytes, change_lsn: bytes) -> SchemaChange:
        places.append((commit_lsn, change_lsn))
        return SchemaChange(make_image(["99"]), 5)

    rows = [(lsn(7, 10), lsn(n, 10), "I", n) for n in (11, 13, 15)]
    late = change_table([(lsn(7, 10), lsn(12, 10), "I", 12)], 1)
    late.schema_change = schema_change_at
    ((transaction),) = read(written([change_table(rows, 0), late], 10))
    assert [(change.table, change.kind, change.ids) for change in transaction.changes] == [
        (0, "c", (11,)),
        (5, "s", (99,)),
        (1, "c", (12,)),
        (0, "c", (13,)),
        (0, "c", (15,)),
    ]
    assert places == [(lsn(7, 10), lsn(12, 10))]


def test_the_row_of_a_schema_change_has_the_operation_that_all_connectors_give_it() -> None:
    assert frames.SCHEMA_CHANGE == schema_changes.OPERATION
