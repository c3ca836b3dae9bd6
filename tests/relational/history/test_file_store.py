"""A schema history in a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.relational.history.file_store import FileStore
from tests.relational.history.cases import CASES, RECORDS

LINES = [case.to_line() for case in CASES]


def test_the_file_is_that_of_debezium(tmp_path: Path) -> None:
    path = tmp_path / "made" / "history.jsonl"
    store = FileStore(path)
    assert list(store.lines()) == []
    store.append(LINES[:2])
    store.append([])
    FileStore(path).append(LINES[2:])
    assert path.read_bytes() == RECORDS.read_bytes()
    assert [line.decode() for line in store.lines()] == LINES
    store.close()


@given(st.integers(0, 40_000))
def test_a_kill_while_a_record_is_written_leaves_the_whole_ones(
    tmp_path_factory: pytest.TempPathFactory, size: int
) -> None:
    whole = RECORDS.read_bytes()
    size %= len(whole) + 1
    path = tmp_path_factory.mktemp("history") / "history"
    path.write_bytes(whole[:size])
    count = whole[:size].count(b"\n")
    # The last line may lack nothing but its end.
    count += whole[size : size + 1] == b"\n" and whole[:size][-1:] != b"\n"
    store = FileStore(path)
    assert [line.decode() for line in store.lines()] == LINES[:count]
    store.append(LINES[:1])
    assert [line.decode() for line in FileStore(path).lines()] == [*LINES[:count], LINES[0]]


def test_a_line_longer_than_what_is_looked_at_is_healed_too(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text(LINES[0] + "\n{" + "x" * 200_000)
    FileStore(path).append(LINES[1:2])
    assert path.read_text().splitlines() == LINES[:2]


def test_lines_with_the_ends_of_windows_and_empty_ones_are_read(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(LINES[0].encode() + b"\r\n\n" + LINES[1].encode() + b"\r\n")
    assert [line.decode() for line in FileStore(path).lines()] == LINES[:2]


def test_a_path_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    with pytest.raises(HeadraceError, match=r"\[relational\.history_unreadable\]"):
        list(store.lines())
    with pytest.raises(HeadraceError, match=r"\[relational\.history_not_written\]"):
        store.append(LINES)
