"""A column of `before` and `after` under its rule: masked, hashed, cut, described.

Keys are never masked, as in Debezium: rules work on the cells of the row, not of the key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from headrace.connect.encoding import Encoding
from headrace.connect.records import Cell, Constant
from headrace.connect.schema import Type
from headrace.connectors.postgresql.types.source_type import (
    is_character,
    length_and_scale,
    source_type_parameters,
)
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.debezium.column_rules import (
    ColumnRule,
    Hash,
    Mask,
    Propagate,
    Truncate,
    truncated,
)


@dataclass(frozen=True)
class _Rewritten:
    """A decoder whose values are rewritten."""

    decode: Callable[[bytes], object]
    rewrite: Callable[[object], object]

    def __call__(self, text: bytes) -> object:
        return self.rewrite(self.decode(text))


@dataclass(frozen=True)
class _Cut:
    length: int

    def __call__(self, value: object) -> object:
        if isinstance(value, str):
            return truncated(value, self.length)
        return value[: self.length] if isinstance(value, bytes) else value


@dataclass(frozen=True)
class _Digest:
    rule: Hash
    length: int

    def __call__(self, value: object) -> object:
        return self.rule.digest(value)[: self.length] if isinstance(value, str) else value


@dataclass(frozen=True)
class _DigestOfText:
    """The same from the text as it was sent, which is the value."""

    rule: Hash
    length: int

    def __call__(self, text: bytes) -> object:
        return self.rule.digest_of(text)[: self.length]


def under_rule(
    cell: Cell,
    rule: ColumnRule | None,
    facts: TypeFacts,
    typmod: int,
    name: str,
    comment: str | None,
) -> Cell | Constant:
    """The cell as the rule wants it in rows; `name` and `comment` are the column's."""
    match rule:
        case Mask():
            schema = cell.schema.with_parameters({"masked": "true"})
            if is_character(facts):
                return Constant(schema, "*" * rule.length)
            return replace(cell, schema=schema)
        case Hash():
            cell = replace(cell, schema=cell.schema.with_parameters({"masked": "true"}))
            if not is_character(facts):
                return cell
            length, _ = length_and_scale(facts, typmod)
            if cell.encoding is Encoding.STRING and rule.version == 2:
                cell = _rewritten(cell, _Digest(rule, length), Encoding.PYTHON, 0)
                return replace(cell, decode=_DigestOfText(rule, length))
            return _rewritten(cell, _Digest(rule, length), Encoding.PYTHON, 0)
        case Truncate():
            return _truncated(cell, rule.length, facts, typmod)
        case Propagate():
            parameters = source_type_parameters(facts, typmod, name, comment)
            return replace(cell, schema=cell.schema.with_parameters(parameters))
    return cell


def _rewritten(
    cell: Cell, rewrite: Callable[[object], object], encoding: Encoding, parameter: int
) -> Cell:
    return replace(
        cell,
        decode=_Rewritten(cell.decode, rewrite),
        encoding=encoding,
        parameter=parameter,
        null=rewrite(cell.null),
        unavailable=rewrite(cell.unavailable),
    )


def _truncated(cell: Cell, length: int, facts: TypeFacts, typmod: int) -> Cell:
    if length_and_scale(facts, typmod)[0] <= length:
        return cell  # it always fits
    cell = replace(cell, schema=cell.schema.with_parameters({"truncateLength": str(length)}))
    if cell.encoding is Encoding.STRING:
        return _rewritten(cell, _Cut(length), Encoding.TRUNCATED_STRING, length)
    if cell.schema.type is Type.STRING or (cell.schema.type is Type.BYTES and not cell.schema.name):
        return _rewritten(cell, _Cut(length), Encoding.PYTHON, 0)
    return cell
