"""The evaluator: a tree over the columns of records."""

from __future__ import annotations

import operator as operators
from collections.abc import Iterator
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.records import Records
from headrace.transforms.expressions.comparison import as_doubles, compare, contained
from headrace.transforms.expressions.members import called, member_of, variable
from headrace.transforms.expressions.methods import METHODS
from headrace.transforms.expressions.operands import (
    FLOATING,
    INTEGRAL,
    NUMERIC,
    Operand,
    booleans,
    chosen,
    constant,
    none_of,
    read_dates,
    true,
    valid,
)
from headrace.transforms.expressions.tree import (
    After,
    And,
    Calculation,
    Call,
    Comparison,
    Conditional,
    Contained,
    IsNull,
    LiteralTree,
    Match,
    MemberAccess,
    Negative,
    Not,
    Or,
    Rules,
    ScalarKind,
    Tree,
    Variable,
)

_ARITHMETIC = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_NUMPY = {"+": np.add, "-": np.subtract, "*": np.multiply, "%": np.fmod}
_EXACT = {"+": operators.add, "-": operators.sub, "*": operators.mul}
_BEYOND = "the result has more bits than its type"
_SHOWN = (ScalarKind.TEXT, ScalarKind.SHORT, ScalarKind.INT, ScalarKind.LONG)


