"""Topic names: Debezium's SchemaTopicNamingStrategy, and the schema names built on them."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_TOPIC_LENGTH = 249
"""Kafka's limit, in characters."""

_FORBIDDEN = re.compile(r"[^A-Za-z0-9._-]")


def sanitized(name: str) -> str:
    """`name` as a topic name: other characters than A-Z a-z 0-9 . _ - become `_`, the end is cut.

    Characters are UTF-16 code units, as in Java: one outside the basic plane becomes `__`.
    """
    return _FORBIDDEN.sub(lambda m: "_" * (1 + (ord(m[0]) > 0xFFFF)), name)[:MAX_TOPIC_LENGTH]


@dataclass(frozen=True)
class TopicNames:
    """The topics of one connector."""

    prefix: str
    delimiter: str = "."
    transaction: str = "transaction"
    heartbeat_prefix: str = "__debezium-heartbeat"
    heartbeat_name: str | None = None

    def data(self, *path: str) -> str:
        """The topic of a table (schema, table) or collection (database, collection)."""
        return sanitized(self.delimiter.join((self.prefix, *(part for part in path if part))))

    @property
    def transactions(self) -> str:
        """The topic of transaction boundaries."""
        return sanitized(self.delimiter.join((self.prefix, self.transaction)))

    @property
    def heartbeats(self) -> str:
        """The topic of heartbeats."""
        if self.heartbeat_name:
            return sanitized(self.heartbeat_name)
        return sanitized(self.delimiter.join((self.heartbeat_prefix, self.prefix)))

    @property
    def messages(self) -> str:
        """The topic of logical messages; it ignores the delimiter."""
        return f"{self.prefix}.message"
