"""Effects of rows against a plain reading of the same rows."""

from __future__ import annotations

import ctypes
import logging
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connectors.oracle.streaming import redo_rows
from headrace.connectors.oracle.streaming.row_effects import RowEffects, RowOptions
from headrace.connectors.oracle.streaming.transactions import hold_kernel
from headrace.connectors.oracle.streaming.transactions.buffer import Names
from headrace.errors import HeadraceError
from tests.connectors.oracle.streaming import redo
from tests.connectors.oracle.streaming.tables import FoundTable
from tests.examples import examples

A = "0100020003000000"
_ACTIONS = {
    redo_rows.START: hold_kernel.STARTS,
    redo_rows.COMMIT: hold_kernel.COMMITS,
    redo_rows.ROLLED_BACK: hold_kernel.ENDS,
    redo_rows.REPLICATION_MARKER: hold_kernel.ENDS,
}
_CHANGES = (redo_rows.INSERT, redo_rows.UPDATE, redo_rows.DELETE)


def effects_of(options: RowOptions, users: Names | None = None) -> RowEffects:
    """A maker of row effects for the tables S.T1 and S.T2."""
    names = users or Names((), ())
    return RowEffects(FoundTable.named, redo.statements(), names, Names((), ()), options)


_NAME = st.sampled_from([None, "", "S", "T1", "T2", "NÄME", "x" * 40])
_TEXT = st.one_of(st.none(), st.text(" \tAé0x.", max_size=20))
_ROW = st.fixed_dictionaries(
    {
        "SCN": st.one_of(st.none(), st.integers(0, 2**62)),
        "OPERATION_CODE": st.sampled_from([0, 1, 2, 3, 6, 7, 9, 27, 36, 255, 300]),
        "XID": st.one_of(st.none(), st.binary(min_size=8, max_size=8), st.binary(max_size=8)),
        "ROLLBACK": st.sampled_from([None, 0, 0, 0, 1]),
        "STATUS": st.none(),
        "SEG_OWNER": _NAME,
        "TABLE_NAME": _NAME,
        "ROW_ID": _TEXT,
        "RS_ID": _TEXT,
        "USERNAME": _NAME,
        "CLIENT_ID": _NAME,
        "SQL_REDO": _TEXT,
        "THREAD#": st.one_of(st.none(), st.integers(1, 4)),
        "SSN": st.one_of(st.none(), st.integers(0, 9)),
    }
)


def _text(effects: np.ndarray, word: int) -> str | None:
    if not effects[word]:
        return None
    return ctypes.string_at(int(effects[word]), int(effects[word + 1])).decode()


def _assert_plain(effects: np.ndarray, row: dict[str, Any], users: Names) -> None:
    """Checks that a row's effects have the content of the row."""
    code, undone = row["OPERATION_CODE"], bool(row["ROLLBACK"])
    is_captured = row["SEG_OWNER"] == "S" and row["TABLE_NAME"] in ("T1", "T2")
    action = _ACTIONS.get(code, hold_kernel.NOTHING)
    if code in _CHANGES and is_captured and undone:
        action = hold_kernel.CANCELS
    elif code in _CHANGES and is_captured and row["SQL_REDO"]:
        action = hold_kernel.CHANGES
    assert effects[hold_kernel.ACTION] == action
    assert effects[hold_kernel.SCN] == (row["SCN"] or 0)
    xid = (row["XID"] or b"").rjust(8, b"\0")
    assert int(effects[hold_kernel.XID]) == int.from_bytes(xid, "big", signed=True)
    assert effects[hold_kernel.THREAD] == (row["THREAD#"] or 0)
    assert effects[hold_kernel.SSN] == (row["SSN"] or 0)
    user = row["USERNAME"]
    assert effects[hold_kernel.USER] == (-1 if user is None else users.number(user))
    assert (_text(effects, hold_kernel.RS_ID) or "") == (row["RS_ID"] or "").strip(" \t")
    row_id = row["ROW_ID"] if (row["ROW_ID"] or "").strip(" \t") else None
    assert _text(effects, hold_kernel.ROW_ID) == row_id
    assert (_text(effects, hold_kernel.REDO) or "") == (row["SQL_REDO"] or "")
    if action == hold_kernel.CHANGES:
        assert effects[hold_kernel.RELATION] == 3
        assert _text(effects, hold_kernel.IMAGES) == row["SQL_REDO"]


