"""The tree that a condition becomes, whatever language it is written in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from headrace.config.regex import Expression
from headrace.errors import HeadraceError

DEEPEST = 100
"""How deep an expression may be nested."""
LONGEST = 10_000
"""Characters that an expression may have; Python's parser overflows with far longer ones."""
MOST_DIGITS = 76
"""Digits of the widest decimal that columns hold."""
VARIABLES = ("key", "value", "keySchema", "valueSchema", "topic", "header")


class Rules(Enum):
    """Whose rules hold for nulls, truth, and values of different types."""

    GROOVY = "groovy"
    """null is less than anything, and a text of one character compares with numbers."""
    PYTHON = "python"
    """None has no order and no attributes."""
    SQL = "sql"
    """What has a null in it is null."""


class Kind(Enum):
    """Types of scalars: Java's as far as they matter."""

    BOOLEAN = "boolean"
    SHORT = "short"  # bytes, too
    INT = "int"
    LONG = "long"
    SINGLE = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    TEXT = "text"
    BYTES = "bytes"
    MATCHER = "matcher"  # of =~: true where it finds something
    DATE = "date"  # Connect's, days since 1970 …
    TIME = "time"  # … milliseconds of a day …
    MOMENT = "moment"  # … and milliseconds since 1970, which are a java.util.Date to Groovy


class Operator(Enum):
    """Comparisons."""

    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


@dataclass(frozen=True, eq=False)
class Literal:
    """A constant; `kind` is None for null."""

    value: object
    kind: Kind | None


@dataclass(frozen=True, eq=False)
class Variable:
    """One of VARIABLES."""

    name: str


@dataclass(frozen=True, eq=False)
class Member:
    """A field, or an entry of a map; `safe`: null of null. `is_property`: written with a dot, so
    Groovy's `schema` of a struct is its schema."""

    of: Tree
    name: str
    safe: bool = False
    is_property: bool = True


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two values compared."""

    operator: Operator
    left: Tree
    right: Tree


@dataclass(frozen=True, eq=False)
class Contained:
    """Whether a value is among others."""

    item: Tree
    options: tuple[Tree, ...]


@dataclass(frozen=True, eq=False)
class IsNull:
    """Whether there is no value."""

    of: Tree


@dataclass(frozen=True, eq=False)
class Not:
    """The opposite of a value's truth."""

    of: Tree


@dataclass(frozen=True, eq=False)
class And:
    """Whether both are true; the second matters only where the first is."""

    left: Tree
    right: Tree


@dataclass(frozen=True, eq=False)
class Or:
    """Whether one is true; the second matters only where the first is not."""

    left: Tree
    right: Tree


@dataclass(frozen=True, eq=False)
class Conditional:
    """One value where the condition is true, else the other."""

    condition: Tree
    then: Tree
    otherwise: Tree


@dataclass(frozen=True, eq=False)
class After:
    """The value of `then`; without value where `first`, whose value does not matter, has none."""

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
    """A number with the other sign."""

    of: Tree


@dataclass(frozen=True, eq=False)
class Call:
    """A method of a value (`headrace.transforms.expressions.methods`)."""

    of: Tree
    method: str
    arguments: tuple[Literal, ...] = ()
    safe: bool = False


@dataclass(frozen=True, eq=False)
class Match:
    """Whether an expression matches the whole of a text, or is found in it."""

    of: Tree
    pattern: Expression
    whole: bool


Tree = (
    Literal
    | Variable
    | Member
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
    """The trees right below this one."""
    match tree:
        case Literal() | Variable():
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
    """How many trees lie one below another; more than DEEPEST are not counted on.

    A tree may be in several places, so each is looked at once a level: what is shared at every
    level would double the work with each of them.
    """
    level, deep = [tree], 0
    while level and deep <= DEEPEST:
        below = {id(child): child for each in level for child in children(each)}
        level, deep = list(below.values()), deep + 1
    return deep


def decimal_literal(digits: str) -> Literal:
    """A constant of these digits, exact. Raises ValueError, with what is wrong, for more of them
    than columns hold."""
    try:
        value = Decimal(digits)
    except ArithmeticError:
        raise ValueError(f"{digits} is not a number") from None
    exponent = value.as_tuple().exponent
    whole, scale = max(value.adjusted() + 1, 0), max(-int(exponent), 0)
    if whole + scale > MOST_DIGITS:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits")
    return Literal(value, Kind.DECIMAL)


def text_literal(text: str) -> Literal:
    """A constant text. Raises ValueError, with what is wrong, for one with half of a character."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("half of a character is not a text")
    return Literal(text, Kind.TEXT)


def balanced(trees: Sequence[Tree], joined: Callable[[Tree, Tree], Tree]) -> Tree:
    """Trees joined to one that is not deep; `joined` is associative."""
    level = list(trees)
    while len(level) > 1:
        pairs = [joined(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]


def not_understood(text: str, offset: int, what: str) -> HeadraceError:
    """HeadraceError("transforms.expression_not_understood") that says where in `text`."""
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    place = f"column {column}" if "\n" not in text else f"line {line}, column {column}"
    return HeadraceError(
        "transforms.expression_not_understood",
        f"{text!r} is not understood at {place}: {what}",
        "`headrace describe transforms Filter` says what expressions may contain; headrace runs "
        "nothing else.",
    )