class TreeEvaluation:
    """Evaluates trees over some records, each tree once."""

    def __init__(self, records: Records, rules: Rules) -> None:
        self._records = records
        self._count = len(records)
        self._rules = rules
        self._made: dict[int, Operand] = {}

    def of(self, tree: Tree) -> Operand:
        """Return the values of a tree that lives as long as this object."""
        operand = self._made.get(id(tree))
        if operand is None:
            operand = self._made[id(tree)] = read_dates(self._of(tree), self._rules)
        return operand

    def _of(self, tree: Tree) -> Operand:
        match tree:
            case LiteralTree():
                return constant(self._count, tree.kind, tree.value)
            case Variable():
                return variable(self._records, tree.name)
            case MemberAccess():
                safe = tree.safe or self._rules is Rules.SQL
                return member_of(
                    self._records,
                    self.of(tree.of),
                    tree.name,
                    self._rules,
                    safe=safe,
                    is_property=tree.is_property,
                )
            case Comparison():
                left, right = self.of(tree.left), self.of(tree.right)
                return compare(self._records, tree.operator, left, right, self._rules)
            case Contained():
                return self._contained(tree)
            case IsNull():
                operand = self.of(tree.of)
                return booleans(operand.null).failing_as(operand)
            case Not():
                operand = self._logical(tree.of)
                null = operand.null if self._rules is Rules.SQL else None
                return booleans(~self._truth(operand), null).failing_as(operand)
            case And() | Or():
                return self._junction(tree)
            case Conditional():
                condition = self._logical(tree.condition)
                holds = self._truth(condition)
                result = chosen(holds, self.of(tree.then), self.of(tree.otherwise))
                return result.failing_as(condition)
            case After():
                return self.of(tree.then).failing_as(self.of(tree.first))
            case Calculation():
                return self._calculated(tree)
            case Negative():
                return self._negated(self.of(tree.of))
            case Call():
                return self._called(tree)
            case Match():
                return self._matched(tree)

    def _logical(self, tree: Tree) -> Operand:
        """Return the values of a condition. In SQL values that are not booleans fail."""
        operand = self.of(tree)
        if self._rules is not Rules.SQL:
            return operand
        array = operand.scalars.get(ScalarKind.BOOLEAN)
        other = ~operand.null if array is None else ~operand.null & ~valid(array)
        return operand.failing(other, "a condition is not a boolean")

    def _truth(self, operand: Operand) -> np.ndarray:
        """Return which values are true: not null, false, zero, or empty."""
        holds = none_of(self._count)
        for kind, array in operand.scalars.items():
            if kind in (ScalarKind.BOOLEAN, ScalarKind.MATCHER):
                holds |= true(array)
            elif kind is ScalarKind.TEXT:
                holds |= true(pc.not_equal(array, ""))
            elif kind in FLOATING:
                doubles = as_doubles(kind, array)
                zero = (doubles == 0) | (np.isnan(doubles) & (self._rules is Rules.GROOVY))
                holds |= valid(array) & ~zero
            elif kind in NUMERIC:
                zero = pa.scalar(
                    0, pa.decimal256(1, 0) if kind is ScalarKind.DECIMAL else array.type
                )
                holds |= true(pc.not_equal(array, zero.cast(array.type)))
            elif self._rules is Rules.GROOVY:
                holds |= valid(array)  # a ByteBuffer is true, even if empty
            else:
                holds |= true(pc.not_equal(pc.binary_length(array), 0))
        for mask, thing in operand.things:
            empty = called(self._records, thing, "isEmpty", (), self._rules)
            is_empty = empty.scalars.get(ScalarKind.BOOLEAN)
            holds |= mask if is_empty is None else mask & ~true(is_empty)
        return holds

    def _contained(self, tree: Contained) -> Operand:
        item = self.of(tree.item)
        if not tree.options:
            return booleans(none_of(self._count)).failing_as(item)
        checks = [
            contained(self._records, item, self.of(option), self._rules) for option in tree.options
        ]
        result = reduce(self._either, checks)
        return result.failing_as(*checks)

    def _either(self, left: Operand, right: Operand) -> Operand:
        holds = self._truth(left) | self._truth(right)
        null = (left.null | right.null) & ~holds if self._rules is Rules.SQL else None
        return booleans(holds, null)

    def _junction(self, tree: And | Or) -> Operand:
        left, right = self._logical(tree.left), self._logical(tree.right)
        left_holds, right_holds = self._truth(left), self._truth(right)
        decided = ~left_holds if isinstance(tree, And) else left_holds
        holds = left_holds & right_holds if isinstance(tree, And) else left_holds | right_holds
        null = None
        if self._rules is Rules.SQL:
            # Kleene's logic: null unless one side decides.
            both = left.null | right.null
            false = (~left_holds & ~left.null) | (~right_holds & ~right.null)
            null = both & ~false if isinstance(tree, And) else both & ~holds
            decided = decided & ~left.null
        result = booleans(holds, null)
        if right.failure is not None:
            result = result.failing(right.failure.mask & ~decided, right.failure.reason)
        return result.failing_as(left)

    def _called(self, tree: Call) -> Operand:
        operand = self.of(tree.of)
        count = self._count
        method = METHODS.get(tree.method)
        result = Operand(count)
        text = operand.scalars.get(ScalarKind.TEXT)
        covered = operand.failed
        if tree.method == "itself":
            result = Operand(count, {} if text is None else {ScalarKind.TEXT: text})
            covered = covered | ~result.null
        else:
            assert method is not None
            kinds = [argument.kind for argument in tree.arguments]
            if text is not None and method.of_texts is not None and set(kinds) <= {ScalarKind.TEXT}:
                results = method.of_texts(text, *(argument.value for argument in tree.arguments))
                result = Operand(count, {method.kind: results})
                covered = covered | valid(text)
            for mask, thing in operand.things:
                of_thing = called(self._records, thing, tree.method, tree.arguments, self._rules)
                result = chosen(mask, of_thing, result)
                covered = covered | mask
        missing = ~covered
        if tree.safe or self._rules is Rules.SQL:
            missing = missing & ~operand.null
        result = result.failing_as(operand)
        return result.failing(missing, f"the value is null or has no method {tree.method}")

    def _matched(self, tree: Match) -> Operand:
        operand = self.of(tree.of)
        text = operand.scalars.get(ScalarKind.TEXT)
        if text is None:
            text = pa.nulls(self._count, pa.large_string())
        for kind, array in operand.scalars.items():
            if kind in (ScalarKind.SHORT, ScalarKind.INT, ScalarKind.LONG, ScalarKind.BOOLEAN):
                text = pc.coalesce(text, array.cast(pa.large_string()))
        holds = tree.pattern.matches(text, whole=tree.whole)
        other = ~operand.null & ~valid(text)
        null = operand.null if self._rules is Rules.SQL else None
        if tree.whole or self._rules is Rules.SQL:
            result = booleans(true(holds), null)
        else:
            result = Operand(self._count, {ScalarKind.MATCHER: holds.fill_null(False)})
        return result.failing_as(operand).failing(other, "an expression is matched with no text")

    def _calculated(self, tree: Calculation) -> Operand:
        left, right = self.of(tree.left), self.of(tree.right)
        count, operator = self._count, tree.operator
        calculated, covered = Operand(count), left.failed | right.failed
        null = left.null | right.null
        if operator == "||" or (operator == "+" and self._rules is not Rules.SQL):
            joined = self._joined(left, right)
            calculated, covered = joined, covered | ~joined.null
        elif operator == "-" and self._rules is Rules.GROOVY:
            calculated = self._without(left, right)
            covered = covered | ~calculated.null
        for kind, operand in self._numbers(left):
            for other_kind, other in self._numbers(right):
                where = valid(operand) & valid(other) & ~covered
                if operator != "||" and kind in NUMERIC and other_kind in NUMERIC and where.any():
                    result = _number(operator, (kind, operand), (other_kind, other), self._rules)
                    calculated = chosen(where, result, calculated)
                    covered = covered | where
        if self._rules is Rules.SQL:
            covered = covered | null
        calculated = calculated.failing_as(left, right)
        return calculated.failing(
            ~covered, f"{operator} of values that are null or do not go together"
        )

    def _numbers(self, operand: Operand) -> Iterator[tuple[ScalarKind, pa.Array]]:
        """Yield the scalars for a calculation: in Python booleans are 0 and 1, and integers have at
        least 64 bits."""
        for kind, array in operand.scalars.items():
            whole = kind in (ScalarKind.BOOLEAN, *INTEGRAL)
            if self._rules is Rules.PYTHON and whole:
                yield ScalarKind.LONG, array.cast(pa.int64())
            else:
                yield kind, array

    def _joined(self, left: Operand, right: Operand) -> Operand:
        """Concatenate texts; in Groovy also nulls and whole numbers with a text."""
        is_text = none_of(self._count)
        for operand in (left, right):
            if ScalarKind.TEXT in operand.scalars:
                is_text |= valid(operand.scalars[ScalarKind.TEXT])
        if not is_text.any():
            return Operand(self._count)
        texts = [self._shown(operand) for operand in (left, right)]
        joined = pc.binary_join_element_wise(*texts, pa.scalar("", pa.large_string()))
        return Operand(self._count, {ScalarKind.TEXT: joined}).where(is_text)

    def _without(self, left: Operand, right: Operand) -> Operand:
        """Remove the first occurrence of another value's text from texts, as Groovy's minus
        does."""
        text = left.scalars.get(ScalarKind.TEXT)
        if text is None:
            return Operand(self._count)
        removed = self._shown(right)
        distinct = pc.unique(removed.drop_null())
        if len(distinct) == 1:
            without = pc.if_else(removed.is_valid(), _less(text, distinct[0].as_py()), None)
        else:
            pairs = zip(text.to_pylist(), removed.to_pylist(), strict=True)
            without = pa.array(
                [None if whole is None or part is None else whole.replace(part, "", 1)
                 for whole, part in pairs],
                pa.large_string(),
            )  # fmt: skip
        return Operand(self._count, {ScalarKind.TEXT: without})

    def _shown(self, operand: Operand) -> pa.Array:
        text = operand.scalars.get(ScalarKind.TEXT, pa.nulls(self._count, pa.large_string()))
        if self._rules is not Rules.GROOVY:
            return text
        for kind, array in operand.scalars.items():
            if kind in _SHOWN:
                text = pc.coalesce(text, array.cast(pa.large_string()))
        null = pa.array(operand.null & ~operand.failed)
        return pc.if_else(null, pa.scalar("null", pa.large_string()), text)

    def _negated(self, operand: Operand) -> Operand:
        negated, covered = Operand(self._count), operand.failed
        for kind, array in self._numbers(operand):
            if kind in NUMERIC:
                zero = pa.repeat(pa.scalar(0, array.type), self._count)
                result = Operand(self._count, {kind: pc.negate(array)})
                if kind in INTEGRAL:
                    beyond = _beyond("-", zero, array)
                    result = result.failing(beyond & (self._rules is not Rules.GROOVY), _BEYOND)
                negated = chosen(valid(array), result, negated)
                covered = covered | valid(array)
        if self._rules is Rules.SQL:
            covered = covered | operand.null
        return negated.failing_as(operand).failing(~covered, "- of a value that is not a number")


