"""What the log of a Delta table says about the commits of others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow.fs


def last_commit(filesystem: pyarrow.fs.FileSystem, root: str, version: int) -> str:
    """Who committed a version, and what: its operation, its writer, and whether the columns,
    properties or features of the table changed. For messages; never raises."""
    try:
        with filesystem.open_input_stream(f"{root}/_delta_log/{version:020}.json") as file:
            actions: list[dict[str, Any]] = [
                json.loads(line) for line in file.read().splitlines() if line.strip()
            ]
    except (OSError, ValueError):
        return f"version {version} cannot be read"
    infos = (action["commitInfo"] for action in actions if "commitInfo" in action)
    info: dict[str, Any] = next(infos, {})
    kinds = {kind for action in actions for kind in action}
    changed = []
    if "metaData" in kinds:
        changed.append("its columns or properties")
    if "protocol" in kinds:
        changed.append("its table features")
    if kinds & {"add", "remove"}:
        changed.append("its files")
    operation = info.get("operation", "an unnamed operation")
    return (
        f"{operation} by {info.get('engineInfo', 'an unnamed writer')} changed "
        f"{' and '.join(changed) or 'nothing of it'} (version {version})"
    )
