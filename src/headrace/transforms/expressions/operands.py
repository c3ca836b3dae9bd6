"""The values of a part of an expression, one per record, of any types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation.values import connect_values, nulls, values
from headrace.connect.records import Header, Node, Records
from headrace.connect.schema import DECIMAL, Field, Schema, Type
from headrace.debezium import temporal
from headrace.transforms.expressions.tree import MAX_DIGITS, Rules, ScalarKind

INTEGRAL = (ScalarKind.SHORT, ScalarKind.INT, ScalarKind.LONG)
FLOATING = (ScalarKind.SINGLE, ScalarKind.DOUBLE)
NUMERIC = (*INTEGRAL, ScalarKind.DECIMAL, *FLOATING)

_ARROW = {
    ScalarKind.BOOLEAN: pa.bool_(),
    ScalarKind.MATCHER: pa.bool_(),
    ScalarKind.SHORT: pa.int32(),
    ScalarKind.INT: pa.int32(),
    ScalarKind.LONG: pa.int64(),
    ScalarKind.SINGLE: pa.float64(),
    ScalarKind.DOUBLE: pa.float64(),
    ScalarKind.TEXT: pa.large_string(),
    ScalarKind.BYTES: pa.large_binary(),
    ScalarKind.DATE: pa.int32(),
    ScalarKind.TIME: pa.int32(),
    ScalarKind.MOMENT: pa.int64(),
}
_KINDS = {
    Type.BOOLEAN: ScalarKind.BOOLEAN,
    Type.INT8: ScalarKind.SHORT,
    Type.INT16: ScalarKind.SHORT,
    Type.INT32: ScalarKind.INT,
    Type.INT64: ScalarKind.LONG,
    Type.FLOAT32: ScalarKind.SINGLE,
    Type.FLOAT64: ScalarKind.DOUBLE,
    Type.STRING: ScalarKind.TEXT,
    Type.BYTES: ScalarKind.BYTES,
}
_DATES = {
    temporal.CONNECT_DATE.name: ScalarKind.DATE,
    temporal.CONNECT_TIME.name: ScalarKind.TIME,
    temporal.CONNECT_TIMESTAMP.name: ScalarKind.MOMENT,
}
_NUMBERS_OF_DATES = {
    ScalarKind.DATE: ScalarKind.INT,
    ScalarKind.TIME: ScalarKind.INT,
    ScalarKind.MOMENT: ScalarKind.LONG,
}
_DAY = 86_400_000  # milliseconds
_OF_PYTHON: tuple[tuple[type, ScalarKind], ...] = (
    (bool, ScalarKind.BOOLEAN),
    (int, ScalarKind.LONG),
    (float, ScalarKind.DOUBLE),
    (str, ScalarKind.TEXT),
    (bytes, ScalarKind.BYTES),
)


@dataclass(frozen=True, eq=False)
class SchemaObject:
    """A schema as a value."""

    schema: Schema


@dataclass(frozen=True, eq=False)
class Headers:
    """All headers of a record by name."""


@dataclass(frozen=True, eq=False)
class HeaderObject:
    """A header: its value and schema."""

    header: Header


@dataclass(frozen=True, eq=False)
class FieldObject:
    """A field of a struct's schema; `index` begins at 0."""

    field: Field
    index: int


@dataclass(frozen=True, eq=False)
class FieldList:
    """The fields of a struct's schema."""

    fields: tuple[Field, ...]


Thing = Node | SchemaObject | FieldObject | FieldList | Headers | HeaderObject
"""A value with members or elements; a node is a struct, a map, an array, or has no schema."""


@dataclass(frozen=True)
class EvaluationFailure:
    """The records for which evaluation failed (bool, one per record), and the first one's
    reason."""

    mask: np.ndarray
    reason: str


@dataclass(frozen=True)
class Operand:
    """Values, one per record: each is a scalar of one kind, a thing, null, or failed.

    `scalars` are arrays by kind, null where the value is of another kind; `things` are masks with
    the thing that the value is there.
    """

    count: int
    scalars: Mapping[ScalarKind, pa.Array] = field(default_factory=dict)
    things: Sequence[tuple[np.ndarray, Thing]] = ()
    failure: EvaluationFailure | None = None

    @property
    def failed(self) -> np.ndarray:
        """Whether each record has failed."""
        return none_of(self.count) if self.failure is None else self.failure.mask

    @property
    def null(self) -> np.ndarray:
        """Whether each record has null; records that failed are included."""
        absent = ~none_of(self.count)
        for array in self.scalars.values():
            absent &= ~valid(array)
        for mask, _ in self.things:
            absent &= ~mask
        return absent

    def failing(self, mask: np.ndarray, reason: str) -> Operand:
        """Return the operand with additional failures, which count as null too."""
        if not mask.any():
            return self
        if self.failure is not None:
            mask, reason = mask | self.failure.mask, self.failure.reason
        return Operand(self.count, self.scalars, self.things, EvaluationFailure(mask, reason))

    def failing_as(self, *others: Operand) -> Operand:
        """Return the operand with the failures of others added."""
        operand = self
        for other in others:
            if other.failure is not None:
                operand = operand.failing(other.failure.mask, other.failure.reason)
        return operand

    def where(self, mask: np.ndarray) -> Operand:
        """Return the operand for some records; null without failure for others."""
        scalars = {
            kind: pc.if_else(pa.array(mask), array, pa.scalar(None, array.type))
            for kind, array in self.scalars.items()
        }
        things = [(own_mask & mask, thing) for own_mask, thing in self.things]
        operand = Operand(self.count, scalars, [masked for masked in things if masked[0].any()])
        if self.failure is None:
            return operand
        return operand.failing(self.failure.mask & mask, self.failure.reason)


