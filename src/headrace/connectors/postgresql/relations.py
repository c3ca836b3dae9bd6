"""The relation versions of a stream: what the log says of a table, joined with the catalogue."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Protocol

import numpy as np

from headrace.connect.memory import address_of
from headrace.connectors.postgresql import decoder
from headrace.connectors.postgresql.events import ColumnFacts, RelationFacts, column_type
from headrace.connectors.postgresql.messages import RelationMessage
from headrace.connectors.postgresql.type_facts import TypeFacts, TypeOptions
from headrace.debezium.keys import KeyRules
from headrace.debezium.topics import TopicNames
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.connectors.postgresql.capture import Capture


class TableCatalog(Protocol):
    """The part of the catalogue that a relation needs; every call is a query."""

    def describe(self, oid: int) -> TableDescription | None:
        """A table as it is now; None when it was dropped."""
        ...

    def type_facts(self, oid: int) -> TypeFacts:
        """A type as it is now."""
        ...


class TableDescription(Protocol):
    """A table's columns by name, and its key."""

    @property
    def not_null(self) -> frozenset[str]: ...
    @property
    def defaults(self) -> dict[str, str]: ...
    @property
    def key(self) -> tuple[str, ...]: ...


class Relations:
    """Relation versions in the order in which they were seen, and the tables the kernel reads.

    The oid table grows by replacement: the kernel gets its address anew on every call.
    """

    def __init__(self, capture: Capture, catalog: TableCatalog, server: str) -> None:
        self.facts: list[RelationFacts] = []
        self.table = np.zeros((64, decoder.RELATION_WORDS), np.int64)
        self.oids = np.full(2 * 256, -1, np.int64)
        self._capture = capture
        self._catalog = catalog
        self._server = server
        self._by_oid: dict[int, int] = {}
        self._seen: dict[int, RelationMessage] = {}
        self._keys: list[np.ndarray] = []
        self._truncated: dict[int, int] = {}
        self._messages: int | None = None

    def add(self, message: RelationMessage) -> tuple[int, bool]:
        """The version that `message` describes. The same message again is the same version,
        unless an enum got labels (its facts are read again)."""
        known = self._by_oid.get(message.oid)
        facts = self._capture.relation(message, self._catalog)
        same = known is not None and self._seen[message.oid] == message
        if known is not None and same and self.facts[known] == facts:
            return known, False
        index = self._append(facts, captured=self._capture.takes(facts.name))
        self._by_oid[message.oid] = index
        self._seen[message.oid] = message
        self._enter(message.oid, index)
        return index, known is not None

    def truncated(self, index: int) -> int | None:
        """The version of `index` without key, for truncate events."""
        if not self.table[index][decoder.CAPTURED]:
            return None
        if index not in self._truncated:
            facts = self.facts[index]
            without = RelationFacts(
                facts.schema, facts.table, facts.topic, facts.columns, facts.key, "truncate"
            )
            self._truncated[index] = self._append(without, captured=True)
        return self._truncated[index]

    def messages(self) -> tuple[int, int] | None:
        """The version that logical messages use."""
        if self._messages is None:
            facts = RelationFacts("", "", f"{self._server}.message", (), ("prefix",), "message")
            self._messages = self._append(facts, captured=True)
        return self._messages, int(self.table[self._messages][decoder.TOPIC_HASH])

    def captures_message(self, prefix: str) -> bool:
        """Every message is captured."""
        return bool(prefix) or True

    def _append(self, facts: RelationFacts, *, captured: bool) -> int:
        index = len(self.facts)
        if index == len(self.table):
            larger = np.zeros((2 * index, decoder.RELATION_WORDS), np.int64)
            larger[:index] = self.table
            self.table = larger
        names = [column.name for column in facts.columns]
        keys = np.array([names.index(k) for k in facts.key if k in names], np.int64)
        self._keys.append(keys)
        self.table[index] = (
            int(captured),
            len(facts.columns),
            topic_hash(facts.topic),
            address_of(keys),
            len(keys) if facts.kind == "table" else 0,
        )
        self.facts.append(facts)
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


def topic_hash(topic: str) -> int:
    """What the hash of every key of a topic begins with."""
    raw = topic.encode()
    return (zlib.crc32(raw) << 31) ^ zlib.adler32(raw)


def relation_facts(
    message: RelationMessage,
    description: TableDescription | None,
    types: TableCatalog,
    topics: TopicNames,
    keys: KeyRules,
    takes_column: ColumnFilter,
) -> RelationFacts:
    """Facts of a relation message and of the catalogue at this moment, which may be newer: what
    the catalogue no longer knows is optional, what the message lacks is no key."""
    _refuse_case_twins(message)
    names = [column.name for column in message.columns]
    table = f"{message.schema}.{message.table}"
    primary = () if description is None else description.key
    primary = tuple(name for name in primary if name in names)
    columns = []
    for column in message.columns:
        known = description is not None and column.name in description.not_null
        default = None if description is None else description.defaults.get(column.name)
        columns.append(
            ColumnFacts(
                column.name,
                types.type_facts(column.type_oid),
                column.type_modifier,
                nullable=not known,
                default=default,
                captured=takes_column(f"{table}.{column.name}"),
            )
        )
    return RelationFacts(
        message.schema,
        message.table,
        topics.data(message.schema, message.table),
        tuple(columns),
        keys.key_columns(table, names, primary),
    )


class ColumnFilter(Protocol):
    """Whether a column (schema.table.column) is captured."""

    def __call__(self, name: str, /) -> bool: ...


def _refuse_case_twins(message: RelationMessage) -> None:
    seen: dict[str, str] = {}
    for column in message.columns:
        twin = seen.setdefault(column.name.lower(), column.name)
        if twin != column.name:
            raise HeadraceError(
                "postgresql.case_twins",
                f"{message.schema}.{message.table} has the columns {twin} and {column.name}, "
                "which differ by case only",
                "Rename one of them, or exclude the table.",
            )


def check_types(facts: RelationFacts, options: TypeOptions) -> None:
    """Resolve every captured column now, so that a type that is not supported is named before
    anything is read. Raises HeadraceError("postgresql.type_not_supported")."""
    for column in facts.columns:
        if column.captured or column.name in facts.key:
            column_type(facts, column, options)
