"""The present documents of MongoDB's collections, read independently of the stream: see
`snapshots.incremental.current_rows`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from headrace.connect.slices import Plan
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.position import MongoPosition
from headrace.connectors.mongodb.reading.chunk_source import MongoChunkSource
from headrace.connectors.mongodb.starting.run import Run
from headrace.connectors.waiting import Waiting
from headrace.offsets.offset import Offset
from headrace.snapshots.incremental.current_rows import CurrentRows

_LONGEST = 50_000


def current_rows(config: MongoConfig) -> CurrentRows:
    """See ConnectorDefinition. A document is read as of some moment of the read; the place after it
    is that of the last operation that the primary reports."""
    run = Run.of(config, Plan(1, "key"), Waiting(lambda: False), inline=False)
    chunks = MongoChunkSource(run)
    return CurrentRows(
        chunks,
        run.settings,
        lambda data: Offset.from_json(data, config.topic_prefix, MongoPosition.from_json),
        chunks.position,
        lambda place: str(MongoPosition.at(place)),
        _condition,
    )


def _condition(_names: Sequence[str], keys: Sequence[tuple[object, ...]]) -> str | None:
    """A filter of documents by `_id`, whose values are texts of Extended JSON; None if they are
    values of a declared type, or too many."""
    try:
        ids = [json.loads(value) for (value,) in keys if isinstance(value, str)]
    except ValueError:
        return None
    condition = json.dumps({"_id": {"$in": ids}}, ensure_ascii=False)
    return condition if len(ids) == len(keys) and len(condition) <= _LONGEST else None
