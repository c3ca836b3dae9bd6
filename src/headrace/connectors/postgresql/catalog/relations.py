"""The relation versions of a stream: what the log says of a table, joined with the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headrace.connect.kernels.memory import address_of
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.known_tables import KnownTables
from headrace.connectors.postgresql.catalog.logged_table import logged_table
from headrace.connectors.postgresql.messages import MessageFacts
from headrace.connectors.postgresql.replication import pgoutput as decoder
from headrace.connectors.postgresql.replication.pgoutput_messages import RelationMessage
from headrace.debezium.naming.topics import topic_hash
from headrace.relational.events import RelationFacts
from headrace.streaming.facts import BorderFacts, EventSettings, Facts
from headrace.streaming.key_columns import KeyColumns, KeyScratch
from headrace.streaming.unchanged import compared_columns


class Relations:
    """Relation versions in the order in which they were seen, and the tables the kernel reads.

    The oid table grows by replacement: the kernel gets its address anew on every call.
    """

    def __init__(
        self,
        capture: Capture,
        tables: KnownTables,
        server: str,
        *,
        compared: EventSettings | None = None,
    ) -> None:
        """`compared`: updates without change are dropped, by what events under these settings
        show."""
        self.facts: list[Facts] = []
        self.table = np.zeros((64, decoder.RELATION_WORDS), np.int64)
        self.oids = np.full(2 * 256, -1, np.int64)
        self._capture = capture
        self._tables = tables
        self._server = server
        self._settings = compared
        self._by_oid: dict[int, int] = {}
        self._seen: dict[int, RelationMessage] = {}
        self.key_texts = KeyScratch()
        self._kept: list[object] = []  # `table` holds their addresses
        self._truncated: dict[int, int] = {}
        self._special: dict[Facts, int] = {}
        self.collections: list[str] = []
        self._of_origin: dict[str, dict[int, int]] = {}
        self._origin_maps: dict[str, np.ndarray] = {}

    def add(self, message: RelationMessage, xid: int) -> tuple[int, bool] | None:
        """The version that `message` of the transaction `xid` describes, and whether it replaces
        another one; None when the catalogue must be asked first. The same message again is the
        same version, unless what the catalogue says has changed."""
        known = self._by_oid.get(message.oid)
        name = f"{message.schema}.{message.table}"
        captured = self._capture.takes(name)
        if captured:
            reading = self._tables.known(message, xid)
            if reading is None:
                return None
            table = logged_table(message, reading)
            facts = self._capture.relation(table, reading.describe(message.oid))
        else:
            facts = RelationFacts(message.schema, message.table, "", (), ())
        same = known is not None and self._seen[message.oid] == message
        if known is not None and same and self.facts[known] == facts:
            return known, False
        index = self._append(facts, captured=captured)
        self._by_oid[message.oid] = index
        self._seen[message.oid] = message
        self._enter(message.oid, index)
        return index, known is not None

    def ask(self, messages: Sequence[RelationMessage], xid: int) -> None:
        """Begin to ask the catalogue for the captured tables among `messages`."""
        self._tables.ask((m for m in messages if self._capture.takes(f"{m.schema}.{m.table}")), xid)

    def answered(self, seconds: float) -> bool:
        """Whether the catalogue has answered, after `seconds` at most. Raises HeadraceError."""
        return self._tables.answered(seconds)

    def truncated(self, index: int) -> int | None:
        """The version of `index` without key, for truncate events."""
        if not self.table[index][decoder.CAPTURED]:
            return None
        if index not in self._truncated:
            facts = self.facts[index]
            assert isinstance(facts, RelationFacts)
            self._truncated[index] = self._append(facts.as_truncates(), captured=True)
        return self._truncated[index]

    def messages(self, *, transactional: bool) -> int:
        """The version that logical messages use."""
        return self._version_of(MessageFacts(f"{self._server}.message", transactional))

    def borders(self) -> tuple[int, int]:
        """The versions that BEGIN and END records use."""
        topic = self._capture.topics.transactions
        begin, end = (BorderFacts(topic, begins) for begins in (True, False))
        return self._version_of(begin), self._version_of(end)

    def _version_of(self, facts: Facts) -> int:
        if facts not in self._special:
            self._special[facts] = self._append(facts, captured=True)
        return self._special[facts]

    def of_origin(self, origin: str) -> np.ndarray:
        """Per relation version the one that rows replicated from `origin` use."""
        for index in list(self._by_oid.values()):
            if self.table[index][decoder.CAPTURED]:
                self.version_of_origin(index, origin)
        known = np.arange(len(self.facts), dtype=np.int64)
        for index, version in self._of_origin.setdefault(origin, {}).items():
            known[index] = version
        self._origin_maps[origin] = known  # the compiled pass holds its address
        return known

    def version_of_origin(self, index: int, origin: str) -> int:
        """The same for one version."""
        versions = self._of_origin.setdefault(origin, {})
        if index not in versions:
            facts = self.facts[index]
            if isinstance(facts, RelationFacts | MessageFacts):
                facts = replace(facts, origin=origin)
            versions[index] = self._append(facts, captured=True)
        return versions[index]

    def captures_message(self, prefix: str) -> bool:
        """By message.prefix.include.list and message.prefix.exclude.list."""
        return self._capture.takes_message(prefix)

    def _append(self, facts: Facts, *, captured: bool) -> int:
        index = len(self.facts)
        if index == len(self.table):
            larger = np.zeros((2 * index, decoder.RELATION_WORDS), np.int64)
            larger[:index] = self.table
            self.table = larger
        keys = None
        if captured and facts.holds_changes:
            keys = KeyColumns(facts, self._capture.key_rendering)
            self.key_texts.know(keys)
        compared = np.zeros((0, 3), np.int64)
        if self._settings is not None and captured and facts.holds_changes:
            compared = compared_columns(facts, self._settings)
        self._kept += [keys, compared]
        self.table[index] = (
            int(captured),
            len(facts.cell_names),
            topic_hash(facts.topic),
            0 if keys is None else address_of(keys.table),
            0 if keys is None else len(keys),
            address_of(compared),
            len(compared),
            0 if self._settings is None else 1,
        )
        self.facts.append(facts)
        self.collections.append(facts.collection)
        return index

    def _enter(self, oid: int, index: int) -> None:
        if 4 * len(self._by_oid) > len(self.oids):
            self.oids = np.full(2 * len(self.oids), -1, np.int64)
            for known, place in self._by_oid.items():
                self._put(known, place)
        self._put(oid, index)

    def _put(self, oid: int, index: int) -> None:
        mask = len(self.oids) // 2 - 1
        slot = (oid * 2654435761) & mask
        while self.oids[2 * slot] not in (-1, oid):
            slot = (slot + 1) & mask
        self.oids[2 * slot : 2 * slot + 2] = (oid, index)
