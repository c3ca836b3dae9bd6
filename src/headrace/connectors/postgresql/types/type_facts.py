"""What PostgreSQL's catalogue says of types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SYSTEM_SCHEMA = "pg_catalog"
NO_TYPMOD = -1


@dataclass(frozen=True)
class TypeFacts:
    """What pg_type (and pg_enum) say about a type.

    `kind` is typtype (`b` base, `c` composite, `d` domain, `e` enum, `m` multirange, `p` pseudo,
    `r` range); `element` is set for arrays only, `base` for domains only; `labels` are an enum's
    in enumsortorder; `typmod` is a domain's typtypmod, else -1; `delimiter` stands between the
    elements of arrays of this type.
    """

    oid: int
    name: str
    schema: str = SYSTEM_SCHEMA
    kind: str = "b"
    element: TypeFacts | None = None
    base: TypeFacts | None = None
    labels: tuple[str, ...] = ()
    typmod: int = NO_TYPMOD
    delimiter: str = ","


def operator_schemas(types: Iterable[TypeFacts]) -> set[str]:
    """Where the operators of types are that extensions bring; PostgreSQL's own serve arrays,
    enums, ranges and composite types of every schema."""
    schemas = set()
    for facts in types:
        base = facts
        while base.base is not None:
            base = base.base
        if base.schema != SYSTEM_SCHEMA and base.kind == "b" and base.element is None:
            schemas.add(base.schema)
    return schemas