def none_of(count: int) -> np.ndarray:
    """Return False for each record."""
    return np.zeros(count, np.bool_)


def valid(array: pa.Array) -> np.ndarray:
    """Whether each value of an array is not null."""
    return np.asarray(array.is_valid())


def true(array: pa.Array) -> np.ndarray:
    """Whether each value of a boolean array is true."""
    return np.asarray(array.fill_null(False))


def booleans(mask: np.ndarray, null: np.ndarray | None = None) -> Operand:
    """Booleans as values, null where `null`."""
    return Operand(len(mask), {ScalarKind.BOOLEAN: pa.array(mask, pa.bool_(), mask=null)})


def constant(count: int, kind: ScalarKind | None, value: object) -> Operand:
    """Return a constant with the same value for all records."""
    if kind is None:
        return Operand(count)
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)
        scalar = pa.scalar(value, pa.decimal256(MAX_DIGITS, max(0, -exponent)))
    else:
        scalar = pa.scalar(value, _ARROW[kind])
    return Operand(count, {kind: pa.repeat(scalar, count)})


def of_thing(count: int, thing: Thing, mask: np.ndarray | None = None) -> Operand:
    """Return a thing for all records, or for those of a mask."""
    mask = ~none_of(count) if mask is None else mask
    return Operand(count, things=[(mask, thing)] if mask.any() else ())


def of_node(records: Records, node: Node | None) -> Operand:
    """Return the values of a node; null without a node."""
    count = len(records)
    if node is None:
        return Operand(count)
    schema = node.schema
    if schema.type is Type.ANY:
        return _without_schema(records, node)
    if schema.type in (Type.STRUCT, Type.MAP, Type.ARRAY):
        return of_thing(count, node, ~nulls(records, node))
    kind = kind_of(schema)
    array = values(records, node)
    if kind is not ScalarKind.DECIMAL:
        array = array.cast(_ARROW[kind])
    return Operand(count, {kind: array})


def kind_of(schema: Schema) -> ScalarKind:
    """The kind of a scalar schema's values."""
    if schema.type is Type.BYTES and schema.name == DECIMAL:
        return ScalarKind.DECIMAL
    return _DATES.get(schema.name or "", _KINDS[schema.type])


def read_dates(operand: Operand, rules: Rules) -> Operand:
    """Convert dates and times: for Groovy to objects of one class, otherwise to the numbers that
    represent them."""
    if not any(kind in _NUMBERS_OF_DATES for kind in operand.scalars):
        return operand
    scalars: dict[ScalarKind, pa.Array] = {}
    for kind, array in operand.scalars.items():
        read, converted = kind, array
        if kind in _NUMBERS_OF_DATES and rules is not Rules.GROOVY:
            read = _NUMBERS_OF_DATES[kind]
        elif kind is ScalarKind.DATE:
            read, converted = ScalarKind.MOMENT, pc.multiply(array.cast(pa.int64()), _DAY)
        elif kind is ScalarKind.TIME:
            read, converted = ScalarKind.MOMENT, array.cast(pa.int64())
        scalars[read] = pc.coalesce(scalars[read], converted) if read in scalars else converted
    return Operand(operand.count, scalars, operand.things, operand.failure)


def _without_schema(records: Records, node: Node) -> Operand:
    """Return values without a schema in the types of JSON."""
    objects = connect_values(records, node)
    kinds = [next((k for t, k in _OF_PYTHON if isinstance(value, t)), None) for value in objects]
    scalars = {
        kind: pa.array(
            [value if k is kind else None for value, k in zip(objects, kinds, strict=True)],
            _ARROW[kind],
        )
        for kind in dict.fromkeys(kinds)
        if kind is not None
    }
    parts = np.array([isinstance(value, dict | list) for value in objects], np.bool_)
    return Operand(len(objects), scalars, [(parts, node)] if parts.any() else ())


def chosen(condition: np.ndarray, then: Operand, otherwise: Operand) -> Operand:
    """Return the values of one operand where the condition is true, otherwise those of the
    other."""
    of_then, of_otherwise = then.where(condition), otherwise.where(~condition)
    scalars = dict(of_then.scalars)
    for kind, array in of_otherwise.scalars.items():
        if kind in scalars:
            first, second = scalars[kind], array
            if kind is ScalarKind.DECIMAL:
                first, second = same_scale(first, second)
            scalars[kind] = pc.coalesce(first, second)
        else:
            scalars[kind] = array
    operand = Operand(of_then.count, scalars, [*of_then.things, *of_otherwise.things])
    return operand.failing_as(of_then, of_otherwise)


def same_scale(left: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return decimals with the larger of their scales. Raises pyarrow.ArrowInvalid if they do not
    fit."""
    kind = pa.decimal256(MAX_DIGITS, max(left.type.scale, right.type.scale))
    return left.cast(kind), right.cast(kind)


def each_distinct(
    array: pa.Array, function: Callable[[str], object], kind: pa.DataType
) -> pa.Array:
    """Return the results of a function for texts, called once for each distinct text."""
    encoded = array.dictionary_encode()
    results = pa.array([function(text) for text in encoded.dictionary.to_pylist()], kind)
    return results.take(encoded.indices)
