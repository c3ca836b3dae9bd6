"""Spark's progress of a query (its JSON): the offsets of its sources, and their state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def source_offset(value: object) -> object:
    """Return an offset from progress: an object, or its JSON text. A text that is not JSON is
    returned unchanged."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def reads_rows(progress: Mapping[str, Any]) -> bool:
    """Return whether a micro-batch ended within a snapshot."""
    ends = (source_offset(source.get("endOffset")) for source in progress.get("sources") or ())
    snapshots = (end.get("snapshot") for end in ends if isinstance(end, dict))
    return any(isinstance(snapshot, dict) and not snapshot.get("done") for snapshot in snapshots)


def heartbeats(progress: Mapping[str, Any]) -> int:
    """Return how many heartbeats are among the rows of a micro-batch."""
    count = 0
    for source in progress.get("sources") or ():
        start = source_offset(source.get("startOffset"))
        end = source_offset(source.get("endOffset"))
        if isinstance(end, dict):
            before = start.get("heartbeat", 0) if isinstance(start, dict) else 0
            count += int(end.get("heartbeat", 0)) - int(before)
    return max(0, count)