@given(st.lists(_ROW, min_size=1, max_size=12), st.integers(0, 11), st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_words_are_what_the_rows_say_also_of_a_part_of_a_batch(
    rows: list[dict[str, Any]], first: int, is_read_before: bool
) -> None:
    users = Names((), ())
    maker = effects_of(RowOptions(shows_redo=True, shows_ssn=True), users)
    batch = redo.batch(rows)
    if is_read_before:
        maker.of(batch, np.zeros(len(rows), bool))
    first = min(first, len(rows) - 1)
    part = batch.slice(first)
    row_effects = maker.of(part, np.zeros(len(part), bool)).effects
    for effects, row in zip(row_effects, rows[first:], strict=True):
        _assert_plain(effects, row, users)


def test_rows_of_the_same_row_id_have_the_same_hash_and_of_others_have_others() -> None:
    ids = ["AAAR3sAAEAAAACXAAA", "AAAR3sAAEAAAACXAAB", "AAAR3sAAEAAAACXAAA", None]
    rows = [redo.change("c", 11, A, new=["1"], ROW_ID=number) for number in ids]
    row_effects = effects_of(RowOptions()).of(redo.batch(rows), np.zeros(4, bool)).effects
    first, other, same, none = row_effects[:, hold_kernel.ROW_HASH].tolist()
    assert first == same
    assert len({first, other, none}) == 3


def test_more_names_than_are_looked_up_at_first() -> None:
    users = Names((), ())
    rows = [
        redo.change("c", 11, A, new=["1"], USERNAME=f"U{number % 300}") for number in range(900)
    ]
    row_effects = effects_of(RowOptions(), users).of(redo.batch(rows), np.zeros(900, bool)).effects
    numbers = row_effects[:, hold_kernel.USER].tolist()
    assert [users.name(number) for number in numbers] == [row["USERNAME"] for row in rows]


def test_the_user_unknown_is_no_user() -> None:
    rows = [redo.start(10, A, USERNAME="UNKNOWN")]
    row_effects = effects_of(RowOptions()).of(redo.batch(rows), np.zeros(1, bool)).effects
    assert row_effects[0, hold_kernel.USER] == -1


def test_a_commit_that_was_delivered_drops_its_transaction() -> None:
    rows = [redo.commit(10, A), redo.commit(11, A)]
    row_effects = effects_of(RowOptions()).of(redo.batch(rows), np.array([True, False])).effects
    assert row_effects[:, hold_kernel.ACTION].tolist() == [hold_kernel.ENDS, hold_kernel.COMMITS]


def test_statements_that_logminer_could_not_make_end_the_stream_or_are_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = [redo.change("c", 11, A, new=["1"], STATUS=2, INFO="no column")]
    with pytest.raises(HeadraceError, match=r"S\.T1 at SCN 11: no column"):
        effects_of(RowOptions()).of(redo.batch(rows), np.zeros(1, bool))
    with caplog.at_level(logging.WARNING):
        batch_effects = effects_of(RowOptions(failure="warn")).of(
            redo.batch(rows), np.zeros(1, bool)
        )
    assert batch_effects.effects[0, hold_kernel.ACTION] == hold_kernel.NOTHING
    assert "the change is left out" in caplog.text


@pytest.mark.parametrize("info", [None, "", "  "])
def test_a_status_of_2_without_a_reason_is_a_change_like_others(info: str | None) -> None:
    """LogMiner reports updates of tables with LONG columns so, and their statements are good."""
    rows = [
        redo.change("u", 11, A, old=["1"], new=["2"], STATUS=2, INFO=info),
        redo.change("c", 12, A, new=["3"]),
        redo.change("d", 13, A, old=["1"], STATUS=2, INFO=info, ROLLBACK=1),
    ]
    maker = effects_of(RowOptions())
    row_effects = maker.of(redo.batch(rows), np.zeros(3, bool)).effects
    changes, cancels = hold_kernel.CHANGES, hold_kernel.CANCELS
    assert row_effects[:, hold_kernel.ACTION].tolist() == [changes, changes, cancels]
    assert _text(row_effects[0], hold_kernel.IMAGES) == rows[0]["SQL_REDO"]


@pytest.mark.parametrize("statement", [None, ""])
def test_a_change_without_a_statement_is_left_out_only_where_logminer_has_made_it(
    statement: str | None,
) -> None:
    rows = [redo.change("c", 11, A, new=["1"], STATUS=2, SQL_REDO=statement)]
    with pytest.raises(HeadraceError, match="STATUS is 2"):
        effects_of(RowOptions()).of(redo.batch(rows), np.zeros(1, bool))


@pytest.mark.parametrize("failure", ["fail", "warn", "skip"])
def test_operations_that_logminer_does_not_know_are_reported_for_captured_tables(
    failure: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [
        redo.row(
            redo_rows.UNSUPPORTED, scn, A, SEG_OWNER="S", TABLE_NAME=table, INFO="no", STATUS=2
        )
        for scn, table in ((11, "T1"), (12, "OTHER"), (13, None))
    ]
    batch_effects = effects_of(RowOptions(failure=failure)).of(redo.batch(rows), np.zeros(3, bool))
    assert batch_effects.effects[:, hold_kernel.ACTION].tolist() == [hold_kernel.NOTHING] * 3
    (message,) = caplog.messages
    assert (
        f"S.T1: 1 rows, the last one in transaction {A} at SCN 11, RS_ID 0x00000b.00000001"
        in message
    )


def test_a_new_table_is_looked_for_at_its_own_row() -> None:
    rows = [
        redo.start(10, A),
        redo.change("c", 11, A, new=["1"]),
        redo.change("c", 12, A, new=["1", "2"]),
        redo.change("c", 13, A, new=["1"]),
    ]
    known_tables: list[str] = []

    def find(schema: str, name: str) -> FoundTable | None:
        known_tables.append(name)
        return FoundTable.named(schema, name)

    names = Names((), ())
    maker = RowEffects(
        find, redo.statements(), names, names, RowOptions(),
        is_new=lambda _schema, name: name not in known_tables,
    )  # fmt: skip
    batch, counts = redo.batch(rows), []
    while len(batch):
        counts.append(len(maker.of(batch, np.zeros(len(batch), bool)).effects))
        batch = batch.slice(counts[-1])
    assert counts == [1, 1, 2]
    assert known_tables[:2] == ["T1", "T2"]


def test_numbered_columns_are_a_statement_where_they_are_read() -> None:
    text = 'insert into "S"."T1"("COL 1") values (\'1\');'
    rows = [redo.change("c", 11, A, new=["1"], STATUS=2, SQL_REDO=text)]
    batch_effects = effects_of(RowOptions(numbers_columns=True)).of(
        redo.batch(rows), np.zeros(1, bool)
    )
    assert batch_effects.effects[0, hold_kernel.ACTION] == hold_kernel.CHANGES


def test_columns_that_are_not_read_are_null() -> None:
    batch = redo.batch([redo.change("c", 11, A, new=["1"])])
    for name in ("RS_ID", "USERNAME", "CLIENT_ID"):
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, batch.schema.field(place), pa.nulls(1, pa.string()))
    row_effects = effects_of(RowOptions()).of(batch, np.zeros(1, bool)).effects
    assert row_effects[0, hold_kernel.RS_ID_BYTES] == 0
    assert row_effects[0, [hold_kernel.USER, hold_kernel.CLIENT]].tolist() == [-1, -1]
