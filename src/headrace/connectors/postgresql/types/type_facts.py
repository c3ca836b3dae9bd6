"""What resolving a column's type needs: the catalogue's facts and the options of rendering."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from headrace.errors import HeadraceError

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


class ConfigurationLike(Protocol):
    """The properties of the configuration that decide how values are rendered."""

    @property
    def time_precision_mode(self) -> str: ...
    @property
    def decimal_handling_mode(self) -> str: ...
    @property
    def binary_handling_mode(self) -> str: ...
    @property
    def hstore_handling_mode(self) -> str: ...
    @property
    def interval_handling_mode(self) -> str: ...
    @property
    def money_fraction_digits(self) -> int: ...
    @property
    def unavailable_value_placeholder(self) -> str: ...
    @property
    def include_unknown_datatypes(self) -> bool: ...
    @property
    def headrace_compatibility(self) -> str: ...


@dataclass(frozen=True)
class TypeOptions:
    """The same, apart from the configuration: small, hashable, for tasks and tests."""

    decimal_handling_mode: str = "precise"
    unavailable_value_placeholder: str = "__debezium_unavailable_value"
    include_unknown_datatypes: bool = False
    time_precision_mode: str = "adaptive"
    binary_handling_mode: str = "bytes"
    hstore_handling_mode: str = "json"
    interval_handling_mode: str = "numeric"
    money_fraction_digits: int = 2
    compatibility: str = "none"

    @property
    def quirks(self) -> bool:
        """Whether what Debezium 3.6 does is reproduced where headrace would render better."""
        return self.compatibility == "debezium-3.6"

    @staticmethod
    def of(config: ConfigurationLike) -> TypeOptions:
        """Taken from a connector's configuration."""
        return TypeOptions(
            str(config.decimal_handling_mode).lower(),
            config.unavailable_value_placeholder,
            config.include_unknown_datatypes,
            str(config.time_precision_mode).lower(),
            str(config.binary_handling_mode).lower(),
            str(config.hstore_handling_mode).lower(),
            str(config.interval_handling_mode).lower(),
            config.money_fraction_digits,
            str(config.headrace_compatibility),
        )

    @property
    def placeholder(self) -> bytes:
        """The placeholder's bytes; `hex:` gives them in hexadecimal."""
        text = self.unavailable_value_placeholder
        if text.startswith("hex:"):
            try:
                return bytes.fromhex(text[4:])
            except ValueError:
                raise HeadraceError(
                    "config.invalid",
                    f"unavailable.value.placeholder is not hexadecimal after hex:, but {text!r}",
                    "Write pairs of hexadecimal digits after hex:, or plain text without it.",
                ) from None
        return text.encode()


@dataclass(frozen=True)
class Column:
    """Where a type is used: only for messages."""

    table: str
    name: str

    def __str__(self) -> str:
        return f"column {self.name} of {self.table}"


DEFAULT_OPTIONS = TypeOptions()
NO_COLUMN = Column("a table", "?")
