"""PostgreSQL's types as Debezium renders them: one declaration per type, for snapshot and stream.

`resolve` turns what the catalogue says about a column into a `ColumnType`: its Connect schema,
how a compiled encoder writes its cells, the exact decoder behind that encoder, and the values
that stand in for what the log leaves out.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, replace

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema
from headrace.connectors.postgresql.types import declarations
from headrace.connectors.postgresql.types.defaults import default_value
from headrace.connectors.postgresql.types.type_facts import (
    DEFAULT_OPTIONS,
    NO_COLUMN,
    NO_TYPMOD,
    SYSTEM_SCHEMA,
    Column,
    TypeFacts,
    TypeOptions,
)
from headrace.errors import HeadraceError
from headrace.relational.types import binary as binary_types
from headrace.relational.types import texts as values
from headrace.relational.types.declaration import NO_PLACEHOLDER, Declaration

__all__ = [
    "NO_PLACEHOLDER",
    "Column",
    "ColumnType",
    "TypeFacts",
    "TypeOptions",
    "losses",
    "resolve",
]

log = logging.getLogger(__name__)

losses: Counter[tuple[str, str]] = Counter()
"""Values that were replaced by null because their schema cannot hold them, by table and column;
for this process. `event.converting.failure.handling.mode=warn` in Debezium."""


@dataclass(frozen=True)
class ColumnType:
    """How one column's values are rendered.

    `encoding` and `parameter` choose the compiled encoder; `decoder` is the exact decoder behind
    it. `fallback` is the value of a required column whose value the log leaves out (null for
    optional ones), `unavailable` that of an unchanged TOAST value, or NO_PLACEHOLDER.
    """

    schema: Schema
    encoding: Encoding
    parameter: int
    decoder: values.Decoder
    fallback: object
    unavailable: object
    type_name: str
    column: Column = NO_COLUMN

    def decode(self, text: bytes) -> object:
        """The Connect value of a non-null cell.

        A value that the schema cannot hold (NaN in a Decimal, an array of arrays) is null in an
        optional column, with one warning per column and a count in `losses`; in a required one
        it raises HeadraceError `postgresql.value_not_representable`. Text that is no value of
        the type raises `postgresql.value_not_understood`.
        """
        value = self.decoder(text)
        if value is None:
            self._report_loss()
        return value

    def _report_loss(self) -> None:
        if not self.schema.optional:
            raise HeadraceError(
                "postgresql.value_not_representable",
                f"{self.column} ({self.type_name}, not null) has a value "
                f"that {self.schema.name or self.schema.type.value} cannot hold",
                "For NaN and infinite numerics set decimal.handling.mode=double or string; "
                "otherwise exclude the column with column.exclude.list.",
            )
        place = (self.column.table, self.column.name)
        losses[place] += 1
        if losses[place] == 1:
            log.warning(
                "%s (%s) has values that %s cannot hold; they become null",
                self.column,
                self.type_name,
                self.schema.name or self.schema.type.value,
            )


def resolve(
    facts: TypeFacts,
    typmod: int = NO_TYPMOD,
    *,
    optional: bool = True,
    default: str | None = None,
    options: TypeOptions = DEFAULT_OPTIONS,
    column: Column = NO_COLUMN,
) -> ColumnType | None:
    """The rendering of a column, or None when its type is left out of the events.

    `typmod` is the column's type modifier, from the catalogue or the Relation message;
    `optional` is whether the column accepts null; `default` is `pg_get_expr` of its default,
    None for generated columns. Domains are rendered as what they are made over. A type that
    Debezium does not know is left out, or, with `include.unknown.datatypes`, given as the bytes
    of its text.
    """
    base, modifier = _undomained(facts, typmod)
    made = _declaration(base, modifier, options)
    if made is None:
        return None
    # Debezium knows the defaults of built-in types and enums by name; a domain has another name.
    value = (
        None
        if default is None or facts.kind == "d"
        else default_value(facts, typmod, made, default, options)
    )
    schema = replace(made.schema, optional=optional or made.nullable, default=value)
    unavailable = made.toasted(options.placeholder)
    return ColumnType(
        schema=schema,
        encoding=made.encoding,
        parameter=made.parameter,
        decoder=made.decoder,
        fallback=None if optional else _fallback(schema, made),
        unavailable=unavailable,
        type_name=facts.name,
        column=column,
    )


def _undomained(facts: TypeFacts, typmod: int) -> tuple[TypeFacts, int]:
    """The type under a domain and its modifier; of nested domains the innermost declares it."""
    while facts.kind == "d" and facts.base is not None:
        typmod = facts.typmod
        facts = facts.base
    return facts, typmod


def _fallback(schema: Schema, made: Declaration) -> object:
    return made.zero if schema.default is None else schema.default


def _declaration(facts: TypeFacts, typmod: int, options: TypeOptions) -> Declaration | None:
    known = _known(facts, typmod, options)
    if known is not None or not options.include_unknown_datatypes:
        return known
    if facts.element is None or _is_vector(facts):
        return binary_types.unknown(options)
    if facts.element.schema == SYSTEM_SCHEMA and facts.element.name in declarations.OMITTED_ARRAYS:
        return None
    return declarations.unknown_array(options, facts.element.delimiter.encode())


def _known(facts: TypeFacts, typmod: int, options: TypeOptions) -> Declaration | None:
    if facts.element is not None:
        inner = facts.element
        if inner.kind == "d" or _is_vector(facts):
            return None
        if inner.schema == SYSTEM_SCHEMA and inner.name in declarations.OMITTED_ARRAYS:
            return None
        element = _known(inner, typmod, options)
        if element is None:
            return None
        separator = inner.delimiter.encode()
        if inner.kind == "e" and options.quirks:
            return declarations.array_without_nulls(element, separator)
        return declarations.array_of(element, separator)
    if facts.kind == "e":
        return declarations.enum(facts)
    if facts.kind not in ("b", "r"):
        return None
    if options.quirks and facts.schema == SYSTEM_SCHEMA and facts.name in declarations.SHAPES:
        return None
    maker = declarations.EXTENSIONS.get(facts.name)
    if facts.schema == SYSTEM_SCHEMA:
        maker = declarations.BUILT_IN.get(facts.name)
    return None if maker is None else maker(facts, typmod, options)


def _is_vector(facts: TypeFacts) -> bool:
    """int2vector and oidvector: arrays by the catalogue, but not by their text."""
    return facts.schema == SYSTEM_SCHEMA and facts.name in ("int2vector", "oidvector")
