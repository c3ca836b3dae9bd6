"""What the server gives at most: `python -m benchmarks.mongodb.raw_cursor PROPERTIES COUNT`.

Reads the replies of one cursor as bytes and counts their documents, without looking into them. It
reads what the connector of these properties reads: the documents of the collection, or its changes.
Speaks the lines of EngineRunner.java.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pymongo
from bson.raw_bson import RawBSONDocument
from bson.timestamp import Timestamp


def _properties(path: str) -> dict[str, str]:
    lines = Path(path).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def _batches(client: pymongo.MongoClient[Any], properties: dict[str, str]) -> Any:
    database, _, name = properties["collection.include.list"].partition(".")
    start = int(properties.get("capture.start.op.time", "0"))
    if not start:
        return client[database][name].find_raw_batches(batch_size=0)
    mode = properties.get("capture.mode", "change_streams_update_full")
    stream: dict[str, Any] = {"startAtOperationTime": Timestamp(start >> 32, start & 0xFFFFFFFF)}
    if "update_full" in mode:
        stream["fullDocument"] = "updateLookup"
    kinds = ["insert", "update", "replace", "delete"]
    match = {"ns.coll": name, "operationType": {"$in": kinds}}
    # A collection of the driver's, so that the change stream is read in raw batches.
    return client[database][name].aggregate_raw_batches(
        [{"$changeStream": stream}, {"$match": match}], maxAwaitTimeMS=1000
    )


def _documents(batch: bytes) -> int:
    count = place = 0
    while place < len(batch):
        place += int.from_bytes(batch[place : place + 4], "little")
        count += 1
    return count


def main() -> None:
    """Run until COUNT documents were read."""
    properties, event_count = _properties(sys.argv[1]), int(sys.argv[2])
    events = size = 0
    with pymongo.MongoClient[RawBSONDocument](
        properties["mongodb.connection.string"], document_class=RawBSONDocument
    ) as client:
        client.admin.command("ping")
        print("ready", flush=True)
        sys.stdin.readline()
        print("start", int(time.time() * 1000), flush=True)
        for batch in _batches(client, properties):
            events += _documents(batch)
            size += len(batch)
            if events >= event_count:
                break
        print("done", int(time.time() * 1000), events, size, flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main()
