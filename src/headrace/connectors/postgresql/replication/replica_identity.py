"""replica.identity.autoset.values: sets the replica identity of captured tables at start."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.config.regex import compile_java_regex, split_regex_list

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

    from headrace.connectors.postgresql.catalog.catalog import CatalogTable

LOCK_SECONDS = 5
"""How long a table's lock is waited for: whoever queues behind us waits as well."""

_LETTERS = {"DEFAULT": "d", "FULL": "f", "NOTHING": "n", "INDEX": "i"}
_IDENTITY = re.compile(r"(DEFAULT|FULL|NOTHING)|INDEX\s+(\S.*)", re.IGNORECASE)


@dataclass(frozen=True)
class IdentityRule:
    """Tables (an expression for schema.table) and the identity that they get; `index` names the
    index of INDEX."""

    tables: str
    identity: str
    index: str | None = None

    @property
    def statement(self) -> str:
        """Behind REPLICA IDENTITY."""
        if self.index is None:
            return self.identity
        quoted = self.index.replace('"', '""')
        return f'USING INDEX "{quoted}"'

    @property
    def letter(self) -> str:
        """As in pg_class.relreplident."""
        return _LETTERS[self.identity]

    def matches(self, table: str) -> bool:
        """Whether `schema.table` is named."""
        return compile_java_regex(self.tables).fullmatch(table) is not None

    def __str__(self) -> str:
        return self.identity if self.index is None else f"{self.identity} {self.index}"


def parse_identity_rules(text: str) -> tuple[IdentityRule, ...]:
    """`regex:FULL, regex:INDEX name, …`. Raises ValueError."""
    rules = []
    for part in split_regex_list(text):
        tables, colon, wanted = part.rpartition(":")
        found = _IDENTITY.fullmatch(wanted.strip())
        if not colon or not tables.strip() or found is None:
            raise ValueError(f"{part!r} is not of the form schema.table:FULL")
        compile_java_regex(tables.strip())
        kind = (found[1] or "INDEX").upper()
        rules.append(IdentityRule(tables.strip(), kind, found[2] and found[2].strip()))
    return tuple(rules)


def wanted_rules(rules: Iterable[IdentityRule], table: str) -> list[IdentityRule]:
    """The rules that name `schema.table`; only a single one is followed."""
    return [rule for rule in rules if rule.matches(table)]


def set_identities(
    connection: psycopg.Connection,
    rules: Iterable[IdentityRule],
    tables: Iterable[CatalogTable],
    warn: Callable[[str], None],
) -> None:
    """Alters the tables whose identity is another one. What cannot be set is a warning: the
    connector works without, and `headrace check` names the remedy."""
    rules = tuple(rules)
    if not rules:
        return
    for table in tables:
        wanted = wanted_rules(rules, table.name)
        if len(wanted) > 1:
            warn(
                f"replica.identity.autoset.values names {table.name} more than once "
                f"({', '.join(map(str, wanted))}): its replica identity stays as it is"
            )
        elif wanted and not _has(connection, table, wanted[0]):
            _set(connection, table, wanted[0], warn)


def _has(connection: psycopg.Connection, table: CatalogTable, rule: IdentityRule) -> bool:
    if table.identity != rule.letter:
        return False
    if rule.index is None:
        return True
    row = connection.execute(
        "SELECT x.relname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid"
        " WHERE i.indrelid = %s AND i.indisreplident",
        (table.oid,),
    ).fetchone()
    return row is not None and row[0] == rule.index


def _set(
    connection: psycopg.Connection,
    table: CatalogTable,
    rule: IdentityRule,
    warn: Callable[[str], None],
) -> None:
    # Spark's planning processes load the configuration, hence this module, but no driver.
    import psycopg
    from psycopg import sql

    what: sql.Composable = sql.SQL(rule.identity)
    if rule.index is not None:
        what = sql.SQL("USING INDEX {}").format(sql.Identifier(rule.index))
    command = sql.SQL("ALTER TABLE {} REPLICA IDENTITY {}").format(
        sql.Identifier(table.schema, table.table), what
    )
    try:
        with connection.transaction():
            connection.execute(sql.SQL("SET LOCAL lock_timeout = '{}s'").format(LOCK_SECONDS))
            connection.execute(command)
    except psycopg.Error as error:
        first = str(error).strip().split("\n", 1)[0]
        warn(
            f"The replica identity of {table.name} could not be set to {rule} ({first}). "
            f"As its owner: {command.as_string(connection)};"
        )
