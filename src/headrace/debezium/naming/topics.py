"""Topic names in Debezium's naming strategies, and the key field that a regex strategy adds."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headrace.debezium.naming.expressions import Substitution
from headrace.debezium.naming.names import unicode_escaped

MAX_TOPIC_LENGTH = 249
"""Kafka's limit for the length of a topic name, in characters."""

_FORBIDDEN = re.compile(r"[^A-Za-z0-9._-]")
_FORBIDDEN_OR_UNDERSCORE = re.compile(r"[^A-Za-z0-9.-]")


class TopicNamingStrategy(StrEnum):
    """Mapping of tables to topics, by the names of Debezium's classes."""

    SCHEMA = "io.debezium.schema.SchemaTopicNamingStrategy"  # <prefix>.<schema>.<table>
    SCHEMA_REGEX = "io.debezium.schema.SchemaRegexTopicNamingStrategy"
    SCHEMA_UNICODE = "io.debezium.schema.SchemaUnicodeTopicNamingStrategy"
    DEFAULT = "io.debezium.schema.DefaultTopicNamingStrategy"  # <prefix>.<table>
    DEFAULT_REGEX = "io.debezium.schema.DefaultRegexTopicNamingStrategy"
    DEFAULT_UNICODE = "io.debezium.schema.DefaultUnicodeTopicNamingStrategy"

    @property
    def is_regex(self) -> bool:
        """Whether `topic.regex` routes tables to topics."""
        return self in (TopicNamingStrategy.SCHEMA_REGEX, TopicNamingStrategy.DEFAULT_REGEX)

    @property
    def is_unicode(self) -> bool:
        """Whether forbidden characters are escaped rather than replaced."""
        return self in (TopicNamingStrategy.SCHEMA_UNICODE, TopicNamingStrategy.DEFAULT_UNICODE)

    @property
    def names_schema(self) -> bool:
        """Whether the schema (or database) is part of the name."""
        return self in (
            TopicNamingStrategy.SCHEMA,
            TopicNamingStrategy.SCHEMA_REGEX,
            TopicNamingStrategy.SCHEMA_UNICODE,
        )


TOPIC_NAMING_CLASSES = {
    strategy.value.rpartition(".")[2]: strategy.value for strategy in TopicNamingStrategy
}
"""Naming strategies (full class names) by class name without package."""


def sanitized(name: str) -> str:
    """Return `name` as a topic name: characters other than A-Z a-z 0-9 . _ - become `_`, and the
    name is truncated to the limit.

    Characters are UTF-16 code units, as in Java: one outside the basic plane becomes `__`.
    """
    return _FORBIDDEN.sub(lambda m: "_" * (1 + (ord(m[0]) > 0xFFFF)), name)[:MAX_TOPIC_LENGTH]


def unicode_sanitized(name: str) -> str:
    """Return `name` as a topic name that can be decoded: characters other than A-Z a-z 0-9 . -
    become `_uXXXX`, and the name is truncated to the limit."""
    return unicode_escaped(_FORBIDDEN_OR_UNDERSCORE, name)[:MAX_TOPIC_LENGTH]


@dataclass(frozen=True)
class NameReplacement:
    """A regular expression for a whole name, and its replacement (`$1`: a group)."""

    regex: Substitution
    replacement: str

    def __call__(self, name: str) -> str | None:
        """The new name; None when `name` does not match."""
        if not self.regex.fullmatch(name):
            return None
        indexes = self.regex.groupindex
        return self.regex.replaced(
            name, lambda groups: _expanded(self.replacement, groups, indexes)
        )


_REFERENCE = re.compile(r"\\(.)|\$(?:(\d)|\{(\w+)\})", re.DOTALL)


def _expanded(replacement: str, groups: Sequence[str], indexes: Mapping[str, int]) -> str:
    """Expand a replacement text of Java's Matcher: `$1`, `${name}`, and a backslash before a
    literal."""

    def one(match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1]
        return groups[indexes[match[3]] if match[2] is None else int(match[2])]

    return _REFERENCE.sub(one, replacement)


@dataclass(frozen=True)
class KeyField:
    """The key field that distinguishes rows of tables that share a topic."""

    name: str = "__dbz__physicalTableIdentifier"
    replacement: NameReplacement | None = None


@dataclass(frozen=True)
class TopicNames:
    """The topics of one connector."""

    prefix: str
    delimiter: str = "."
    transaction: str = "transaction"
    heartbeat_prefix: str = "__debezium-heartbeat"
    heartbeat_name: str | None = None
    strategy: TopicNamingStrategy = TopicNamingStrategy.SCHEMA
    routing: NameReplacement | None = None
    key_field: KeyField | None = None

    def data(self, *path: str) -> str:
        """The topic of a table (schema, table) or collection (database, collection)."""
        origin = self.origin(*path)
        topic = self.sanitizer(origin)
        if self.routing is None:
            return topic
        return self.routing(topic) or topic

    def origin(self, *path: str) -> str:
        """Return the name of a table before it is sanitized and routed."""
        if not self.strategy.names_schema:
            path = path[-1:]
        return self.delimiter.join((self.prefix, *(part for part in path if part)))

    def key_fields(self, *path: str) -> tuple[tuple[str, str], ...]:
        """Return the constant fields, with their values, after the key columns of a table."""
        if self.key_field is None:
            return ()
        origin = self.origin(*path)
        replacement = self.key_field.replacement
        named = None if replacement is None else replacement(origin)
        return ((self.key_field.name, origin if named is None else named),)

    @property
    def sanitizer(self) -> Callable[[str], str]:
        """The function that makes a text a valid topic name."""
        return unicode_sanitized if self.strategy.is_unicode else sanitized

    @property
    def transactions(self) -> str:
        """The topic of transaction boundaries."""
        return self.sanitizer(self.delimiter.join((self.prefix, self.transaction)))

    @property
    def heartbeats(self) -> str:
        """The topic of heartbeats."""
        if self.heartbeat_name:
            return self.sanitizer(self.heartbeat_name)
        return self.sanitizer(self.delimiter.join((self.heartbeat_prefix, self.prefix)))

    @property
    def schema_changes(self) -> str:
        """The topic of schema changes."""
        return self.sanitizer(self.prefix)

    @property
    def messages(self) -> str:
        """The topic of logical messages; it ignores the delimiter."""
        return f"{self.prefix}.message"


def topic_hash(topic: str) -> int:
    """Return the number that the hash of every key of a topic starts with."""
    raw = topic.encode()
    return (zlib.crc32(raw) << 31) ^ zlib.adler32(raw)
