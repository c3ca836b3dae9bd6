"""Files that a killed `headrace maintain` has left are deleted by the next one."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.files.unfinished import UnfinishedFiles
from headrace.sinks.replicas.maintaining import erase_from, maintain, note_tables
from headrace.sinks.replicas.runners import HereRunner
from tests.sinks.replicas.applying.folder_lake import FolderLake
from tests.sinks.replicas.applying.folder_storage import FolderStorage
from tests.sinks.replicas.applying.test_upkeep import NAME, apply, ids, new_replica

WRITES = """
import sys
from pathlib import Path
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.files.unfinished import UnfinishedFiles

state, data, prefix, *deletes = sys.argv[1:]
with UnfinishedFiles(Path(state)).writing(TableName(("shop",), "t"), prefix) as committing:
    (Path(data) / f"{prefix}-1.parquet").write_text("a part of a file")
    if deletes:
        committing(path for path in deletes if path != "nothing")
    print("written", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lake(tmp_path: Path) -> FolderLake:
    """Four small files."""
    folder_lake = FolderLake(tmp_path / "lake")
    for number in range(4):
        apply(new_replica(folder_lake), number)
    return folder_lake


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    note_tables(folder, [NAME])
    return folder


class Writer:
    """A process that writes files for a commit, and waits."""

    def __init__(self, state: Path, lake: FolderLake, prefix: str, *deletes: str) -> None:
        command = [sys.executable, "-c", WRITES, str(state), str(lake.folder / "data"), prefix]
        self.process = subprocess.Popen(
            [*command, *deletes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "written\n"

    def end(self, *, kills: bool) -> None:
        if kills:
            self.process.kill()
        self.process.communicate()


def upkeep(lake: FolderLake, state: Path) -> None:
    list(maintain(lake, state, [NAME], HereRunner(), dt.datetime.now(dt.UTC)))


def notes(state: Path) -> list[Path]:
    return [path for path in state.glob("unfinished/*") if path.is_file()]


def test_files_of_a_killed_process_are_deleted(lake: FolderLake, state: Path) -> None:
    Writer(state, lake, "headrace-compaction-killed").end(kills=True)
    assert any("killed" in name for name in lake.names)
    upkeep(lake, state)
    assert not any("killed" in name for name in lake.names)
    assert ids(lake) == list(range(40))
    assert not notes(state)


def test_files_of_a_process_that_is_alive_stay(lake: FolderLake, state: Path) -> None:
    writer = Writer(state, lake, "headrace-compaction-alive")
    upkeep(lake, state)
    assert any("alive" in name for name in lake.names)
    writer.end(kills=False)
    assert not notes(state)


def test_files_that_may_have_been_committed_stay(lake: FolderLake, state: Path) -> None:
    Writer(state, lake, "headrace-compaction-maybe", "nothing").end(kills=True)
    upkeep(lake, state)
    assert any("maybe" in name for name in lake.names)
    assert not notes(state)


def test_an_erasure_that_was_killed_after_its_commit_is_finished_by_the_next_one(
    lake: FolderLake, state: Path
) -> None:
    def erase(key: int) -> list[str]:
        return list(
            erase_from(lake, state, "shop.t", f'{{"id": {key}}}', HereRunner(), lambda name: 0)
        )

    data = lake.folder / "data"
    former = data / "former.parquet"
    former.write_text("rows with the key")
    Writer(state, lake, "headrace-compaction-killed", "nothing").end(kills=True)
    live = next(iter(lake.kept.files))
    Writer(state, lake, "headrace-erasure-killed", str(former), live).end(kills=True)
    erase(7)
    assert not former.exists()
    assert not any("killed" in name for name in lake.names)
    assert ids(lake) == [number for number in range(40) if number != 7]
    assert not notes(state)


def test_an_erasure_deletes_files_that_the_table_does_not_use(
    lake: FolderLake, state: Path
) -> None:
    left = lake.folder / "data" / "headrace-12345678-1-expired.parquet"
    left.write_text("a version that expired, of which a process was killed that deleted its files")
    list(erase_from(lake, state, "shop.t", '{"id": 7}', HereRunner(), lambda name: 0))
    assert not left.exists()
    assert lake.names == lake.live_names
    assert ids(lake) == [number for number in range(40) if number != 7]


def test_an_erasure_is_alone(lake: FolderLake, state: Path) -> None:
    def erase() -> None:
        list(erase_from(lake, state, "shop.t", '{"id": 7}', HereRunner(), lambda name: 0))

    unfinished = UnfinishedFiles(state)
    with unfinished.maintenance(is_alone=False):
        upkeep(lake, state)
        with pytest.raises(HeadraceError, match=r"must be alone") as caught:
            erase()
    assert caught.value.code == "replicas.maintained"
    with unfinished.maintenance(is_alone=True), pytest.raises(HeadraceError, match="must be alone"):
        upkeep(lake, state)
    erase()
    upkeep(lake, state)


def taken(unfinished: UnfinishedFiles, **options: bool) -> list[tuple[str, bool, tuple[str, ...]]]:
    """What ended processes have noted; the notes are deleted."""
    taken_notes: list[tuple[str, bool, tuple[str, ...]]] = []
    unfinished.finish(
        lambda note: True,
        lambda note: taken_notes.append((note.prefix, note.is_committing, note.deletes)),
        **options,
    )
    return taken_notes


@pytest.mark.parametrize("begins_commit", [False, True])
def test_an_error_leaves_the_note(state: Path, begins_commit: bool) -> None:
    unfinished = UnfinishedFiles(state)

    def fail() -> None:
        with unfinished.writing(NAME, "prefix") as committing:
            if begins_commit:
                committing(["a"])
            raise HeadraceError("replicas.not_written", "the storage failed", "")

    with pytest.raises(HeadraceError):
        fail()
    deletes = ("a",) if begins_commit else ()
    assert taken(unfinished) == [("prefix", begins_commit, deletes)]
    assert not notes(state)


def test_a_note_that_a_kill_has_cut_says_as_much_as_it_has(state: Path) -> None:
    unfinished = UnfinishedFiles(state)
    with pytest.raises(KeyboardInterrupt), unfinished.writing(NAME, "prefix"):
        raise KeyboardInterrupt
    (path,) = notes(state)
    line = path.read_text()
    path.write_text(line + '{"is_commit')
    assert taken(unfinished) == [("prefix", True, ())]
    path.write_text(line[:20])
    assert not taken(unfinished)
    assert not notes(state)


def test_a_note_stays_if_its_files_cannot_be_deleted(
    lake: FolderLake, state: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Writer(state, lake, "headrace-compaction-killed").end(kills=True)
    with monkeypatch.context() as broken:

        def fail(*_: object) -> int:
            raise OSError("the storage does not answer")

        broken.setattr(FolderStorage, "sweep", fail)
        upkeep(lake, state)
    assert "headrace-compaction-killed" in caplog.text
    assert "the storage does not answer" in caplog.text
    assert notes(state)
    upkeep(lake, state)
    assert not notes(state)
    assert not any("killed" in name for name in lake.names)


def test_a_process_that_another_one_took_as_ended_does_not_commit(state: Path) -> None:
    unfinished = UnfinishedFiles(state)

    def write() -> None:
        with unfinished.writing(NAME, "prefix") as committing:
            (path,) = notes(state)
            path.unlink()  # as on a file system whose locks another host does not see
            committing(())

    with pytest.raises(HeadraceError, match=r"another process took this one as ended") as caught:
        write()
    assert caught.value.code == "replicas.conflict"


def test_a_note_of_another_host_counts_after_a_day(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfinished = UnfinishedFiles(state)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), unfinished.writing(NAME, "prefix"):
            raise KeyboardInterrupt
    monkeypatch.setattr("platform.node", lambda: "another host")
    assert not taken(unfinished)
    path, _ = notes(state)
    long_ago = time.time() - 90_000
    os.utime(path, (long_ago, long_ago))
    assert len(taken(unfinished)) == 1
    assert len(taken(unfinished, is_alone=True)) == 1
