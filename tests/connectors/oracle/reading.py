"""A reader of changes of the stand-in's tables."""

from __future__ import annotations

import json
from typing import Any, Self

import pytest

from headrace.errors import HeadraceError
from tests.connectors.harness import ConnectorReader
from tests.servers.oracle import OracleDatabase

ID_AND_NAME = ("ID NUMBER(9,0) NOT NULL", "NAME VARCHAR2(4000)")


class OracleReader(ConnectorReader):
    """Reads all tables of a database from now on."""

    @classmethod
    def of(cls, database: OracleDatabase, **more: str) -> Self:
        """A reader whose position is found; `more` are properties with `_` for `.`."""
        changed = {"snapshot_mode": "no_data", "errors_max_retries": "0", "poll_interval_ms": "20"}
        reader = cls(database.properties(**(changed | more)))
        return reader.step_until(lambda: len(reader.offsets) > 1)

    def failure(self) -> HeadraceError:
        """The error with which the stream ends."""
        with pytest.raises(HeadraceError) as caught:
            self.step_until(lambda: False)
        return caught.value

    def values(self) -> list[dict[str, Any]]:
        """Values of changes in total order, tombstones left out."""
        return [value for value in self.events() if value.get("op")]

    def images(self) -> list[tuple[str, dict[str, Any] | None, dict[str, Any] | None]]:
        """Operations and images."""
        return [(value["op"], value["before"], value["after"]) for value in self.values()]

    def await_changes(self, count: int) -> list[dict[str, Any]]:
        """Micro-batches until so many changes came."""
        return self.step_until(lambda: len(self.values()) >= count).values()

    def look_again(self, database: OracleDatabase) -> Self:
        """Micro-batches until the connector has asked twice how far the redo is: what was there
        before is seen."""

        def asked() -> int:
            return sum(map(database.sent, ("now", "archived_until")))

        before = asked()
        return self.step_until(lambda: asked() >= before + 2)

    def ids(self) -> list[int]:
        """The column ID of each change."""
        return [(value["after"] or value["before"])["ID"] for value in self.values()]

    def borders(self) -> list[dict[str, Any]]:
        """Records of transactions' beginnings and ends."""
        values = [json.loads(record["value"]) for record in self.in_order() if record["value"]]
        return [value for value in values if "status" in value]
