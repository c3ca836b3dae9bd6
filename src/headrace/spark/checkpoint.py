"""Spark's checkpoint folder: early checks, and syncs to the disk that Spark omits."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.connect.disk import force_to_disk
from headrace.errors import HeadraceError


def checkpoint_in(folder: Path) -> Path:
    """Return the checkpoint of Spark in a state folder, which is the folder `checkpoint` in it; or
    the folder itself, if it is a checkpoint of Spark."""
    inner = folder / "checkpoint"
    return folder if (folder / "offsets").is_dir() and not inner.is_dir() else inner


def stored_offset(folder: Path) -> dict[str, Any] | None:
    """Return the source's offset after the last finished micro-batch; or, if no micro-batch is
    finished, the start of the first planned one, which has no rows. None if no offset can be read:
    Spark reports the reason.
    """
    committed = _numbers(folder / "commits")
    planned = _numbers(folder / "offsets")
    return planned_offset(folder, max(committed) if committed else min(planned, default=0))


def query_id(folder: Path) -> str:
    """Return the id of the query with this checkpoint, which Spark writes at its first start; empty
    if it cannot be read."""
    try:
        return str(json.loads((folder / "metadata").read_text())["id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def finished_batch(folder: Path) -> int:
    """Return the number of the last finished micro-batch; -1 if no micro-batch is finished."""
    return max(_numbers(folder / "commits"), default=-1)


def last_planned_batch(folder: Path) -> int:
    """Return the number of the last planned micro-batch; -1 before the first."""
    return max(_numbers(folder / "offsets"), default=-1)


def planned_batch(folder: Path, end: Mapping[str, Any]) -> int:
    """Return the number of the micro-batch that ends at `end`, which Spark planned last.

    Spark writes a micro-batch's offset before it requests its range, and the next offset after its
    end. Raises HeadraceError("spark.other_run") if another run has planned more meanwhile.
    """
    newest = last_planned_batch(folder)
    if newest < 0 or planned_offset(folder, newest) != end:
        raise HeadraceError(
            "spark.other_run",
            f"Another run continues with the checkpoint {folder}, at micro-batch {newest}",
            "Stop one of them.",
        )
    return newest


def force_log_to_disk(folder: Path) -> None:
    """Sync the last finished micro-batch's entries in Spark's log to the disk, which Spark does
    not: positions that are acknowledged to a database must survive a power failure."""
    number = finished_batch(folder)
    if number < 0:
        return
    for log in (folder / "offsets", folder / "commits"):
        for path in (log / str(number), log):
            force_to_disk(path)


def force_plan_to_disk(folder: Path, number: int) -> None:
    """Sync a planned micro-batch's entry in Spark's log to the disk, before a sink writes anything
    of it that cannot be undone."""
    log = folder / "offsets"
    for path in (log / str(number), log):
        force_to_disk(path)


def planned_offset(folder: Path, number: int) -> dict[str, Any] | None:
    """Return the source's offset at the end of a planned micro-batch; None if no offset can be
    read."""
    try:
        version, _, offset, *others = (folder / "offsets" / str(number)).read_text().splitlines()
        members = json.loads(offset)
    except (OSError, ValueError):
        return None
    return members if version == "v1" and not others and isinstance(members, dict) else None


def planned_offsets(folder: Path, number: int) -> list[Any]:
    """Return the offsets of all sources at the end of a planned micro-batch; empty if they cannot
    be read."""
    try:
        version, _, *offsets = (folder / "offsets" / str(number)).read_text().splitlines()
        return (
            [json.loads(offset) for offset in offsets if offset != "-"] if version == "v1" else []
        )
    except (OSError, ValueError):
        return []


def all_planned(folder: Path) -> list[Any]:
    """Return the offsets of all sources and planned micro-batches in Spark's log."""
    numbers = _numbers(folder / "offsets")
    return [offset for number in numbers for offset in planned_offsets(folder, number)]


def is_finished(folder: Path, number: int) -> bool:
    """Return whether a micro-batch is in the log of commits."""
    return (folder / "commits" / str(number)).is_file()


def local_path(folder: str) -> str:
    """Return a path, or that of a `file:` URI; another URI is returned unchanged."""
    return folder.removeprefix("file://").removeprefix("file:")


def refuse_torn(folder: Path) -> None:
    """Check that the last files of Spark's log are complete: Spark does not sync them to the disk,
    so a power failure may lose or truncate them. A kill does not. Raises
    HeadraceError("spark.checkpoint_torn") with the files that Spark can do without.
    """
    # An ending run may still write; Spark writes a micro-batch's offset first.
    committed = max(_numbers(folder / "commits"), default=-1)
    planned = max(_numbers(folder / "offsets"), default=-1)
    torn: list[Path] = []
    for number in range(max(0, min(committed, planned)), max(committed, planned) + 1):
        offset, commit = (folder / log / str(number) for log in ("offsets", "commits"))
        if not _is_whole(offset):
            torn += [path for path in (offset, commit) if path.exists()]
        elif commit.exists() and not _is_whole(commit):
            torn.append(commit)
    # Checksum files of Hadoop's file system would not match the files that replace these.
    sums = [path.with_name(f".{path.name}.crc") for path in torn]
    torn += [path for path in sums if path.exists()]
    if torn:
        raise HeadraceError(
            "spark.checkpoint_torn",
            f"Spark's log in {folder} has lost its end: micro-batch {torn[0].name} is not complete",
            f"Delete {' and '.join(map(str, torn))}: then the micro-batch is planned again, and "
            f"the file sink replaces its part of it. If the micro-batch was already acknowledged "
            f"to the database, the start may say that changes are lost: then a new checkpoint is "
            f"needed.",
        )


def _is_whole(file: Path) -> bool:
    """Return whether a file of Spark's log is complete from its version to its last line."""
    try:
        version, *lines = file.read_text().splitlines()
        for line in lines:
            if line != "-":
                json.loads(line)
    except (OSError, ValueError):
        return False
    return re.fullmatch(r"v\d+", version) is not None and bool(lines)


def _numbers(folder: Path) -> list[int]:
    try:
        return [int(file.name) for file in folder.iterdir() if file.name.isdigit()]
    except OSError:
        return []
