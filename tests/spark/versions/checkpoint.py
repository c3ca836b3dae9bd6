"""Entries of a checkpoint, written as Spark writes them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

INITIAL: dict[str, Any] = {"v": 1, "server": "s"}


class Checkpoint:
    """The checkpoint of one query."""

    def __init__(self, folder: Path, query: str = "q") -> None:
        self.folder = folder
        for log in ("offsets", "commits"):
            (folder / log).mkdir(parents=True)
        (folder / "metadata").write_text(json.dumps({"id": query}))

    def plan(self, number: int, *ends: Mapping[str, Any] | None) -> None:
        """Write the ends of all sources."""
        lines = ["v1", "{}", *("-" if end is None else json.dumps(end) for end in ends)]
        (self.folder / "offsets" / str(number)).write_text("\n".join(lines))

    def finish(self, number: int) -> None:
        (self.folder / "commits" / str(number)).write_text("v1\n{}")

    def copy(self, folder: Path) -> Path:
        return shutil.copytree(self.folder, folder)
