"""A state folder belongs to one process and one sink."""

from __future__ import annotations

import json
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.spark.state_folder import FORMAT, exclusive


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The folder of a query that has a position."""
    offsets = tmp_path / "state" / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").write_text("v1\n{}\n" + json.dumps({"v": 1}) + "\n")
    return tmp_path / "state"


def use(folder: Path, sink: str) -> None:
    with exclusive(folder, sink):
        pass


def test_a_folder_without_position_takes_any_sink(tmp_path: Path) -> None:
    for sink in ("file", "kafka", "console"):
        use(tmp_path / "state", sink)
        assert (tmp_path / "state" / "sink").read_text() == sink


@pytest.mark.parametrize("former", ["file", "kafka", "delta", "standard output"])
def test_a_folder_with_a_position_keeps_its_sink(state: Path, former: str) -> None:
    use(state, former)
    use(state, former)
    with pytest.raises(HeadraceError, match=f"with the sink {former}: the sink console") as caught:
        use(state, "console")
    assert caught.value.code == "cli.other_sink"


@pytest.mark.parametrize("former", ["file", "kafka"])
def test_a_folder_of_the_first_release_belongs_to_the_sink_whose_state_it_has(
    state: Path, former: str
) -> None:
    (state / former).mkdir()
    with pytest.raises(HeadraceError, match=f"with the sink {former}") as caught:
        use(state, "console")
    assert caught.value.code == "cli.other_sink"
    use(state, former)


def test_an_empty_note_is_no_note(state: Path) -> None:
    (state / "sink").touch()
    use(state, "file")
    assert (state / "sink").read_text() == "file"


def test_a_folder_says_its_format_also_one_of_the_first_release(state: Path) -> None:
    use(state, "file")
    assert (state / "format").read_text() == str(FORMAT)


@pytest.mark.parametrize(
    ("noted", "code"),
    [(f"{FORMAT + 1}", "cli.newer_state"), ("99\n", "cli.newer_state"), ("{}", "cli.bad_format")],
)
def test_a_folder_of_a_newer_release_is_refused_and_left_as_it_is(
    state: Path, noted: str, code: str
) -> None:
    use(state, "file")
    (state / "format").write_text(noted)
    for sink in ("file", "console"):
        with pytest.raises(HeadraceError, match=str(state)) as caught:
            use(state, sink)
        assert caught.value.code == code
    assert (state / "format").read_text() == noted
    assert (state / "sink").read_text() == "file"


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No byte of a file can be written."""
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, former[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, former)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_an_error_that_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match=r"cannot be used \(File too large\)") as caught:
        use(tmp_path / "state", "file")
    assert caught.value.code == "cli.state_not_writable"
    assert not (tmp_path / "state" / "sink").exists()


def test_a_full_disk_leaves_the_note_as_it_was(state: Path, request: pytest.FixtureRequest) -> None:
    use(state, "file")
    request.getfixturevalue("full_disk")
    use(state, "file")
    assert (state / "sink").read_text() == "file"
