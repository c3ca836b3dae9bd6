"""A snapshot's reading, without Spark: `python -m benchmarks.mongodb.reading [DOCUMENTS]`.

Three figures, each in documents and CPU microseconds of this process per document: `find` in raw
batches, whose bytes nobody looks at; the same documents as chunks become images; and the images
alone, of a batch that is at hand. The first two alternate, and the best of several passes counts.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

import bson

from benchmarks.mongodb.workload import DATABASE, document, insert
from headrace.connectors.mongodb.connection import Client
from headrace.connectors.mongodb.reading.collections import Collection
from headrace.connectors.mongodb.reading.document_images import document_images
from headrace.connectors.mongodb.reading.id_ranges import IdRange, read_batches
from headrace.connectors.mongodb.reading.samples import sampled_bounds
from headrace.testing.mongodb import MongoServer

NAME = "orders"
PASSES = 3
CHUNK_BYTES = 32_000_000
DOCUMENT_BYTES = 500


class Cost(NamedTuple):
    """Seconds of wall clock and of this process's CPU."""

    wall: float
    cpu: float


def measure(action: Callable[[], int], count: int) -> Cost:
    """What an action costs that reads `count` documents."""
    wall, cpu = time.perf_counter(), time.process_time()
    read = action()
    cost = Cost(time.perf_counter() - wall, time.process_time() - cpu)
    if read != count:
        raise RuntimeError(f"{read} documents were read, not {count}")
    return cost


def find(client: Client) -> int:
    """Every document, in the server's own order; how many bytes."""
    batches = cast("Iterator[bytes]", client[DATABASE][NAME].find_raw_batches())
    return sum(len(batch) for batch in batches)


def chunks(client: Client, count: int) -> int:
    """Every document as a snapshot's chunks read it; how many."""
    rows = CHUNK_BYTES // DOCUMENT_BYTES
    sampled = sampled_bounds(client, Collection(DATABASE, NAME), None, count, rows)
    read = 0
    with client.start_session() as session:
        for lower, upper in itertools.pairwise([None, *sampled, None]):
            chunk = IdRange(DATABASE, NAME, lower, upper)
            read += sum(len(block.offsets) - 1 for block in read_batches(client, session, chunk))
    return read


def images(count: int) -> Cost:
    """The kernel alone, best of several passes over one batch."""
    batch = b"".join(bson.encode(document(number)) for number in range(count))
    document_images(batch, NAME)
    return min(
        measure(lambda: len(document_images(batch, NAME).offsets) - 1, count) for _ in range(20)
    )


def say(label: str, cost: Cost, count: int) -> None:
    """One line."""
    each = cost.cpu / count * 1e6
    print(f"{label:28} {count / cost.wall:12,.0f} documents/s  {each:6.2f} µs CPU per document")


def main() -> None:
    """Load the documents and print the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    say("images of a batch", images(20_000), 20_000)
    with MongoServer({"wiredTigerCacheSizeGB": "1"}) as server, server.connect() as client:
        insert(client[DATABASE], NAME, 0, count)
        nbytes = find(client)
        chunks(client, count)
        raw, ours = [], []
        for _ in range(PASSES):
            raw.append(measure(lambda: find(client) - nbytes + count, count))
            ours.append(measure(lambda: chunks(client, count), count))
    say("find, raw batches", min(raw), count)
    say("chunks of a snapshot", min(ours), count)
    print(f"chunks: {min(raw).wall / min(ours).wall:.0%} of find")


if __name__ == "__main__":
    main()
