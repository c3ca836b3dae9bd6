"""Applies a column's rule in `before` and `after`: mask, hash, truncate, propagate the type.

Keys are never masked, as in Debezium: rules apply to the cells of the row, not of the key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from headrace.connect.encoding import Encoding
from headrace.connect.records import Cell, Constant
from headrace.connect.schema import Type
from headrace.debezium.column_rules import (
    ColumnRule,
    Hash,
    Mask,
    Propagate,
    Truncate,
    truncated,
)
from headrace.relational.types.column_type import DeclaredType

_PARAMETER_PREFIX = "__debezium.source.column."


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
    """Computes the digest directly from the cell's bytes, which are the text's UTF-8."""

    rule: Hash
    length: int

    def __call__(self, text: bytes) -> object:
        return self.rule.digest_of(text)[: self.length]


def under_rule(
    cell: Cell,
    rule: ColumnRule | None,
    declared: DeclaredType,
    name: str,
    comment: str | None,
) -> Cell | Constant:
    """The cell after the rule is applied, for rows; `name` and `comment` are those of the
    column."""
    match rule:
        case Mask():
            schema = cell.schema.with_parameters({"masked": "true"})
            if declared.is_character:
                return Constant(schema, "*" * rule.length)
            return replace(cell, schema=schema)
        case Hash():
            cell = replace(cell, schema=cell.schema.with_parameters({"masked": "true"}))
            if not declared.is_character:
                return cell
            length = declared.length_and_scale()[0] or 0
            if cell.encoding is Encoding.STRING and rule.version == 2:
                cell = _rewritten(cell, _Digest(rule, length), Encoding.PYTHON, 0)
                return replace(cell, decode=_DigestOfText(rule, length))
            return _rewritten(cell, _Digest(rule, length), Encoding.PYTHON, 0)
        case Truncate():
            return _truncated(cell, rule.length, declared)
        case Propagate():
            parameters = source_type_parameters(declared, name, comment)
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


def _truncated(cell: Cell, length: int, declared: DeclaredType) -> Cell:
    if (declared.length_and_scale()[0] or 0) <= length:
        return cell  # every value fits
    cell = replace(cell, schema=cell.schema.with_parameters({"truncateLength": str(length)}))
    if cell.encoding is Encoding.STRING:
        return _rewritten(cell, _Cut(length), Encoding.TRUNCATED_STRING, length)
    if cell.schema.type is Type.STRING or (cell.schema.type is Type.BYTES and not cell.schema.name):
        return _rewritten(cell, _Cut(length), Encoding.PYTHON, 0)
    return cell


def source_type_parameters(
    declared: DeclaredType, column: str, comment: str | None
) -> dict[str, str]:
    """The parameters that `column.propagate.source.type` adds to a column's schema."""
    length, scale = declared.length_and_scale()
    parameters = {"type": declared.name.upper()}
    if length is not None:
        parameters["length"] = str(length)
    if scale is not None:
        parameters["scale"] = str(scale)
    parameters["name"] = column
    if comment is not None:
        parameters["comment"] = comment
    return {_PARAMETER_PREFIX + name: value for name, value in parameters.items()}
