"""The documents and the changes that every contender reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from bson import Decimal128, Int64, ObjectId
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.write_concern import WriteConcern

DATABASE = "bench"
_PER_WRITE = 1000
_BEGIN = datetime(2026, 1, 2, 3, 4, 5, 123000, tzinfo=UTC)
Document = dict[str, Any]


def document(number: int) -> Document:
    """A document of about 500 bytes of BSON, with nested fields."""
    return {
        "_id": number,
        "customer": {
            "number": Int64(number * 7 % 1000),
            "name": f'name {number} "q" é漢',
            "address": {
                "street": f"{number % 99} Example Street",
                "city": "Springfield",
                "at": {"latitude": 47.0 + number % 1000 / 1000, "longitude": 8.5},
            },
        },
        "items": [
            {"article": f"A-{(number + place) % 5000}", "quantity": place, "price": 19.99 + place}
            for place in (1, 2, 3)
        ],
        "total": Decimal128(f"{number % 10000}.{number % 100:02d}"),
        "ordered": _BEGIN + timedelta(seconds=number),
        "reference": ObjectId(f"{number:024x}"),
        "paid": number % 2 == 0,
        "note": f"a note without anything special in it, {number}",
    }


def insert(database: Database[Document], name: str, first: int, count: int) -> None:
    """Insert the documents `first` and following, in batches of 1000."""
    documents = (document(number) for number in range(first, first + count))
    for batch in _batches(documents):
        _fast(database[name]).insert_many(batch, ordered=False)


def make_backlog(
    database: Database[Document], name: str, inserts: int, updates: int, deletes: int
) -> int:
    """Inserts, then updates of a nested field and of a text, then deletes; each change is an event
    of its own. Returns their number."""
    collection = _fast(database[name])
    insert(database, name, 1, inserts)
    change = {"$inc": {"customer.number": 1}, "$set": {"note": "changed", "paid": None}}
    for first in range(0, updates, _PER_WRITE):
        begin = first % inserts
        documents = {"_id": {"$gt": begin, "$lte": begin + _PER_WRITE}}
        if collection.update_many(documents, change).modified_count != _PER_WRITE:
            raise RuntimeError(f"not every document after {begin} was updated")
    for first in range(0, deletes, _PER_WRITE):
        collection.delete_many({"_id": {"$gt": first, "$lte": first + _PER_WRITE}})
    return inserts + updates + deletes


def _fast(collection: Collection[Document]) -> Collection[Document]:
    """Writes that do not wait for the journal."""
    return collection.with_options(write_concern=WriteConcern(w=1, j=False))


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    iterator = iter(documents)
    while batch := list(islice(iterator, _PER_WRITE)):
        yield batch
