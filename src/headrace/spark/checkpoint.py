"""A look into Spark's checkpoint folder, for what can be refused before Spark starts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError


def stored_offset(folder: Path) -> dict[str, Any] | None:
    """The source's offset behind the last finished micro-batch; behind the first planned one,
    which has no rows, when none is finished. None when there is none that can be read: Spark
    says why.
    """
    done = _numbers(folder / "commits")
    planned = _numbers(folder / "offsets")
    return _offset(folder, max(done) if done else min(planned, default=0))


def planned_batch(folder: Path, end: Mapping[str, Any]) -> int:
    """The number of the micro-batch that ends at `end`, which Spark planned last.

    Spark writes its offset before it asks for its range, and the next one's after its end.
    Raises HeadraceError("spark.other_run") when another run has planned more meanwhile.
    """
    newest = max(_numbers(folder / "offsets"), default=-1)
    if newest < 0 or _offset(folder, newest) != end:
        raise HeadraceError(
            "spark.other_run",
            f"Another run goes on with the checkpoint {folder}, at micro-batch {newest}",
            "Stop one of them.",
        )
    return newest


def query_id(folder: Path) -> str:
    """The query's id, the same in every run with this checkpoint."""
    return str(json.loads((folder / "metadata").read_text())["id"])


def _offset(folder: Path, number: int) -> dict[str, Any] | None:
    try:
        version, _, offset, *others = (folder / "offsets" / str(number)).read_text().splitlines()
        found = json.loads(offset)
    except (OSError, ValueError):
        return None
    return found if version == "v1" and not others and isinstance(found, dict) else None


def _numbers(folder: Path) -> list[int]:
    try:
        return [int(file.name) for file in folder.iterdir() if file.name.isdigit()]
    except OSError:
        return []
