"""How long the oplog remembers."""

from __future__ import annotations

from datetime import timedelta

from pymongo.errors import OperationFailure

from headrace.connectors.mongodb.checks.state import Checked
from headrace.connectors.mongodb.errors import grant_roles, role_on
from headrace.connectors.mongodb.streaming.oplog_watch import read_window

_UNAUTHORIZED = 13
_FULL = 0.9


def check_oplog(checked: Checked) -> None:
    """A query that is stopped for longer than the oplog remembers loses its position."""
    if checked.server.replica_set is None:
        checked.ok("oplog", "The oplogs of shards are not looked at (rs.printReplicationInfo())")
        return
    local = checked.client["local"]
    with checked.asking("Reading the oplog"):
        try:
            size = local.command("collStats", "oplog.rs")
            oplog = read_window(checked.client, 0)
        except OperationFailure as error:
            if error.code != _UNAUTHORIZED:
                raise
            _tell_of_privilege(checked)
            return
    assert oplog is not None
    window = timedelta(seconds=oplog.window)
    least = timedelta(milliseconds=checked.config.headrace_oplog_window_min)
    # Until it is full, an oplog is as old as its server.
    if window < least and size["size"] >= _FULL * size["maxSize"]:
        checked.warn(
            "oplog_short",
            f"The oplog holds the changes of {window}; headrace.oplog.window.min is {least}",
            "db.adminCommand({replSetResizeOplog: 1, size: 16384, minRetentionHours: 72}) on every "
            "member.",
        )
        return
    checked.ok("oplog", f"The oplog holds the changes of {window}")


def _tell_of_privilege(checked: Checked) -> None:
    checked.warn(
        "oplog_unread",
        "The user may not read the oplog, so nothing warns before it forgets the position",
        grant_roles(checked.config, role_on("local")),
    )
