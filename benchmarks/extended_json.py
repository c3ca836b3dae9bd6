"""BSON → Extended JSON: megabytes of BSON per second on one core.

`python -m benchmarks.extended_json` writes documents of about 500 bytes with nested fields in every
dialect, and as a JSON string inside of an event, best of several passes.
"""

from __future__ import annotations

import datetime as dt
import struct
import sys
import time

import bson
import numpy as np

from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.documents.bson import DOCUMENT
from headrace.documents.dialects import Dialect
from headrace.documents.kernels.writer import GROWTH, SLACK, put_value

DOCUMENTS = 2_000
PASSES = 300


def order(number: int) -> dict[str, object]:
    """An order: texts, numbers, dates, a nested address and a list of items."""
    placed = dt.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=dt.UTC)
    return {
        "_id": bson.ObjectId(struct.pack(">IQ", 1700000000, number)),
        "number": bson.Int64(10_000_000 + number),
        "customer": f"Customer {number} of the northern region",
        "status": "shipped",
        "placedAt": placed + dt.timedelta(milliseconds=number * 977),
        "paid": number % 3 == 0,
        "total": round(number * 7.13 % 10_000, 2),
        "address": {
            "street": f"{number % 400} Rue de l'Église",
            "city": "Montréal",
            "zip": f"{number % 100_000:05}",
            "geo": {"lat": 45.5019 + number % 1000 / 9973, "lon": -73.5674},
        },
        "items": [
            {"sku": f"SKU-{number % 5000 + i:06}", "quantity": i + 1, "price": 19.95 + i}
            for i in range(3)
        ],
        "tags": ["online", "gift"],
        "note": None,
    }


@entry
def _write_all(source, offsets, count, dialect, escaped, out):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for i in range(count):
        length = offsets[i + 1] - offsets[i]
        end = put_value(DOCUMENT, source + offsets[i], length, dialect, escaped, GROWTH, out)
        total += end - out
    return total


def measure(dialect: Dialect, escaped: int, documents: list[bytes]) -> tuple[float, int]:
    """Seconds of the best pass over all documents, and bytes of their texts."""
    source = np.frombuffer(b"".join(documents) + bytes(PADDING), np.uint8)
    offsets = np.cumsum([0, *map(len, documents)])
    out = np.empty(GROWTH * max(map(len, documents)) + SLACK, np.uint8)
    best, written = float("inf"), 0
    for _ in range(PASSES):
        begun = time.perf_counter()
        written = _write_all(
            address_of(source), offsets, len(documents), int(dialect), escaped, address_of(out)
        )
        best = min(best, time.perf_counter() - begun)
    return best, written


def main() -> int:
    """Print a line per dialect."""
    documents = [bson.encode(order(number)) for number in range(DOCUMENTS)]
    size = sum(map(len, documents))
    print(f"{DOCUMENTS:,} documents of {size / DOCUMENTS:.0f} bytes")
    for dialect in Dialect:
        for escaped in (0, 1):
            seconds, written = measure(dialect, escaped, documents)
            print(
                f"{dialect.name.lower():15} {'in a JSON string' if escaped else 'plain':16} "
                f"{size / seconds / 1e6:6.0f} MB/s of BSON, {written / seconds / 1e6:6.0f} MB/s "
                f"of text, {seconds / DOCUMENTS * 1e9:5.0f} ns per document"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
