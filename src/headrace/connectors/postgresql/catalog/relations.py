"""The relation versions of a stream: what the log says of a table, joined with the catalogue."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from headrace.connect.kernels.memory import address_of
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.relational.events import (
    ColumnFacts,
    MessageFacts,
    RelationFacts,
)
from headrace.connectors.postgresql.key_columns import KeyColumns, KeyScratch
from headrace.connectors.postgresql.replication import pgoutput as decoder
from headrace.connectors.postgresql.replication.pgoutput_messages import RelationMessage
from headrace.connectors.postgresql.unchanged import compared_columns
from headrace.debezium.column_rules import NO_RULES, ColumnRules
from headrace.debezium.keys import KeyRules
from headrace.debezium.topics import TopicNames
from headrace.errors import HeadraceError
from headrace.streaming.facts import BorderFacts, EventSettings, Facts

if TYPE_CHECKING:
    from headrace.relational.capture import Capture
    from headrace.connectors.postgresql.catalog.known_tables import KnownTables

_BY_KEY = ("d", "i")
"""Replica identities whose columns are NOT NULL and name one row."""


class TableCatalog(Protocol):
    """The part of the catalogue that a relation needs."""

    def describe(self, oid: int) -> TableDescription | None:
        """A table as it is now; None when it was dropped."""
        ...

    def named(self, schema: str, table: str) -> TableDescription | None:
        """The table that has a name now."""
        ...

    def type_facts(self, oid: int) -> TypeFacts:
        """A type as it is now."""
        ...


class TableDescription(Protocol):
    """A table's columns by name, and its key."""

    @property
    def column_names(self) -> frozenset[str]: ...
    @property
    def not_null(self) -> frozenset[str]: ...
    @property
    def defaults(self) -> dict[str, str]: ...
    @property
    def comments(self) -> dict[str, str]: ...
    @property
    def key(self) -> tuple[str, ...]: ...


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
            facts = self._capture.relation(message, reading)
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

    def messages(self, *, transactional: bool) -> tuple[int, int] | None:
        """The version that logical messages use."""
        index = self._version_of(MessageFacts(f"{self._server}.message", transactional))
        return index, int(self.table[index][decoder.TOPIC_HASH])

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
    rules: ColumnRules = NO_RULES,
    *,
    comments: bool = False,
) -> RelationFacts:
    """Facts of a relation message and of the catalogue at this moment, which may be newer: what
    the catalogue no longer knows is as the message says. `comments`: include.schema.comments."""
    _refuse_case_twins(message)
    names = [column.name for column in message.columns]
    table = f"{message.schema}.{message.table}"
    primary = key_of(message, description, types)
    columns = []
    for column in message.columns:
        if description is None or column.name not in description.column_names:
            filled = column.in_identity and message.identity in _BY_KEY
        else:
            filled = column.name in description.not_null
        default = None if description is None else description.defaults.get(column.name)
        named = f"{table}.{column.name}"
        facts = types.type_facts(column.type_oid)
        columns.append(
            ColumnFacts(
                column.name,
                facts,
                column.type_modifier,
                nullable=not filled,
                default=default,
                captured=takes_column(named),
                rule=rules.rule_for(named, f"{table}.{facts.name}"),
                comment=description.comments.get(column.name)
                if comments and description is not None
                else None,
            )
        )
    return RelationFacts(
        message.schema,
        message.table,
        topics.data(message.schema, message.table),
        tuple(columns),
        keys.key_columns(table, names, primary),
        key_fields=topics.key_fields(message.schema, message.table),
    )


def key_of(
    message: RelationMessage, description: TableDescription | None, types: TableCatalog
) -> tuple[str, ...]:
    """The key of the rows behind `message`, in its order.

    The catalogue may be newer, and the table may be gone. By default the replica identity is the
    primary key, so the log tells which columns it had; their order, and keys that are no identity,
    only the catalogue does: for a table that is gone, by the one that bears its name now.
    """
    names = {column.name for column in message.columns}
    if description is None:
        description = types.named(message.schema, message.table)
        now = () if description is None else description.key
        now = now if names.issuperset(now) else ()
        trusts_log = message.identity in _BY_KEY
    else:
        now = description.key
        trusts_log = message.identity == "d" or not names.issuperset(now)
    then = tuple(column.name for column in message.columns if column.in_identity)
    if trusts_log and message.identity in _BY_KEY and then and set(then) != set(now):
        return then
    return tuple(name for name in now if name in names)


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
