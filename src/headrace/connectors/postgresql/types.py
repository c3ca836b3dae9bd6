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
from headrace.connectors.postgresql import declarations, values
from headrace.connectors.postgresql.declarations import NO_PLACEHOLDER, Declaration
from headrace.connectors.postgresql.defaults import default_value
from headrace.connectors.postgresql.type_facts import (
    DEFAULT_OPTIONS,
    NO_COLUMN,
    NO_TYPMOD,
    SYSTEM_SCHEMA,
    Column,
    TypeFacts,
    TypeOptions,
)
from headrace.errors import HeadraceError

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
    Debezium does not know is left out; one that it knows and this version does not raises
    HeadraceError `postgresql.type_not_supported`.
    """
    base, modifier = _undomained(facts, typmod)
    made = _declaration(base, modifier, options)
    if made is None:
        if options.include_unknown_datatypes or _is_planned(base):
            raise _not_supported(facts, column)
        return None
    # Debezium knows the defaults of built-in types and enums by name; a domain has another name.
    value = None if default is None or facts.kind == "d" else default_value(facts, made, default)
    schema = replace(made.schema, optional=optional, default=value)
    unavailable = made.toasted(options.placeholder)
    return ColumnType(
        schema=schema,
        encoding=made.encoding,
        parameter=made.parameter,
        decoder=made.decoder,
        fallback=_fallback(schema, made),
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
    if schema.optional:
        return None
    return made.zero if schema.default is None else schema.default


def _declaration(facts: TypeFacts, typmod: int, options: TypeOptions) -> Declaration | None:
    if facts.element is not None:
        if _is_omitted_array(facts.element):
            return None
        element = _declaration(facts.element, typmod, options)
        # Arrays of bits have no sensible rendering in Debezium; they wait for the bit strings.
        if element is None or element.encoding is Encoding.BIT1:
            return None
        return declarations.array_of(element)
    if facts.kind == "e":
        return declarations.enum(facts)
    if facts.kind not in ("b", "r"):
        return None
    maker = declarations.EXTENSIONS.get(facts.name)
    if facts.schema == SYSTEM_SCHEMA:
        maker = declarations.BUILT_IN.get(facts.name)
    return None if maker is None else maker(facts, typmod, options)


def _is_omitted_array(element: TypeFacts) -> bool:
    if element.kind == "d":
        return True
    return element.schema == SYSTEM_SCHEMA and element.name in declarations.OMITTED_ARRAYS


def _is_planned(facts: TypeFacts) -> bool:
    if facts.element is not None:
        return not _is_omitted_array(facts.element) and _is_planned(facts.element)
    if facts.kind != "b":
        return False
    if facts.schema == SYSTEM_SCHEMA:
        return facts.name in declarations.PLANNED
    return facts.name in declarations.PLANNED_EXTENSIONS


def _not_supported(facts: TypeFacts, column: Column) -> HeadraceError:
    return HeadraceError(
        "postgresql.type_not_supported",
        f"{column} has the type {facts.schema}.{facts.name}, which is not supported yet",
        f"Exclude it: column.exclude.list={column.exclusion}.",
    )
