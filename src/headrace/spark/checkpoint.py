"""A look into Spark's checkpoint folder, for what can be refused before Spark starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def stored_offset(folder: Path) -> dict[str, Any] | None:
    """The source's offset behind the last finished micro-batch; behind the first planned one,
    which has no rows, when none is finished. None when there is none that can be read: Spark
    says why.
    """
    done = _numbers(folder / "commits")
    planned = _numbers(folder / "offsets")
    number = max(done) if done else min(planned, default=0)
    try:
        version, _, offset, *others = (folder / "offsets" / str(number)).read_text().splitlines()
        found = json.loads(offset)
    except (OSError, ValueError):
        return None
    return found if version == "v1" and not others and isinstance(found, dict) else None


def planned_batch(folder: Path) -> int:
    """The micro-batch that Spark planned last: its offset is written before its range is asked
    for, and the next one's after its end. -1: none."""
    return max(_numbers(folder / "offsets"), default=-1)


def _numbers(folder: Path) -> list[int]:
    try:
        return [int(file.name) for file in folder.iterdir() if file.name.isdigit()]
    except OSError:
        return []
