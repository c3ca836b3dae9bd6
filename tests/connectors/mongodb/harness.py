"""A reader of the changes of one database of a MongoDB server."""

from __future__ import annotations

import json
from typing import Any

from tests.connectors.harness import ConnectorReader
from tests.servers.mongodb import MongoDatabase

PLAIN = {"snapshot.mode": "no_data", "heartbeat.interval.ms": "0"}


class Reader(ConnectorReader):
    """Reads what is captured of `database`; `more` are properties with `_` for `.`. Its first range
    is over when it is made: what is changed from then on is read."""

    @classmethod
    def begin(cls, database: MongoDatabase, **more: str) -> Reader:
        reader = cls(PLAIN | database.properties(**more))
        reader.step_until(lambda: len(reader.offsets) > 1)
        return reader

    def until(self, count: int) -> list[dict[str, Any]]:
        """The first `count` records, in total order."""
        self.step_until(lambda: len(self.records) >= count)
        return self.in_order()

    def values(self, count: int) -> list[dict[str, Any] | None]:
        """The values of the first `count` records."""
        return [
            None if record["value"] is None else json.loads(record["value"])
            for record in self.until(count)
        ]
