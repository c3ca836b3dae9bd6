"""PostgreSQL's types as Debezium renders them: one declaration per type, for snapshot and stream.

`PostgresType` makes a `ColumnType` of the catalogue's description of a column.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connectors.postgresql.types import declarations
from headrace.connectors.postgresql.types.defaults import default_value
from headrace.connectors.postgresql.types.options import DEFAULT_OPTIONS, PostgresTypeOptions
from headrace.connectors.postgresql.types.source_type import length_and_scale
from headrace.connectors.postgresql.types.type_facts import NO_TYPMOD, SYSTEM_SCHEMA, TypeFacts
from headrace.relational.events import RelationFacts
from headrace.relational.types.column_type import NO_COLUMN, ColumnName, ColumnType
from headrace.relational.types.declaration import TypeDeclaration, enum_declaration
from headrace.relational.types.options import TypeOptions

_CHARACTER = frozenset({"char", "bpchar", "varchar", "text", "name"})


@dataclass(frozen=True)
class PostgresType:
    """The type of a column and its type modifier: a DeclaredType."""

    facts: TypeFacts
    typmod: int = NO_TYPMOD

    def __str__(self) -> str:
        return f"{self.facts.schema}.{self.facts.name}"

    @property
    def name(self) -> str:
        """pg_type.typname."""
        return self.facts.name

    @property
    def is_character(self) -> bool:
        """Whether masks and hashes apply: character types, enums, and domains over them."""
        facts, _ = self.facts.base_type()
        return facts.kind == "e" or (facts.schema == SYSTEM_SCHEMA and facts.name in _CHARACTER)

    @property
    def text_size(self) -> int:
        """Characters of an enum's labels, also of the elements of an array."""
        return sum(map(len, (self.facts.element or self.facts).labels))

    def length_and_scale(self) -> tuple[int, int | None]:
        """Length and scale; None: no scale."""
        return length_and_scale(self.facts, self.typmod)

    def resolve(
        self,
        options: TypeOptions = DEFAULT_OPTIONS,
        *,
        optional: bool = True,
        default: str | None = None,
        column: ColumnName = NO_COLUMN,
    ) -> ColumnType | None:
        """Return the rendering of the column; None when its type is left out of the events.

        `default` is `pg_get_expr` of the column's default, None for generated columns. Domains are
        rendered as their base types. A type that Debezium does not know is left out, or, with
        `include.unknown.datatypes`, rendered as the bytes of its text.
        """
        assert isinstance(options, PostgresTypeOptions)
        facts = self.facts
        declaration = _declaration(*facts.base_type(self.typmod), options)
        if declaration is None:
            return None
        # Debezium looks up defaults by the names of built-in types and enums; a domain has another
        # name.
        value = (
            None
            if default is None or facts.kind == "d"
            else default_value(facts, self.typmod, declaration, default, options)
        )
        return ColumnType.of(
            declaration, facts.name, options, optional=optional, default=value, column=column
        )


def types_of(facts: RelationFacts) -> list[TypeFacts]:
    """The types of a table's columns."""
    declared = (column.type for column in facts.columns)
    return [declaration.facts for declaration in declared if isinstance(declaration, PostgresType)]


def _declaration(
    facts: TypeFacts, typmod: int, options: PostgresTypeOptions
) -> TypeDeclaration | None:
    declaration = _known(facts, typmod, options)
    if declaration is not None or not options.include_unknown_datatypes:
        return declaration
    if facts.element is None or _is_vector(facts):
        return declarations.unknown(options)
    if facts.element.schema == SYSTEM_SCHEMA and facts.element.name in declarations.OMITTED_ARRAYS:
        return None
    return declarations.unknown_array(options, facts.element.delimiter.encode())


def _known(facts: TypeFacts, typmod: int, options: PostgresTypeOptions) -> TypeDeclaration | None:
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
        return enum_declaration(facts.labels)
    if facts.kind not in ("b", "r"):
        return None
    if options.quirks and facts.schema == SYSTEM_SCHEMA and facts.name in declarations.SHAPES:
        return None
    maker = declarations.EXTENSIONS.get(facts.name)
    if facts.schema == SYSTEM_SCHEMA:
        maker = declarations.BUILT_IN.get(facts.name)
    return None if maker is None else maker(typmod, options)


def _is_vector(facts: TypeFacts) -> bool:
    """Whether a type is int2vector or oidvector: arrays in the catalogue, but not in their text."""
    return facts.schema == SYSTEM_SCHEMA and facts.name in ("int2vector", "oidvector")
