"""The state of an event log, in the state folder of its query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from headrace.connect.disk import replace_text
from headrace.errors import HeadraceError
from headrace.sinks.event_log.staged import StagedFile

_VERSION = 1
_FILE = "state.json"


class State(NamedTuple):
    """The state of a log. `batch` is the last micro-batch of the query `query` with events (-1:
    none), and `files` are its files: the micro-batch is in the log as soon as its state is on the
    disk, and a process that reads the state moves files that are not at their paths yet. `log`
    identifies the log. `rows` and `length` are the records and bytes of all micro-batches.
    `unfinished` are the folders whose files may have to be merged, with the time at which the last
    one was added (milliseconds since 1970-01-01 UTC)."""

    log: str
    batch: int = -1
    query: str = ""
    rows: int = 0
    length: int = 0
    files: tuple[StagedFile, ...] = ()
    unfinished: Mapping[str, int] = {}


def write_state(folder: Path, state: State) -> None:
    """Replace the state. Raises OSError."""
    replace_text(folder / _FILE, json.dumps({"v": _VERSION, **state._asdict()}) + "\n")


def read_state(folder: Path) -> State | None:
    """The state; None before the first start. Raises HeadraceError("event_log.bad_state") and
    ("event_log.newer_state"), OSError."""
    path = folder / _FILE
    try:
        text = path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        members = json.loads(text)
        version = int(members.pop("v"))
        if version > _VERSION:
            raise HeadraceError(
                "event_log.newer_state",
                f"{path} has version {version}; this release knows {_VERSION}",
                "Use the newer release of headrace.",
            )
        members["files"] = tuple(StagedFile(*fields) for fields in members["files"])
        return State(**members)
    except (ValueError, KeyError, TypeError) as error:
        raise HeadraceError(
            "event_log.bad_state",
            f"{path} is not a valid state of the event-log sink",
            "Name the state folder that belongs to the log.",
        ) from error
