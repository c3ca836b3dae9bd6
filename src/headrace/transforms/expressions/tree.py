"""The tree of a condition, the same for all languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from headrace.config.regex import Expression
from headrace.errors import HeadraceError

DEEPEST = 100
"""The deepest nesting of an expression."""
LONGEST = 10_000
"""The most characters of an expression; Python's parser overflows with far longer ones."""
MAX_DIGITS = 76
"""Digits of the widest decimal that columns support."""
VARIABLES = ("key", "value", "keySchema", "valueSchema", "topic", "header")


class Rules(Enum):
    """The language whose rules apply to nulls, truth, and values of different types."""

    GROOVY = "groovy"
    """null is less than any value, and a text of one character compares with numbers."""
    PYTHON = "python"
    """Rules of Python: None has no order and no attributes."""
    SQL = "sql"
    """Rules of SQL: an expression with a null operand is null."""


class ScalarKind(Enum):
    """Types of scalars: Java's, as far as they make a difference."""

    BOOLEAN = "boolean"
    SHORT = "short"  # also bytes
    INT = "int"
    LONG = "long"
    SINGLE = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    TEXT = "text"
    BYTES = "bytes"
    MATCHER = "matcher"  # result of =~: true if it finds a match
    DATE = "date"  # Connect's, days since 1970
    TIME = "time"  # milliseconds of a day
    MOMENT = "moment"  # milliseconds since 1970, a java.util.Date in Groovy


class Operator(Enum):
    """Comparison operators."""

    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


@dataclass(frozen=True, eq=False)
class LiteralTree:
    """A constant; `kind` is None for null."""

    value: object
    kind: ScalarKind | None


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable, one of VARIABLES."""

    name: str


@dataclass(frozen=True, eq=False)
class MemberAccess:
    """A field, or an entry of a map; `safe`: null for a null. `is_property`: written with a dot, so
    that Groovy's `schema` of a struct is its schema."""

    of: Tree
    name: str
    safe: bool = False
    is_property: bool = True


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison of two values."""

    operator: Operator
    left: Tree
    right: Tree


@dataclass(frozen=True, eq=False)
class Contained:
    """Whether a value is one of several others."""

    item: Tree
    options: tuple[Tree, ...]


@dataclass(frozen=True, eq=False)
class IsNull:
    """Whether a value is null."""

    of: Tree


@dataclass(frozen=True, eq=False)
class Not:
    """The negation of a value's truth."""

    of: Tree


@dataclass(frozen=True, eq=False)
class And:
    """Whether both are true; the second is only evaluated if the first is true."""

    left: Tree
    right: Tree


@dataclass(frozen=True, eq=False)
class Or:
    """Whether either is true; the second is only evaluated if the first is not true."""

    left: Tree
    right: Tree


@dataclass(frozen=True, eq=False)
class Conditional:
    """The value of `then` if the condition is true, otherwise that of the other."""

    condition: Tree
    then: Tree
    otherwise: Tree


@dataclass(frozen=True, eq=False)
class After:
    """The value of `then`; fails if `first`, whose value is not used, fails."""

    first: Tree
    then: Tree


@dataclass(frozen=True, eq=False)
class Calculation:
    """`+`, `-`, `*` or `%`."""

    operator: str
    left: Tree
    right: Tree


@dataclass(frozen=True, eq=False)
class Negative:
    """A number with the opposite sign."""

    of: Tree


@dataclass(frozen=True, eq=False)
class Call:
    """A method of a value (`headrace.transforms.expressions.methods`)."""

    of: Tree
    method: str
    arguments: tuple[LiteralTree, ...] = ()
    safe: bool = False


@dataclass(frozen=True, eq=False)
class Match:
    """Whether an expression matches the whole text, or is found in it."""

    of: Tree
    pattern: Expression
    whole: bool


Tree = (
    LiteralTree
    | Variable
    | MemberAccess
    | Comparison
    | Contained
    | IsNull
    | Not
    | And
    | Or
    | Conditional
    | After
    | Calculation
    | Negative
    | Call
    | Match
)


def children(tree: Tree) -> Iterator[Tree]:
    """Yield the trees directly below this one."""
    match tree:
        case LiteralTree() | Variable():
            return
        case Comparison() | And() | Or() | Calculation():
            yield from (tree.left, tree.right)
        case Contained():
            yield from (tree.item, *tree.options)
        case After():
            yield from (tree.first, tree.then)
        case Conditional():
            yield from (tree.condition, tree.then, tree.otherwise)
        case _:
            yield tree.of


def depth(tree: Tree) -> int:
    """Return the nesting depth of a tree; counting stops after DEEPEST.

    A tree may occur in several places, so each is visited once per level: otherwise trees that are
    shared at every level would double the work at each of them.
    """
    level, deep = [tree], 0
    while level and deep <= DEEPEST:
        below = {id(child): child for parent in level for child in children(parent)}
        level, deep = list(below.values()), deep + 1
    return deep


def decimal_literal(digits: str) -> LiteralTree:
    """Return an exact constant with these digits. Raises ValueError, with the reason, for more
    digits than columns support."""
    try:
        value = Decimal(digits)
    except ArithmeticError:
        raise ValueError(f"{digits} is not a number") from None
    exponent = value.as_tuple().exponent
    whole, scale = max(value.adjusted() + 1, 0), max(-int(exponent), 0)
    if whole + scale > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS} digits")
    return LiteralTree(value, ScalarKind.DECIMAL)


def text_literal(text: str) -> LiteralTree:
    """Return a constant text. Raises ValueError, with the reason, for half of a surrogate pair."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("an unpaired surrogate is not a text")
    return LiteralTree(text, ScalarKind.TEXT)


def balanced(trees: Sequence[Tree], joined: Callable[[Tree, Tree], Tree]) -> Tree:
    """Join trees to a tree of low depth; `joined` is associative."""
    level = list(trees)
    while len(level) > 1:
        pairs = [joined(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]


def not_understood(text: str, offset: int, reason: str) -> HeadraceError:
    """Return HeadraceError("transforms.expression_not_understood") with the position in `text`."""
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    place = f"column {column}" if "\n" not in text else f"line {line}, column {column}"
    return HeadraceError(
        "transforms.expression_not_understood",
        f"{text!r} is not understood at {place}: {reason}",
        "`headrace describe transforms Filter` says what expressions may contain; headrace runs "
        "nothing else.",
    )
