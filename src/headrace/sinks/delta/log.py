"""The commits of other writers in the log of a Delta table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow.fs


_MAX_NAMED = 5
_OWN_ENGINE = "headrace"


def foreign_changes(filesystem: pyarrow.fs.FileSystem, root: str, version: int) -> list[str]:
    """Return the changes of rows by other writers, from this version down to headrace's last
    change of rows, the newest first, one sentence each. Compactions are left out, also headrace's,
    and versions whose log is deleted."""
    commits: list[str] = []
    while version >= 0 and len(commits) < _MAX_NAMED:
        try:
            actions = _actions(filesystem, root, version)
        except (OSError, ValueError):
            break
        infos = [action["commitInfo"] for action in actions if "commitInfo" in action]
        files = [action.get("add") or action.get("remove") or {} for action in actions]
        changes_rows = any(file.get("dataChange") for file in files)
        if any(_OWN_ENGINE in str(info.get("engineInfo")) for info in infos):
            if changes_rows or any("txn" in action for action in actions):
                break
        elif changes_rows:
            commits.append(last_commit(filesystem, root, version))
        version -= 1
    return commits


def _actions(filesystem: pyarrow.fs.FileSystem, root: str, version: int) -> list[dict[str, Any]]:
    with filesystem.open_input_stream(f"{root}/_delta_log/{version:020}.json") as file:
        return [json.loads(line) for line in file.read().splitlines() if line.strip()]


def last_commit(filesystem: pyarrow.fs.FileSystem, root: str, version: int) -> str:
    """The author of a version and its changes, for messages: its operation, its writer, and whether
    the columns, properties or features of the table changed. Never raises."""
    try:
        actions = _actions(filesystem, root, version)
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
