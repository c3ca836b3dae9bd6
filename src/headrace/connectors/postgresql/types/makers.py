"""How PostgreSQL's types are declared: by a maker per type, and the common kinds of makers."""

from __future__ import annotations

from collections.abc import Callable

from headrace.connectors.postgresql.types import values
from headrace.connectors.postgresql.types.options import PostgresTypeOptions
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.relational.types.declaration import Declaration, text_declaration, texts_of

Maker = Callable[[TypeFacts, int, PostgresTypeOptions], Declaration | None]
"""Makes the declaration of a type with a modifier; None: events leave the type out."""


def fixed(declaration: Declaration) -> Maker:
    """The same declaration whatever the modifier and the options."""
    return lambda _facts, _typmod, _options: declaration


def textual(name: str | None = None, array: Callable[[bytes], object] = texts_of) -> Maker:
    """The server's text for every modifier; `name` is its semantic type, `array` the placeholder
    of its arrays."""
    return fixed(text_declaration(name, decoder=values.string, array=array))
