"""Parts into the output exactly once, whatever happens in between."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.file import parts as files
from headrace.sinks.file import tail
from headrace.sinks.file.output import Output
from headrace.sinks.file.parts import FilePart
from tests.sinks.parts import Stop, values, write_part


@pytest.fixture
def output(tmp_path):
    output = Output(tmp_path / "out.jsonl", tmp_path / "state")
    output.open()
    return output


def test_parts_are_joined_in_the_order_of_their_sequences(output, tmp_path):
    parts = [write_part(tmp_path, 1, i, range(10 * i, 10 * i + 10)) for i in (2, 0, 1)]
    output.commit([*parts, FilePart("1-3-0", 0, 0, b"", b"", True, False)], 1, "q")
    assert values(output) == list(range(30))
    assert list(output.parts.iterdir()) == []


def test_slices_by_key_are_merged(output, tmp_path):
    parts = [write_part(tmp_path, 1, i, range(i, 30, 3), indexed=True) for i in range(3)]
    output.commit(parts, 1, "q")
    assert values(output) == list(range(30))


def test_an_unsorted_part_is_sorted(output, tmp_path):
    output.commit([write_part(tmp_path, 1, 0, [5, 3, 9, 1], indexed=True)], 1, "q")
    assert values(output) == [1, 3, 5, 9]


def test_overlapping_parts_without_index_are_refused(output, tmp_path):
    parts = [write_part(tmp_path, 1, i, range(i, 30, 3)) for i in range(3)]
    with pytest.raises(HeadraceError, match=r"file\.overlapping_slices"):
        output.commit(parts, 1, "q")


def test_a_repeated_batch_is_written_once(output, tmp_path):
    for _ in range(2):
        output.commit([write_part(tmp_path, 1, 0, range(5))], 1, "q")
    assert values(output) == list(range(5))
    assert list(output.parts.iterdir()) == []


@pytest.mark.parametrize("call", ["os.fsync", "os.pwrite", "pathlib.Path.replace"])
@pytest.mark.parametrize("nth", range(4))
@pytest.mark.parametrize("rows", [5, 500])
def test_a_kill_during_commit_loses_and_repeats_nothing(
    output, tmp_path, monkeypatch, call, nth, rows
):
    monkeypatch.setattr(tail, "_LARGE_BYTES", 10_000)
    monkeypatch.setattr(tail, "_BUFFER_BYTES", 8192)

    def parts():
        pieces = [range(5 + rows * i, 5 + rows * (i + 1)) for i in range(3)]
        return [write_part(tmp_path, 2, i, piece) for i, piece in enumerate(pieces)]

    output.commit([write_part(tmp_path, 1, 0, range(5))], 1, "q")
    target, name = (os, call[3:]) if call.startswith("os.") else (Path, "replace")
    original, calls = getattr(target, name), [0]

    def dying(*arguments):
        calls[0] += 1
        if calls[0] == nth + 1:
            raise Stop
        return original(*arguments)

    written = parts()
    monkeypatch.setattr(target, name, dying)
    with suppress(Stop):
        output.commit(written, 2, "q", keep_files=True)
    monkeypatch.setattr(target, name, original)
    again = Output(output.path, output.folder)
    again.open()
    again.commit(parts(), 2, "q", keep_files=True)
    assert values(again) == list(range(5 + 3 * rows))


def test_another_checkpoint_is_refused(output, tmp_path):
    output.commit([write_part(tmp_path, 7, 0, range(5))], 7, "q")
    for batch, query in ((0, ""), (1, "other"), (8, "other"), (3, "q")):
        parts = [write_part(tmp_path, batch, 0, range(5))] if query else []
        with pytest.raises(HeadraceError, match=r"file\.other_checkpoint"):
            output.commit(parts, batch, query)
    assert values(output) == list(range(5))


def test_a_file_of_somebody_else_is_not_touched(tmp_path):
    (tmp_path / "out.jsonl").write_text("mine\n")
    with pytest.raises(HeadraceError, match=r"file\.output_exists"):
        Output(tmp_path / "out.jsonl", tmp_path / "state").open()
    assert (tmp_path / "out.jsonl").read_text() == "mine\n"


def test_a_shortened_output_is_refused(output, tmp_path):
    output.commit([write_part(tmp_path, 1, 0, range(5))], 1, "q")
    os.truncate(output.path, 3)
    with pytest.raises(HeadraceError, match=r"file\.output_shortened"):
        output.open()


def test_what_something_else_appended_is_reported_and_cut_off(output, tmp_path, caplog):
    output.commit([write_part(tmp_path, 1, 0, range(5))], 1, "q")
    output.open()
    assert caplog.messages == []
    with output.path.open("a") as file:
        file.write("mine\n")
    output.open()
    (message,) = caplog.messages
    assert "out.jsonl has 5 bytes after the last complete micro-batch" in message
    output.commit([write_part(tmp_path, 2, 0, range(5, 10))], 2, "q")
    assert values(output) == list(range(10))


def test_stale_parts_are_swept_at_start(output, tmp_path):
    write_part(tmp_path, 9, 0, range(5))
    output.open()
    assert list(output.parts.iterdir()) == []


def test_a_broken_state_is_named(output):
    (output.folder / "state.json").write_text("{}")
    with pytest.raises(HeadraceError, match=r"file\.bad_state"):
        output.open()


def test_parts_travel_as_rows(output, tmp_path):
    parts = [write_part(tmp_path, 1, i, range(10 * i, 10 * i + 10)) for i in (0, 1)]
    output.commit(files.of_rows(files.as_row(part) for part in parts), 1, "q")
    assert values(output) == list(range(20))
    assert output.rows() == 20


def test_two_owners_of_one_output_are_refused_whatever_their_state_folders(output, tmp_path):
    other = Output(output.path, tmp_path / "other")
    with output.owned():
        other.open()
        with pytest.raises(HeadraceError, match="Another process writes") as caught, other.owned():
            pass
        assert caught.value.code == "file.output_in_use"
    with other.owned():
        pass


def test_only_a_regular_file_is_an_output(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path(os.devnull)):
        for act in (Output(path, tmp_path / "s").look, Output(path, tmp_path / "s").open):
            with pytest.raises(HeadraceError, match="is not a regular file") as caught:
                act()
            assert caught.value.code == "file.no_regular_file"
            assert not caught.value.retriable
