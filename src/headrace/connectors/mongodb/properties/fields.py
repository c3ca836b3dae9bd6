"""Fields that events omit or rename: `field.exclude.list` and `field.renames`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from headrace.documents.fields import FieldRules, PathRule


class FieldRule(NamedTuple):
    """An entry of these properties: the field `path` (its names from the document's top on) of the
    collections that `database` and `collection` match, in which `*` stands for any characters.
    `name` replaces the last name; None: the field is omitted."""

    database: str
    collection: str
    path: tuple[str, ...]
    name: str | None = None

    def concerns(self, database: str, collection: str) -> bool:
        """Whether the rule applies to documents of this collection; case is ignored."""
        expression = rf"{_expression(self.database)}\.{_expression(self.collection)}"
        return re.fullmatch(expression, f"{database}.{collection}", re.IGNORECASE) is not None


def parse_excluded_fields(text: str) -> tuple[FieldRule, ...]:
    """Parse `database.collection.field.nested,…`. Raises ValueError, which names the entry."""
    return tuple(_rule(entry, None) for entry in _entries(text))


def parse_renamed_fields(text: str) -> tuple[FieldRule, ...]:
    """Parse `database.collection.field.nested:name,…`; a name with dots is still one name. Raises
    ValueError, which names the entry."""
    rules = []
    for entry in _entries(text):
        field, colon, name = entry.partition(":")
        if not colon or not name.strip() or ":" in name:
            raise ValueError(f"{entry!r} is not of the form database.collection.field:name")
        rules.append(_rule(field.strip(), name.strip()))
    return tuple(rules)


def rules_of(rules: Sequence[FieldRule], database: str, collection: str) -> FieldRules:
    """The compiled rules for documents of this collection; they may be empty."""
    concerned = [rule for rule in rules if rule.concerns(database, collection)]
    return FieldRules([PathRule(rule.path, rule.name) for rule in concerned])


def _entries(text: str) -> list[str]:
    """The entries between commas; trailing commas are ignored."""
    entries = [entry.strip() for entry in text.strip().rstrip(",").split(",")]
    if entries == [""]:
        return []
    if "" in entries:
        raise ValueError(f"entry {entries.index('') + 1} of {len(entries)} is empty")
    return entries


def _rule(field: str, name: str | None) -> FieldRule:
    database, *rest = field.split(".")
    if len(rest) < 2 or not database or not all(rest) or ":" in field:
        raise ValueError(f"{field!r} is not of the form database.collection.field")
    rule = FieldRule(database, rest[0], tuple(rest[1:]), name)
    FieldRules([PathRule(rule.path, rule.name)])  # raises ValueError if it cannot be applied
    return rule


def _expression(name: str) -> str:
    return ".*".join(re.escape(part) for part in name.split("*"))
