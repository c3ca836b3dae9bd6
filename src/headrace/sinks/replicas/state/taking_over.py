"""Decides whether a query may take over the tables of another query."""

from __future__ import annotations

from pathlib import Path

from headrace.sinks.replicas.options import Existing, FirstCopy, ReplicaOptions
from headrace.spark.checkpoint import finished_batch, planned_offset


def takes_over(options: ReplicaOptions, checkpoint: Path) -> bool:
    """Return whether a query that starts replaces the rows of tables that another query wrote. Its
    first copy has to bring all rows: no table has a part of them yet, because the query is new, or
    because its first copy is staged and not complete."""
    if options.existing is not Existing.REPLACE:
        return False
    finished = finished_batch(checkpoint)
    snapshot = (planned_offset(checkpoint, finished) or {}).get("snapshot")
    is_copying = snapshot is not None and not snapshot.get("blocking")
    return finished < 0 or (is_copying and options.first_copy is FirstCopy.STAGED)
