"""The conversations of a database's workloads, in one file: `conversations.xz` in its folder.

`python -m tests.golden.archive` puts there what `make golden-live RECORD=1` has recorded.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.golden.conversation import Conversation, Said
from tests.golden.selection import not_replayed

ROOT = Path(__file__).parents[2]
PIECES = ROOT / "build/conversations"
"""The folder where a recording run leaves conversations, one file per workload."""
RECORDS = os.environ.get("RECORD", "") not in ("", "0")
"""Whether this run records."""
_GOLDEN = Path(__file__).parent
_RUNS_WORKLOADS = _GOLDEN / "ours.py"
_DECIDES_NOTHING = {
    *("archive.py", "normalise.py", "on_purpose.py", "player.py", "selection.py", "varying.py"),
    "h2.py",  # of Debezium's side
}
"""Modules that a recorder imports, and that keep, compare or replay what it recorded."""


@dataclass(frozen=True)
class Kept:
    """A conversation, and what it was made of: the digests of its recorder and of its workload."""

    conversation: Conversation
    recorder: str
    workload: str


def digest_of(files: Iterable[Path]) -> str:
    """A digest of what files say."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def recorder_files(folder: Path) -> list[Path]:
    """The modules that decide what is recorded of the database that has this folder: what runs a
    workload, what records it, and all that these import of the goldens."""
    waiting = [_RUNS_WORKLOADS, folder / "replayed.py"]
    files = set(waiting)
    while waiting:
        text = waiting.pop().read_text()
        for name in re.findall(r"^from tests\.golden\.([\w.]+) import", text, re.MULTILINE):
            file = _GOLDEN.joinpath(*name.split(".")).with_suffix(".py")
            if file not in files and file.name not in _DECIDES_NOTHING:
                files.add(file)
                waiting.append(file)
    return sorted(files)


def recorder_digest(folder: Path) -> str:
    """The digest of a database's recorder."""
    return digest_of(recorder_files(folder))


def file_of(folder: Path) -> Path:
    """The archive of the database that has this folder."""
    return folder / "conversations.xz"


@cache
def kept(folder: Path) -> Mapping[str, Kept]:
    """The conversations of a database by their workloads; none where there is no file."""
    file = file_of(folder)
    if not file.exists():
        return {}
    stored = json.loads(lzma.decompress(file.read_bytes()))
    blobs = [text.encode("latin-1") for text in stored["blobs"]]
    return {name: _kept(workload, blobs) for name, workload in stored["workloads"].items()}


def _kept(stored: Mapping[str, Any], blobs: list[bytes]) -> Kept:
    def said(entries: list[list[int]]) -> list[Said]:
        return [(moment, blobs[number]) for moment, number in entries]

    conversation = Conversation(
        {request: said(entries) for request, entries in stored["answers"].items()},
        {name: said(entries) for name, entries in stored["streams"].items()},
    )
    return Kept(conversation, stored["recorder"], stored["workload"])


def store(workloads: Mapping[str, Kept]) -> bytes:
    """The content of an archive: each text that a server said once."""
    numbers: dict[bytes, int] = {}

    def said(entries: list[Said]) -> list[list[int]]:
        return [[moment, numbers.setdefault(text, len(numbers))] for moment, text in entries]

    stored_workloads = {
        name: {
            "recorder": workload.recorder,
            "workload": workload.workload,
            "answers": {
                request: said(entries)
                for request, entries in sorted(workload.conversation.answers.items())
            },
            "streams": {k: said(v) for k, v in workload.conversation.streams.items()},
        }
        for name, workload in sorted(workloads.items())
    }
    stored = {"workloads": stored_workloads, "blobs": [text.decode("latin-1") for text in numbers]}
    return lzma.compress(json.dumps(stored, separators=(",", ":")).encode(), preset=9)


def workload_digest(folder: Path, name: str) -> str:
    """The digest of a workload."""
    return digest_of(sorted((folder / "workloads").glob(f"{name}.*")))


def leave(folder: Path, name: str, conversation: Conversation, recorder: str) -> None:
    """Keep what was said while a workload ran until the whole run is over."""
    piece = PIECES / folder.name / f"{name}.xz"
    kept_workload = Kept(conversation, recorder, workload_digest(folder, name))
    piece.parent.mkdir(parents=True, exist_ok=True)
    piece.write_bytes(store({name: kept_workload}))


def gather(folder: Path, names: Iterable[str]) -> int:
    """Put the pieces of a run into the archive, in the place of older ones; what is of no workload
    any more goes. Returns how many there were."""
    pieces = sorted((PIECES / folder.name).glob("*.xz"))
    conversations = {
        name: conversation for name, conversation in kept(folder).items() if name in names
    }
    for piece in pieces:
        stored = json.loads(lzma.decompress(piece.read_bytes()))
        blobs = [text.encode("latin-1") for text in stored["blobs"]]
        conversations |= {
            name: _kept(workload, blobs) for name, workload in stored["workloads"].items()
        }
        piece.unlink()
    if pieces:
        file_of(folder).write_bytes(store(conversations))
    return len(pieces)


def stale(folder: Path, names: Iterable[str], recorder: str) -> dict[str, str]:
    """The faults of conversations, by workload: it was never recorded, or is older than its
    recorder or its workload."""
    reasons = {}
    for name in names:
        conversation = kept(folder).get(name)
        if conversation is None:
            reasons[name] = "was never recorded"
        elif conversation.recorder != recorder:
            reasons[name] = "is older than its recorder"
        elif conversation.workload != workload_digest(folder, name):
            reasons[name] = "is older than its workload"
    return reasons


def main() -> None:
    """Gather what was recorded of every database."""
    for pieces in sorted(PIECES.glob("*")):
        folder = ROOT / "tests/golden" / pieces.name
        names = {path.stem for path in (folder / "workloads").iterdir()} - not_replayed(folder)
        count = gather(folder, names)
        size = file_of(folder).stat().st_size
        print(f"{pieces.name}: {count} conversations recorded, {size:,} bytes in {file_of(folder)}")


if __name__ == "__main__":
    sys.exit(main())
