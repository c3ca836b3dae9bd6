"""replica.identity.autoset.values: the replica identities that tables get. Loads no driver."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.config.regex import compile_java_regex, split_regex_list

_LETTERS = {"DEFAULT": "d", "FULL": "f", "NOTHING": "n", "INDEX": "i"}
_IDENTITY = re.compile(r"(DEFAULT|FULL|NOTHING)|INDEX\s+(\S.*)", re.IGNORECASE)


@dataclass(frozen=True)
class IdentityRule:
    """Tables (a regular expression for schema.table) and the identity that they get; `index` names
    the index of INDEX."""

    tables: str
    identity: str
    index: str | None = None

    @property
    def statement(self) -> str:
        """The text after REPLICA IDENTITY in ALTER TABLE."""
        if self.index is None:
            return self.identity
        quoted = self.index.replace('"', '""')
        return f'USING INDEX "{quoted}"'

    @property
    def letter(self) -> str:
        """The identity as pg_class.relreplident writes it."""
        return _LETTERS[self.identity]

    def matches(self, table: str) -> bool:
        """Whether the rule names `schema.table`."""
        return compile_java_regex(self.tables).fullmatch(table)

    def __str__(self) -> str:
        return self.identity if self.index is None else f"{self.identity} {self.index}"


def parse_identity_rules(text: str) -> tuple[IdentityRule, ...]:
    """The rules in `regex:FULL, regex:INDEX name, …`. Raises ValueError."""
    rules = []
    for part in split_regex_list(text):
        tables, colon, identity = part.rpartition(":")
        words = _IDENTITY.fullmatch(identity.strip())
        if not colon or not tables.strip() or words is None:
            raise ValueError(f"{part!r} is not of the form schema.table:FULL")
        compile_java_regex(tables.strip())
        kind = (words[1] or "INDEX").upper()
        rules.append(IdentityRule(tables.strip(), kind, words[2] and words[2].strip()))
    return tuple(rules)


def rules_for(rules: Iterable[IdentityRule], table: str) -> list[IdentityRule]:
    """The rules that match `schema.table`; only a single one is applied."""
    return [rule for rule in rules if rule.matches(table)]
