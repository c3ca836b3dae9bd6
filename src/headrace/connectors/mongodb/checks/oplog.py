"""Checks how long the oplog keeps changes."""

from __future__ import annotations

from datetime import timedelta

from pymongo.errors import OperationFailure

from headrace.connectors.mongodb.checks.state import Checked
from headrace.connectors.mongodb.connection import Client, diagnose
from headrace.connectors.mongodb.errors import grant_roles, is_atlas, role_on
from headrace.connectors.mongodb.streaming.oplog_watch import OplogWindow, read_window

_UNAUTHORIZED = 13
_FULL = 0.9


def check_oplog(checked: Checked) -> None:
    """Check how long the oplog reaches back: a query that is stopped for longer loses its
    position."""
    if checked.server.replica_set is None:
        checked.ok("oplog", "The oplogs of shards are not looked at (rs.printReplicationInfo())")
        return
    with checked.asking("Reading the oplog"):
        try:
            oplog = read_window(checked.client, 0)
        except OperationFailure as error:
            if diagnose(error, checked.config).retriable:
                raise
            _warn_unread(checked, error)
            return
        if oplog is None:
            _warn_unread(checked, None)
            return
        is_full = _is_full(checked.client)
    _check_window(checked, oplog, is_full=is_full)


def _check_window(checked: Checked, oplog: OplogWindow, *, is_full: bool) -> None:
    window = timedelta(seconds=oplog.window)
    least = timedelta(milliseconds=checked.config.headrace_oplog_window_min)
    # An oplog that is not full yet is as old as its server.
    if window < least and is_full:
        checked.warn(
            "oplog_short",
            f"The oplog holds the changes of {window}; headrace.oplog.window.min is {least}",
            "db.adminCommand({replSetResizeOplog: 1, size: 16384, minRetentionHours: 72}) on every "
            "member."
            if not is_atlas(checked.config)
            else "Raise the minimum oplog window in the cluster's settings.",
        )
        return
    checked.ok("oplog", f"The oplog holds the changes of {window}")


def _is_full(client: Client) -> bool:
    """Whether the oplog has reached its maximum size; assumed if the server does not report it."""
    try:
        size = client["local"].command("collStats", "oplog.rs")
    except OperationFailure:
        return True
    return "maxSize" not in size or bool(size["size"] >= _FULL * size["maxSize"])


def _warn_unread(checked: Checked, error: OperationFailure | None) -> None:
    """Warn that the oplog cannot be read. `error`: the server's answer; None: no oplog is
    visible."""
    if error is not None and error.code == _UNAUTHORIZED:
        reason = "The user may not read the oplog"
        remedy = grant_roles(checked.config, role_on("local"))
    else:
        reason = "The oplog cannot be read"
        if error is not None:
            reason = f"{reason}: {diagnose(error, checked.config).message}"
        remedy = (
            "Watch how long the oplog holds changes where the servers are administered; "
            "headrace.oplog.watch.interval=0 ends the attempts to read it."
        )
    checked.warn(
        "oplog_unread",
        f"{reason}, so headrace cannot warn before the position leaves the oplog",
        remedy,
    )
