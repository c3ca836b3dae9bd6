"""Debezium's metrics: their places in a report, and their values."""

from __future__ import annotations

PREFIX = "debezium_metrics_"
DEBEZIUM = ("snapshot", "streaming")
"""The values of the label `context`, and the names of the metrics' members."""

HELP = {
    "Connected": "Whether the connector is reading the log (1) or not (0).",
    "CurrentQueueSizeInBytes": "Log that was read ahead.",
    "MaxQueueSizeInBytes": "The most log that may be read ahead.",
    "MilliSecondsBehindSource": (
        "Time from the commit of the last change to its reading; -1 before the first change."
    ),
    "MilliSecondsBehindSourceAverageValue": "The mean of MilliSecondsBehindSource.",
    "MilliSecondsBehindSourceMaxValue": "The maximum of MilliSecondsBehindSource.",
    "MilliSecondsBehindSourceMinValue": "The minimum of MilliSecondsBehindSource.",
    "MilliSecondsBehindSourceP50": "The median of MilliSecondsBehindSource.",
    "MilliSecondsBehindSourceP95": "The 95th percentile of MilliSecondsBehindSource.",
    "MilliSecondsBehindSourceP99": "The 99th percentile of MilliSecondsBehindSource.",
    "MilliSecondsSinceLastEvent": "Time since the last change was read; -1 before the first "
    "change.",
    "NumberOfCommittedTransactions": "Transactions that were read to their end.",
    "NumberOfErroneousEvents": "Always 0: an error ends a query.",
    "NumberOfEventsFiltered": "Changes that the configuration leaves out.",
    "NumberOfUnchangedEventsSkipped": "Always -1: they are not counted.",
    "RemainingTableCount": "Tables that a snapshot has not read yet.",
    "RowsScanned": (
        "Estimated rows of a table that a snapshot has read, by the database's statistics."
    ),
    "SnapshotAborted": "Whether an error ended the snapshot.",
    "SnapshotCompleted": "Whether the snapshot was read to its end.",
    "SnapshotDurationInSeconds": "How long the snapshot took, or has taken so far.",
    "SnapshotPaused": "Always 0: an initial snapshot is not paused.",
    "SnapshotPausedDurationInSeconds": "Always 0.",
    "SnapshotRunning": "Whether a snapshot is in progress.",
    "SnapshotSkipped": "Whether there was no snapshot to read.",
    "TotalNumberOfCreateEventsSeen": "Inserts that were read.",
    "TotalNumberOfDeleteEventsSeen": "Deletes that were read.",
    "TotalNumberOfEventsSeen": "Changes that were read since the source's process started.",
    "TotalNumberOfUpdateEventsSeen": "Updates that were read.",
    "TotalTableCount": "Tables that the snapshot has to read.",
}


def help_of(name: str) -> str:
    """Return a sentence about a metric, without its prefix."""
    if name in HELP:
        return HELP[name]
    return f"Debezium's {name}; see the guide of the connector."
