"""Comparisons of columns by the rules of a language."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation.values import connect_values
from headrace.connect.records import Node, Records
from headrace.transforms.expressions.operands import (
    FLOATING,
    INTEGRAL,
    NUMERIC,
    FieldObject,
    Operand,
    SchemaObject,
    Thing,
    booleans,
    each_distinct,
    none_of,
    same_scale,
    true,
    valid,
)
from headrace.transforms.expressions.tree import Operator, Rules, ScalarKind

_Compare = Callable[..., Any]
_ARROW: dict[Operator, _Compare] = {
    Operator.EQUAL: pc.equal,
    Operator.NOT_EQUAL: pc.not_equal,
    Operator.LESS: pc.less,
    Operator.LESS_OR_EQUAL: pc.less_equal,
    Operator.GREATER: pc.greater,
    Operator.GREATER_OR_EQUAL: pc.greater_equal,
}
_NUMPY: dict[Operator, _Compare] = {
    Operator.EQUAL: np.equal,
    Operator.NOT_EQUAL: np.not_equal,
    Operator.LESS: np.less,
    Operator.LESS_OR_EQUAL: np.less_equal,
    Operator.GREATER: np.greater,
    Operator.GREATER_OR_EQUAL: np.greater_equal,
}
_EQUALITY = (Operator.EQUAL, Operator.NOT_EQUAL)
_WITH_EQUAL = (Operator.EQUAL, Operator.LESS_OR_EQUAL, Operator.GREATER_OR_EQUAL)
_NO_CHARACTER = -1
_FIRST_OF_FOUR_BYTES = 0xF0  # first byte of a character beyond the basic plane in UTF-8


def compare(
    records: Records, operator: Operator, left: Operand, right: Operand, rules: Rules
) -> Operand:
    """Compare values; the results are booleans, or null only by the rules of SQL. Values without an
    order fail."""
    null_left, null_right = left.null, right.null
    both = ~null_left & ~null_right
    result, compared = none_of(left.count), none_of(left.count)
    for kind, array in left.scalars.items():
        for other_kind, other in right.scalars.items():
            where = valid(array) & valid(other)
            if not where.any():
                continue
            outcome = _scalars(operator, (kind, array), (other_kind, other), rules)
            if outcome is not None:
                holds, ordered = outcome
                result |= holds & where & ordered
                compared |= where & ordered
    if operator in _EQUALITY:
        equal = (
            _things(records, left, right) if left.things and right.things else none_of(left.count)
        )
        result |= (both & ~compared & ~equal) if operator is Operator.NOT_EQUAL else equal
        # SQL does not compare values of different types, even for equality.
        of_things = _are_things(left) & _are_things(right)
        unordered = both & ~compared & ~of_things if rules is Rules.SQL else none_of(left.count)
    else:
        unordered = both & ~compared
    operand = _with_nulls(operator, result, null_left, null_right, rules)
    if rules is Rules.PYTHON and operator not in _EQUALITY:
        unordered |= ~both
    failed = left.failed | right.failed
    operand = operand.failing_as(left, right)
    reason = f"{operator.value} compares values without an order"
    if left.things or right.things:
        reason += " (structs, lists, maps and headers have none; a header's value is its .value)"
    return operand.failing(unordered & ~failed, reason)


def _are_things(operand: Operand) -> np.ndarray:
    return np.asarray(
        reduce(np.logical_or, [mask for mask, _ in operand.things], none_of(operand.count))
    )


def _with_nulls(
    operator: Operator,
    result: np.ndarray,
    null_left: np.ndarray,
    null_right: np.ndarray,
    rules: Rules,
) -> Operand:
    if rules is Rules.SQL:
        return booleans(result, null_left | null_right)
    if operator in _WITH_EQUAL:
        result = result | (null_left & null_right)
    if operator is Operator.NOT_EQUAL:
        result = result | (null_left ^ null_right)
    elif rules is Rules.GROOVY and operator in (Operator.LESS, Operator.LESS_OR_EQUAL):
        result = result | (null_left & ~null_right)
    elif rules is Rules.GROOVY and operator in (Operator.GREATER, Operator.GREATER_OR_EQUAL):
        result = result | (null_right & ~null_left)
    return booleans(result)


def contained(records: Records, item: Operand, option: Operand, rules: Rules) -> Operand:
    """Whether values are equal to those of a list: in Groovy by Java's `equals`, for which an int
    never equals a long."""
    if rules is not Rules.GROOVY:
        return compare(records, Operator.EQUAL, item, option, rules)
    result = item.null & option.null
    for kind, array in item.scalars.items():
        other = option.scalars.get(kind)
        if other is None or (kind is ScalarKind.DECIMAL and array.type != other.type):
            continue
        outcome = _scalars(Operator.EQUAL, (kind, array), (kind, other), rules)
        if outcome is not None:
            result |= outcome[0] & valid(array) & valid(other)
    if item.things and option.things:
        result |= _things(records, item, option)
    return booleans(result).failing_as(item, option)


def _scalars(
    operator: Operator,
    left: tuple[ScalarKind, pa.Array],
    right: tuple[ScalarKind, pa.Array],
    rules: Rules,
) -> tuple[np.ndarray, np.ndarray | bool] | None:
    """Return the results of a comparison, and where the values have an order; None if such values
    never do."""
    (kind, left_values), (other_kind, right_values) = left, right
    if rules is Rules.PYTHON:
        kind, left_values = _as_number(kind, left_values)
        other_kind, right_values = _as_number(other_kind, right_values)
    if kind in NUMERIC and other_kind in NUMERIC:
        return _numbers(operator, (kind, left_values), (other_kind, right_values), rules), True
    if kind is other_kind is ScalarKind.TEXT:
        if rules is Rules.GROOVY and operator not in _EQUALITY:
            left_values, right_values = _in_java_order(left_values, right_values)
        return true(_ARROW[operator](left_values, right_values)), True
    if kind is other_kind is ScalarKind.MOMENT:
        return true(_ARROW[operator](left_values, right_values)), True
    if kind is other_kind is ScalarKind.BOOLEAN:
        return true(
            _ARROW[operator](left_values.cast(pa.uint8()), right_values.cast(pa.uint8()))
        ), True
    if kind is other_kind is ScalarKind.BYTES and operator in _EQUALITY:
        return true(_ARROW[operator](left_values, right_values)), True
    if rules is Rules.GROOVY and kind in NUMERIC and other_kind is ScalarKind.TEXT:
        codes = each_distinct(right_values, _character, pa.int64())
        return _numbers(operator, (kind, left_values), (ScalarKind.LONG, codes), rules), _is_code(
            codes
        )
    if rules is Rules.GROOVY and kind is ScalarKind.TEXT and other_kind in NUMERIC:
        codes = each_distinct(left_values, _character, pa.int64())
        return _numbers(
            operator, (ScalarKind.LONG, codes), (other_kind, right_values), rules
        ), _is_code(codes)
    return None


def _as_number(kind: ScalarKind, array: pa.Array) -> tuple[ScalarKind, pa.Array]:
    return (
        (ScalarKind.LONG, array.cast(pa.int64())) if kind is ScalarKind.BOOLEAN else (kind, array)
    )


def _character(text: str) -> int:
    """The code unit of a text that is a single Java char."""
    return ord(text) if len(text) == 1 and ord(text) < 1 << 16 else _NO_CHARACTER


def _is_code(codes: pa.Array) -> np.ndarray:
    return true(pc.not_equal(codes, _NO_CHARACTER))


def _numbers(
    operator: Operator,
    left: tuple[ScalarKind, pa.Array],
    right: tuple[ScalarKind, pa.Array],
    rules: Rules,
) -> np.ndarray:
    (kind, left_values), (other_kind, right_values) = left, right
    if kind in INTEGRAL and other_kind in INTEGRAL:
        return true(_ARROW[operator](left_values.cast(pa.int64()), right_values.cast(pa.int64())))
    if kind in FLOATING or other_kind in FLOATING:
        doubles, others = as_doubles(kind, left_values), as_doubles(other_kind, right_values)
        if rules is Rules.PYTHON:
            return _exactly(
                operator, (kind, left_values, doubles), (other_kind, right_values, others)
            )
        return np.asarray(
            _NUMPY[operator](_total_order(doubles, rules), _total_order(others, rules))
        )
    if kind is not ScalarKind.DECIMAL:
        left_values = left_values.cast(pa.decimal256(19, 0))
    if other_kind is not ScalarKind.DECIMAL:
        right_values = right_values.cast(pa.decimal256(19, 0))
    try:
        return true(_ARROW[operator](*same_scale(left_values, right_values)))
    except pa.ArrowInvalid:  # more digits than Arrow supports
        pairs = zip(left_values.to_pylist(), right_values.to_pylist(), strict=True)
        orders = [_sign(a, b) for a, b in pairs]
        return np.asarray(_NUMPY[operator](np.array(orders), 0))


def _exactly(
    operator: Operator,
    left: tuple[ScalarKind, pa.Array, np.ndarray],
    right: tuple[ScalarKind, pa.Array, np.ndarray],
) -> np.ndarray:
    """Compare numbers, one of which is floating, as Python does: an integer keeps all its digits,
    while its nearest double may lose some."""
    (kind, left_values, doubles), (other_kind, right_values, others) = left, right
    holds = np.asarray(_NUMPY[operator](doubles, others))
    if kind not in INTEGRAL and other_kind not in INTEGRAL:
        return holds
    same = doubles == others
    has_room = same & (doubles >= -(2.0**63)) & (doubles < 2.0**63)
    inside = np.where(has_room, doubles, 0.0).astype(np.int64)
    is_left = kind in INTEGRAL
    whole = np.asarray((left_values if is_left else right_values).cast(pa.int64()).fill_null(0))
    order = np.where(doubles >= 2.0**63, -1, np.sign(whole - inside))
    return np.where(same, _NUMPY[operator](order if is_left else -order, 0), holds)


def _sign(left: Decimal | None, right: Decimal | None) -> int:
    return 0 if left is None or right is None else (left > right) - (left < right)


def as_doubles(kind: ScalarKind, array: pa.Array) -> np.ndarray:
    """Numbers as the nearest doubles; undefined for nulls."""
    if kind is ScalarKind.DECIMAL:
        array = array.cast(pa.large_string()).cast(pa.float64())
    return np.asarray(array.cast(pa.float64(), safe=False).fill_null(0.0))


def _total_order(doubles: np.ndarray, rules: Rules) -> np.ndarray:
    """Integers in the order of Java's Double.compare: -0.0 before 0.0, NaN after everything; in
    SQL, both zeros are equal."""
    doubles = np.where(np.isnan(doubles), np.nan, doubles)
    if rules is Rules.SQL:
        doubles = doubles + 0.0
    bits = doubles.view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(0x7FFF_FFFF_FFFF_FFFF), bits)


def _in_java_order(left: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return texts in a form that Arrow compares as Java does, by UTF-16 units."""
    if not (is_beyond_basic(left) or is_beyond_basic(right)):
        return left, right
    kind = pa.large_binary()
    return (
        each_distinct(left, lambda text: text.encode("utf-16-be"), kind),
        each_distinct(right, lambda text: text.encode("utf-16-be"), kind),
    )


def is_beyond_basic(texts: pa.Array) -> bool:
    """Whether texts may contain characters that are two UTF-16 units."""
    data = texts.buffers()[2]
    return data is not None and bool((np.frombuffer(data, np.uint8) >= _FIRST_OF_FOUR_BYTES).any())


def _things(records: Records, left: Operand, right: Operand) -> np.ndarray:
    """Return where things are equal."""
    equal = none_of(left.count)
    for mask, thing in left.things:
        for other_mask, other in right.things:
            where = mask & other_mask
            if where.any():
                equal |= where & _same(records, thing, other)
    return equal


def _same(records: Records, left: Thing, right: Thing) -> np.ndarray:
    if isinstance(left, SchemaObject) and isinstance(right, SchemaObject):
        return np.full(len(records), left.schema == right.schema)
    if isinstance(left, FieldObject) and isinstance(right, FieldObject):
        equal = (left.field, left.index) == (right.field, right.index)
        return np.full(len(records), equal)
    if not isinstance(left, Node) or not isinstance(right, Node) or left.schema != right.schema:
        return np.full(len(records), left is right)
    pairs = zip(connect_values(records, left), connect_values(records, right), strict=True)
    return np.array([a == b for a, b in pairs], np.bool_)
