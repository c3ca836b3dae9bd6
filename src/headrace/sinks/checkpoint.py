"""The query to which a checkpoint folder belongs."""

from __future__ import annotations

from pathlib import Path

from headrace.spark.checkpoint import local_path, query_id


def query_of(checkpoint: str) -> str:
    """The id of the query that writes its checkpoint to this folder, a path or a `file:` URI; empty
    if it cannot be read on this host."""
    return query_id(Path(local_path(checkpoint)))
