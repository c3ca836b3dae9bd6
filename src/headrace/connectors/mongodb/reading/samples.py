"""Bounds of chunks from a sample of `_id`: the server reads some keys, not the collection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from headrace.connectors.mongodb.connection import Client
from headrace.connectors.mongodb.reading.bounds import literal
from headrace.connectors.mongodb.reading.collections import Collection
from headrace.connectors.mongodb.reading.document_images import document_images, id_of

_PER_CHUNK = 32
"""Keys sampled per chunk; the sizes of chunks then differ by a fifth."""
_MAX_KEYS = 100_000


def sampled_bounds(
    client: Client,
    collection: Collection,
    lower: bytes | None,
    rows: int,
    chunk_rows: int,
    last: bytes | None = None,
) -> list[bytes]:
    """Values of `_id` after `lower` (None: the first) and up to `last` (None: the end), in order,
    about `chunk_rows` documents apart; `rows` is the number of documents. Raises the driver's
    errors."""
    chunks = -(-rows // chunk_rows)
    if chunks <= 1:
        return []
    per_chunk = max(1, min(_PER_CHUNK, _MAX_KEYS // chunks))
    stages: list[dict[str, Any]] = [
        {"$sample": {"size": chunks * per_chunk}},
        {"$project": {"_id": 1}},
    ]
    if lower is not None:
        stages.append({"$match": {"$expr": {"$gt": ["$_id", literal(lower)]}}})
    if last is not None:
        stages.append({"$match": {"$expr": {"$lte": ["$_id", literal(last)]}}})
    stages.append({"$sort": {"_id": 1}})
    keys = client[collection.database][collection.short_name].aggregate_raw_batches(
        stages, allowDiskUse=True
    )
    block = document_images(b"".join(cast("Iterator[bytes]", keys)), collection.name)
    count = len(block.offsets) - 1
    chosen = (id_of(block, row) for row in range(per_chunk, count, per_chunk))
    return list(dict.fromkeys(chosen))
