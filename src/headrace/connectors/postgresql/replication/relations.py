"""The relation versions of a stream: the log's descriptions of tables, joined with the
catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.messages import MessageFacts
from headrace.connectors.postgresql.replication.logged_table import (
    LoggedTables,
    logged_table,
)
from headrace.connectors.postgresql.replication.pgoutput_messages import RelationMessage
from headrace.relational.events import RelationFacts
from headrace.streaming.changes.id_table import IdTable
from headrace.streaming.facts import EventSettings
from headrace.streaming.relations import RelationVersions


class Relations(RelationVersions):
    """The relation versions of a stream, by oid, by the catalogue's description, and by the origin
    of replicated transactions. No method waits for the catalogue, which `tables` reads. `oids` are
    the numbers of the current versions."""

    def __init__(
        self,
        capture: Capture,
        tables: LoggedTables,
        server: str,
        *,
        compared: EventSettings | None = None,
    ) -> None:
        """`compared`: see RelationVersions."""
        super().__init__(capture.key_rendering, compared)
        self.oids = IdTable()
        self.capture = capture
        self.tables = tables
        self._server = server
        self._seen: dict[int, RelationMessage] = {}
        self._of_origin: dict[str, dict[int, int]] = {}
        self._origin_maps: dict[str, np.ndarray] = {}

    def add(self, message: RelationMessage, xid: int) -> tuple[int, bool] | None:
        """Return the version that `message` of the transaction `xid` describes, and whether it
        replaces another one; None if the catalogue must be read first. The same message again is
        the same version, unless the catalogue's description has changed."""
        version = self.oids.numbers.get(message.oid)
        name = f"{message.schema}.{message.table}"
        captured = self.capture.takes(name)
        if captured:
            reading = self.tables.known(message, xid)
            if reading is None:
                return None
            table = logged_table(message, reading, xid)
            facts = self.capture.relation(table, reading.describe(message.oid))
        else:
            facts = RelationFacts(message.schema, message.table, "", (), ())
        if (
            version is not None
            and self._seen[message.oid] == message
            and self.facts[version] == facts
        ):
            return version, False
        index = self.append(facts, captured=captured)
        self._seen[message.oid] = message
        self.oids.put(message.oid, index)
        return index, version is not None

    def ask(self, messages: Sequence[RelationMessage], xid: int) -> None:
        """Begin to read the catalogue for the captured tables among `messages`."""
        self.tables.ask((m for m in messages if self.capture.takes(f"{m.schema}.{m.table}")), xid)

    def truncated(self, oid: int) -> int | None:
        """The version of a table without key, for truncate events; None if it is not captured."""
        index = self.oids.numbers.get(oid)
        if index is None or not self.is_captured(index):
            return None
        facts = self.facts[index]
        assert isinstance(facts, RelationFacts)
        return self.version_of(facts.as_truncates())

    def messages(self, *, transactional: bool) -> int:
        """The version of the records of logical messages."""
        return self.version_of(MessageFacts(f"{self._server}.message", transactional))

    def of_origin(self, origin: str) -> np.ndarray:
        """Return, per relation version, the version of rows replicated from `origin`."""
        for index in list(self.oids.numbers.values()):
            if self.is_captured(index):
                self.version_of_origin(index, origin)
        versions = np.arange(len(self.facts), dtype=np.int64)
        for index, version in self._of_origin.setdefault(origin, {}).items():
            versions[index] = version
        self._origin_maps[origin] = versions  # the compiled pass holds its address
        return versions

    def version_of_origin(self, index: int, origin: str) -> int:
        """The version of rows of version `index` that are replicated from `origin`."""
        versions = self._of_origin.setdefault(origin, {})
        if index not in versions:
            facts = self.facts[index]
            if isinstance(facts, RelationFacts | MessageFacts):
                facts = replace(facts, origin=origin)
            versions[index] = self.append(facts)
        return versions[index]