def _less(texts: pa.Array, removed: str) -> pa.Array:
    """Texts without the first occurrence of a text."""
    if not removed:
        return texts
    return pc.replace_substring(texts, removed, "", max_replacements=1)


def _number(
    operator: str,
    left: tuple[ScalarKind, pa.Array],
    right: tuple[ScalarKind, pa.Array],
    rules: Rules,
) -> Operand:
    """Return the result of two numbers in the larger of their types. In Groovy integers wrap as in
    Java; in other languages overflows fail."""
    (kind, left_values), (other_kind, right_values) = left, right
    count = len(left_values)
    strict = rules is not Rules.GROOVY
    if kind in INTEGRAL and other_kind in INTEGRAL:
        larger = ScalarKind.LONG if ScalarKind.LONG in (kind, other_kind) else ScalarKind.INT
        arrow = pa.int64() if larger is ScalarKind.LONG else pa.int32()
        left_values, right_values = left_values.cast(arrow), right_values.cast(arrow)
        if operator != "%":
            operand = Operand(count, {larger: _ARITHMETIC[operator](left_values, right_values)})
            return (
                operand.failing(_beyond(operator, left_values, right_values), _BEYOND)
                if strict
                else operand
            )
        divisor = np.asarray(right_values.fill_null(1))
        zero = divisor == 0
        rest = (np.mod if rules is Rules.PYTHON else np.fmod)(
            np.asarray(left_values.fill_null(0)), np.where(zero, 1, divisor)
        )
        return Operand(count, {larger: pa.array(rest, arrow)}).failing(zero, "% of zero")
    if kind in FLOATING or other_kind in FLOATING:
        doubles, others = as_doubles(kind, left_values), as_doubles(other_kind, right_values)
        calculate = np.mod if operator == "%" and rules is Rules.PYTHON else _NUMPY[operator]
        with np.errstate(all="ignore"):
            result = calculate(doubles, others)
        zero = np.asarray((others == 0) & (operator == "%") & strict)
        return Operand(count, {ScalarKind.DOUBLE: pa.array(result, pa.float64())}).failing(
            zero, "% of zero"
        )
    if operator in "*%":
        return Operand(count).failing(~none_of(count), f"{operator} of decimals is not calculated")
    if kind is not ScalarKind.DECIMAL:
        left_values = left_values.cast(pa.decimal256(19, 0))
    if other_kind is not ScalarKind.DECIMAL:
        right_values = right_values.cast(pa.decimal256(19, 0))
    scale = max(left_values.type.scale, right_values.type.scale)
    try:
        # One more digit: the sum of two numbers has at most one more.
        room = pa.decimal256(75, scale)
        result = _ARITHMETIC[operator](left_values.cast(room), right_values.cast(room))
    except pa.ArrowInvalid:
        return Operand(count).failing(
            ~none_of(count), f"{operator} of decimals with too many digits"
        )
    return Operand(count, {ScalarKind.DECIMAL: result})


def _beyond(operator: str, left_values: pa.Array, right_values: pa.Array) -> np.ndarray:
    """Return where the result of two integers of a type is out of the type's range."""
    info = np.iinfo(str(left_values.type))
    left, right = (
        np.asarray(values.fill_null(0)).astype(np.int64) for values in (left_values, right_values)
    )
    about = _NUMPY[operator](left.astype(np.float64), right.astype(np.float64))
    near = np.abs(about) >= float(info.max) * 0.999
    exact = [
        not info.min <= _EXACT[operator](a, b) <= info.max
        for a, b in zip(left[near].tolist(), right[near].tolist(), strict=True)
    ]
    beyond = np.zeros(len(left_values), np.bool_)
    beyond[near] = exact
    return beyond
