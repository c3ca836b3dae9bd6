"""The order in which Java's HashMap lists small maps of texts, which Debezium's records show."""

from __future__ import annotations

from collections.abc import Mapping


def in_java_order(found: Mapping[str, str]) -> dict[str, str]:
    """At most six entries: a copy of them has eight buckets. Ties stay in the order given."""
    return dict(sorted(found.items(), key=lambda item: _bucket(item[0])))


def _bucket(text: str) -> int:
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return (value ^ (value >> 16)) & 7
