"""Conversations are kept and found by their moments; what is older than its recorder is named."""

from __future__ import annotations

import json
import lzma
import threading
from pathlib import Path

import pytest

from tests.golden import archive
from tests.golden.archive import (
    Kept,
    digest_of,
    file_of,
    gather,
    leave,
    recorder_files,
    stale,
)
from tests.golden.conversation import Conversation, Listener, Prompter, Stage, question
from tests.golden.curtain import Curtain
from tests.golden.selection import live, not_replayed, on_a_server

FOLDERS = sorted(file.parent for file in Path(__file__).parent.glob("*/live.txt"))
CONVERSATION = Conversation(
    {"q": [(1, b"first"), (1, b"second"), (3, b"third")]}, {"0": [(1, b"\xff"), (2, b"more")]}
)


def test_a_listener_keeps_answers_and_streams_by_their_moments() -> None:
    stage = Stage()
    listener = Listener(stage)
    stage.advance()
    listener.answered("q", b"first")
    stream = listener.opened()
    listener.streamed(stream, b"empty")
    listener.streamed(stream, b"empty again", instead=True)
    stage.advance()
    listener.streamed(stream, b"empty later", instead=True)
    assert listener.conversation.answers == {"q": [(1, b"first")]}
    assert listener.conversation.streams == {"0": [(1, b"empty again"), (2, b"empty later")]}


def test_the_answers_of_a_moment_come_in_their_order_and_the_last_one_again() -> None:
    stage = Stage()
    prompter = Prompter(CONVERSATION, stage)
    stage.advance()
    assert [prompter.answer("q", "") for _ in range(3)] == [b"first", b"second", b"second"]


def test_where_nobody_asked_the_answer_is_that_of_the_moment_before_or_of_the_next() -> None:
    stage = Stage()
    prompter = Prompter(CONVERSATION, stage)
    assert prompter.answer("q", "") == b"second"
    stage.moment = 2
    assert prompter.answer("q", "") == b"second"
    stage.moment = 9
    assert prompter.answer("q", "") == b"third"


def test_what_nobody_asked_is_named() -> None:
    prompter = Prompter(CONVERSATION, Stage())
    assert prompter.answer("other", "SELECT 1") is None
    assert prompter.unanswered == ["SELECT 1"]


def test_questions_differ_by_their_words_and_not_by_ids_or_instants() -> None:
    statement = b"INSERT '00000000-0000-0000-0000-00000000000%d' AT '2024-01-0%dT00:00:00.5Z'"
    assert question(statement % (1, 1)) == question(statement % (2, 2))
    assert question(b"ab", b"c") != question(b"a", b"bc")


def test_a_question_waits_behind_the_curtain_and_blocks_wait_for_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    curtain, steps = Curtain(), []
    curtain.close()
    wait, waits = curtain._changed.wait, threading.Event()

    def noted_wait(timeout: float | None = None) -> bool:
        waits.set()
        return wait(timeout)

    monkeypatch.setattr(curtain._changed, "wait", noted_wait)

    def ask() -> None:
        with curtain.asking():
            steps.append("asked")

    thread = threading.Thread(target=ask)
    thread.start()
    assert waits.wait(60)
    steps.append("opened")
    curtain.open()  # it takes the lock, which the thread has until it waits
    thread.join()
    curtain.close()
    assert steps == ["opened", "asked"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database's, with the workload `one`."""
    monkeypatch.setattr(archive, "PIECES", tmp_path / "pieces")
    folder = tmp_path / "database"
    (folder / "workloads").mkdir(parents=True)
    (folder / "workloads/one.sql").write_text("INSERT")
    return folder


def test_a_recording_run_replaces_what_it_recorded_and_leaves_the_rest(folder: Path) -> None:
    (folder / "workloads/two.sql").write_text("INSERT")
    for name, text in (("one", b"old"), ("two", b"kept"), ("gone", b"gone")):
        leave(folder, name, Conversation({"q": [(0, text)]}), "r")
    assert gather(folder, ["one", "two", "gone"]) == 3
    archive.kept.cache_clear()
    leave(folder, "one", CONVERSATION, "r")
    assert gather(folder, ["one", "two"]) == 1
    archive.kept.cache_clear()
    conversations = {name: workload.conversation for name, workload in archive.kept(folder).items()}
    assert conversations == {"one": CONVERSATION, "two": Conversation({"q": [(0, b"kept")]})}


def test_each_text_that_a_server_said_is_stored_once() -> None:
    workload = Kept(Conversation({"q": [(0, b"same"), (1, b"same")]}), "r", "w")
    stored = json.loads(lzma.decompress(archive.store({"one": workload, "two": workload})))
    assert stored["blobs"] == ["same"]


def test_a_conversation_that_is_lacking_or_too_old_is_named_with_the_reason(folder: Path) -> None:
    assert stale(folder, ["one"], "r") == {"one": "was never recorded"}
    leave(folder, "one", CONVERSATION, "r")
    gather(folder, ["one"])
    archive.kept.cache_clear()
    assert stale(folder, ["one"], "r") == {}
    assert stale(folder, ["one"], "newer") == {"one": "is older than its recorder"}
    (folder / "workloads/one.sql").write_text("DELETE")
    assert stale(folder, ["one"], "r") == {"one": "is older than its workload"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_what_runs_a_workload_and_what_records_it_is_in_the_digest_of_the_recorder(
    folder: Path,
) -> None:
    """A recording that was made in another way is older than its recorder."""
    digested_files = {str(file.relative_to(folder.parent)) for file in recorder_files(folder)}
    database_files = {
        f"{folder.name}/{name}.py" for name in ("database", "relay", "replayed", "wire")
    }
    assert {"ours.py", "conversation.py", "workload.py", *database_files} <= digested_files
    assert not {file for file in digested_files if "test_" in file or "player" in file}


def test_a_digest_changes_with_every_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("a")
    before = digest_of([file])
    file.write_text("b")
    assert digest_of([file]) != before


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_about_a_dozen_workloads_of_a_database_stay_on_a_server_in_make_test(folder: Path) -> None:
    names = {path.stem for path in (folder / "workloads").iterdir()}
    live_workloads = live(folder)
    assert live_workloads.keys() <= names
    assert 8 <= len(live_workloads) <= 16
    assert all(live_workloads.values()), "a path to the server is beside each"
    assert not_replayed(folder) <= live_workloads.keys()
    left_out = [parameters for parameters in on_a_server(folder, sorted(names)) if parameters.marks]
    assert len(left_out) == len(names) - len(live_workloads)
    assert file_of(folder).stat().st_size < 1 << 20
