"""The rendering of a column's values, and the properties of a column's declared type."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Protocol

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema
from headrace.errors import HeadraceError
from headrace.relational.types.declaration import NO_PLACEHOLDER, TypeDeclaration
from headrace.relational.types.options import TypeOptions
from headrace.relational.types.texts import Decoder

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ColumnName:
    """A column, for messages."""

    table: str
    name: str

    def __str__(self) -> str:
        return f"column {self.name} of {self.table}"


NO_COLUMN = ColumnName("a table", "?")

_lossy: set[ColumnName] = set()
"""Columns of this process for which a warning about values that become null was logged."""


@dataclass(frozen=True)
class ColumnType:
    """The rendering of a column's values.

    `encoding` and `parameter` select the compiled encoder; `decoder` is its exact fallback.
    `fallback` is the value of a required column whose value the log omits (null for optional ones),
    `unavailable` that of a value that the log does not carry, or NO_PLACEHOLDER. `type_name` and
    `column` are for messages.
    """

    schema: Schema
    encoding: Encoding
    parameter: int
    decoder: Decoder
    fallback: object
    unavailable: object
    type_name: str
    column: ColumnName = NO_COLUMN

    @staticmethod
    def of(
        declaration: TypeDeclaration,
        type_name: str,
        options: TypeOptions,
        *,
        optional: bool,
        default: object | None,
        column: ColumnName,
    ) -> ColumnType:
        """Return the column type of a declared type; `default` is the Connect value of its
        schema."""
        schema = replace(
            declaration.schema, optional=optional or declaration.nullable, default=default
        )
        missing = declaration.zero if default is None else default
        return ColumnType(
            schema,
            declaration.encoding,
            declaration.parameter,
            declaration.decoder,
            None if optional else missing,
            declaration.unavailable(options.placeholder),
            type_name,
            column,
        )

    @property
    def shown_as(self) -> str:
        """The schema's name, or the Connect type of a schema without name."""
        return self.schema.name or self.schema.type.value

    @property
    def has_placeholder(self) -> bool:
        """Whether the schema has a placeholder for a value that the log does not carry."""
        return self.unavailable is not NO_PLACEHOLDER

    def decode(self, text: bytes) -> object:
        """The Connect value of a non-null cell.

        A value that the schema cannot hold (NaN in a Decimal, an array of arrays) is null in an
        optional column, with one warning per column; in a required one it raises HeadraceError
        `relational.value_not_representable`. Text that is not a value of the type raises
        `relational.value_not_understood`.
        """
        value = self.decoder(text)
        if value is None:
            self._report_loss()
        return value

    def _report_loss(self) -> None:
        if not self.schema.optional:
            raise HeadraceError(
                "relational.value_not_representable",
                f"{self.column} ({self.type_name}, not null) has a value "
                f"that {self.shown_as} cannot hold",
                "For NaN and infinite numerics set decimal.handling.mode=double or string; "
                "otherwise exclude the column with column.exclude.list.",
            )
        if self.column not in _lossy:
            _lossy.add(self.column)
            log.warning(
                "%s (%s) has values that %s cannot hold; they become null",
                self.column,
                self.type_name,
                self.shown_as,
            )


class DeclaredType(Protocol):
    """A column's type as its table declares it, with length, scale and other modifiers. Picklable,
    and hashed and compared by value; as text it is its full name."""

    @property
    def name(self) -> str:
        """The type's name, as events propagate it in upper case."""
        ...

    @property
    def is_character(self) -> bool:
        """Whether masks and hashes apply."""
        ...

    @property
    def text_size(self) -> int:
        """Characters of the texts in the type's schema, such as the labels of an enum."""
        ...

    def length_and_scale(self) -> tuple[int | None, int | None]:
        """The length and scale that Debezium reports for the column; None: it reports none."""
        ...

    def resolve(
        self, options: TypeOptions, *, optional: bool, default: str | None, column: ColumnName
    ) -> ColumnType | None:
        """Return the rendering of a column of this type; None if events leave it out. `default` is
        the default's expression in the catalog; None: no default."""
        ...
