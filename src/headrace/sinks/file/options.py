"""The options of the `file` sink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import HeadraceError


@dataclass(frozen=True)
class FileOptions:
    """The output's absolute path, and whether commits wait for the disk."""

    path: Path
    sync: bool

    @classmethod
    def of(cls, options: Mapping[str, str]) -> FileOptions:
        """Parse the options. Raises HeadraceError("cli.sink_path_missing") and
        ("file.impossible_option")."""
        if not options.get("path"):
            raise HeadraceError(
                "cli.sink_path_missing",
                "headrace.sink.type=file needs headrace.sink.path",
                "Set headrace.sink.path to the output file.",
            )
        sync = options.get("sync", "true").lower()
        if sync not in ("true", "false"):
            raise HeadraceError(
                "file.impossible_option",
                f"headrace.sink.sync = {sync!r} is not a valid value",
                "Use true or false for headrace.sink.sync.",
            )
        return cls(Path(options["path"]).absolute(), sync == "true")
