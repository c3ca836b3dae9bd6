"""Types, as PostgreSQL's catalogue describes them."""

from __future__ import annotations

from dataclasses import dataclass

SYSTEM_SCHEMA = "pg_catalog"
NO_TYPMOD = -1


@dataclass(frozen=True)
class TypeFacts:
    """A type according to pg_type and pg_enum.

    `kind` is typtype (`b` base, `c` composite, `d` domain, `e` enum, `m` multirange, `p` pseudo,
    `r` range); `element` is set for arrays only, `base` for domains only; `labels` are an enum's in
    enumsortorder; `typmod` is a domain's typtypmod, else -1; `delimiter` separates the elements of
    arrays of this type.
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

    def base_type(self, typmod: int = NO_TYPMOD) -> tuple[TypeFacts, int]:
        """Return a domain's base type and its modifier, which the innermost of nested domains
        declares; any other type and `typmod` unchanged."""
        facts = self
        while facts.kind == "d" and facts.base is not None:
            facts, typmod = facts.base, facts.typmod
        return facts, typmod
