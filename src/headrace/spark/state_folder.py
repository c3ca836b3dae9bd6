"""The folder of a query's checkpoint and state, which belongs to one process and one sink."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.connect.disk import replace_text
from headrace.errors import HeadraceError
from headrace.spark.checkpoint import stored_offset
from headrace.spark.sinks.registry import built_in

FORMAT = 1
"""The format of all files that runs and sinks keep in a state folder, in its file `format`; 0.1.0
wrote none. A change of these files after which former releases cannot continue must increase it."""


def refuse_file(folder: Path) -> None:
    """Check that a state folder is not a file. Raises HeadraceError("cli.state_not_writable")."""
    if folder.is_file():
        raise HeadraceError(
            "cli.state_not_writable",
            f"{folder} is a file, and a folder is needed for checkpoint and state",
            "Name a folder; headrace creates it if it does not exist.",
        )


@contextmanager
def exclusive(folder: Path, sink: str) -> Iterator[None]:
    """Lock a state folder for one process, and for one sink: another sink would miss the events of
    this one. Raises HeadraceError("cli.state_in_use"), ("cli.other_sink"),
    ("cli.state_not_writable"), and as `require_known_format`."""
    with locked(folder):
        require_known_format(folder)
        _require_sink(folder, sink)
        _note(folder / "format", str(FORMAT))
        yield


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create a folder and lock it for one process. Raises HeadraceError("cli.state_in_use"),
    ("cli.state_not_writable")."""
    refuse_file(folder)
    with _usable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "owner").open("ab")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise HeadraceError(
                "cli.state_in_use",
                f"Another process uses the folder {folder}",
                "Stop it first, or name another folder.",
            ) from error
        yield


def require_known_format(folder: Path) -> None:
    """Check that no newer release has written to a state folder. Raises
    HeadraceError("cli.newer_state"), ("cli.bad_format") and ("cli.state_not_writable")."""
    file = folder / "format"
    with _usable(folder):
        version = file.read_text(errors="replace").strip() if file.exists() else ""
    if not version:
        return
    if not version.isdecimal():
        raise HeadraceError(
            "cli.bad_format",
            f"{file} does not contain a number, which is the format of the folder",
            "Restore the file, or name the folder of another query.",
        )
    if int(version) > FORMAT:
        raise HeadraceError(
            "cli.newer_state",
            f"The folder {folder} was written by a newer headrace (format {version}, this one "
            f"reads up to {FORMAT})",
            "Install that version of headrace, or start with a new folder.",
        )


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HeadraceError(
            "cli.state_not_writable",
            f"The folder {folder} cannot be used ({error.strerror})",
            "Check the free space and the permissions, or name another folder.",
        ) from error


def _require_sink(folder: Path, sink: str) -> None:
    """Note the sink of a state folder's events. Raises HeadraceError if it had another one."""
    note = folder / "sink"
    with _usable(folder):
        noted = note.read_text() if note.exists() else ""
    if stored_offset(folder / "checkpoint") is not None:
        # 0.1.0 wrote no note.
        used = [
            definition.name
            for definition in built_in()
            if definition.needs_checkpoint and (folder / definition.name).exists()
        ]
        former = noted or (used or [sink])[0]
        if former != sink:
            raise HeadraceError(
                "cli.other_sink",
                f"The folder {folder} belongs to a query with the sink {former}: the sink {sink} "
                "would miss the events of that sink, and the reverse",
                "Name another folder for each sink.",
            )
    _note(note, sink)


def _note(file: Path, text: str) -> None:
    """Write a file, if its text has changed. Raises HeadraceError("cli.state_not_writable")."""
    with _usable(file.parent):
        if not file.exists() or file.read_text() != text:
            replace_text(file, text)
