"""The shapes of the captured collections' events."""

from __future__ import annotations

from collections.abc import Sequence

from pymongo.errors import PyMongoError

from headrace.connect.records import Shape
from headrace.connect.slices import Plan
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.reading.collections import captured_collections
from headrace.connectors.mongodb.starting.run import Run
from headrace.connectors.waiting import Waiting


def event_shapes(config: MongoConfig) -> Sequence[Shape]:
    """See ConnectorDefinition: the shapes for the collections that the server has now. Their fields
    do not depend on the documents, which are texts of Extended JSON."""
    run = Run.of(config, Plan(1, "key"), Waiting(lambda: False), inline=False)
    try:
        with run.client() as client:
            collections = captured_collections(client, run)
    except PyMongoError as error:
        raise run.translate(error, "Listing the collections") from None
    facts_of_collections = (
        run.facts(collection.database, collection.short_name, collection.own_id)
        for collection in collections
    )
    return [facts.shape(run.settings) for facts in facts_of_collections]
