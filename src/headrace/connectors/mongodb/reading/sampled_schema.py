"""The common schema of a captured collection's documents, derived from a sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from pymongo.errors import PyMongoError

from headrace.connect.schema import Schema
from headrace.connect.slices import Plan
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import Client
from headrace.connectors.mongodb.reading.collections import Collection, captured_collections
from headrace.connectors.mongodb.starting.run import Run
from headrace.connectors.waiting import Waiting
from headrace.documents.target_schema.sampling import sampled
from headrace.errors import HeadraceError

_MAX_SHOWN = 5


def sampled_schema(config: MongoConfig, topic: str | None = None) -> Schema:
    """See ConnectorDefinition: the schema of `target.schema.sample.size` documents that the server
    chooses, as events show them: without excluded fields, and with renamed fields."""
    run = Run.of(config, Plan(1, "key"), Waiting(lambda: False), inline=False)
    try:
        with run.client() as client:
            collection = _chosen(captured_collections(client, run), run, topic)
            documents = list(_sample(client, collection, config.target_schema_sample_size))
    except PyMongoError as error:
        raise run.translate(error, "Sampling documents") from None
    rules = run.fields(collection.database, collection.short_name)
    try:
        published = (
            rules.document(document) if rules.count else document for document in documents
        )
        return sampled(published, config.target_schema_sample_conflict)
    except HeadraceError as error:
        message = f"{collection.name}: {error.message}"
        raise HeadraceError(error.code, message, error.remedy) from None


def _chosen(collections: list[Collection], run: Run, topic: str | None) -> Collection:
    """The collection of a topic or a suffix of one; without a topic the only collection."""
    topics = {
        run.facts(collection.database, collection.short_name).topic: collection
        for collection in collections
    }
    chosen = list(topics.values())
    if topic is not None:
        chosen = [
            collection
            for name, collection in topics.items()
            if topic in (name, collection.name) or name.endswith(f".{topic}")
        ]
    if len(chosen) == 1:
        return chosen[0]
    names = ", ".join(collection.name for collection in collections[:_MAX_SHOWN]) or "none"
    names += ", …" if len(collections) > _MAX_SHOWN else ""
    if topic is not None:
        reason = f"{topic} names {len(chosen)} of the captured collections"
    else:
        reason = "several collections are captured" if chosen else "no collection is captured"
    raise HeadraceError(
        "mongodb.no_collection_to_sample",
        f"a schema is sampled from one collection, but {reason}: {names}",
        "Let collection.include.list select one existing collection, or declare the schema.",
    )


def _sample(client: Client, collection: Collection, size: int) -> Iterator[bytes]:
    """Documents that the server chooses, ordered by `_id`, so that a small collection always has
    the same order of fields. Raises the driver's errors."""
    stages: list[dict[str, Any]] = [{"$sample": {"size": size}}, {"$sort": {"_id": 1}}]
    batches = client[collection.database][collection.short_name].aggregate_raw_batches(
        stages, allowDiskUse=True
    )
    for batch in cast("Iterator[bytes]", batches):
        begin = 0
        while begin < len(batch):
            end = begin + int.from_bytes(batch[begin : begin + 4], "little")
            yield batch[begin:end]
            begin = end
