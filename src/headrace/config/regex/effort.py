"""Estimates the time that Python's engine may take for an expression, from its structure.

The engine tries each way to match a part with each way to match the parts before it. Both are
counted as polynomials of a text's length, reduced to the highest power: `x*y` matches a text in n
ways, and takes n² steps if no following part decides.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_parser: Any = importlib.import_module("re._parser")
LONGEST_NAME = 250
"""The length of the longest name of a table, column or topic, in characters."""
_MAX_STEPS = 200_000_000
"""The most steps for the longest name in the worst case: a few seconds."""
_MAX_PER_CHARACTER = 100
_MAX_CONSTANT = 10_000
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


@dataclass(frozen=True)
class Effort:
    """A number of steps: `factor` times the `degree`-th power of a text's length."""

    degree: float
    factor: float

    def __add__(self, other: Effort) -> Effort:
        if self.degree == other.degree:
            return Effort(self.degree, self.factor + other.factor)
        return max(self, other, key=lambda each: each.degree)

    def __mul__(self, other: Effort) -> Effort:
        return Effort(self.degree + other.degree, self.factor * other.factor)

    def is_linear(self) -> bool:
        """Return whether the steps are at most a small number per character."""
        most = _MAX_CONSTANT if self.degree == 0 else _MAX_PER_CHARACTER
        return self.degree <= 1 and self.factor <= most

    def suits_names(self) -> bool:
        """Return whether the longest name is matched in a short time."""
        if math.isinf(self.degree) or math.isinf(self.factor):
            return False
        steps = self.factor * LONGEST_NAME**self.degree / math.factorial(int(self.degree))
        return bool(steps <= _MAX_STEPS)


_ONE, _LENGTH, _ENDLESS = Effort(0, 1.0), Effort(1, 1.0), Effort(math.inf, math.inf)


def effort(tree: Any, *, whole: bool) -> Effort:
    """Return the steps that decide whether a text matches as a whole, or has a match. `tree` is the
    expression as parsed by Python's `re`."""
    parts = list(tree)
    _, steps = _Counter(tree.state.flags).sequence(parts, after=None, last=not whole)
    begins = bool(parts) and str(parts[0][0]) == "AT" and _is_begin(parts[0], tree.state.flags)
    return steps if whole or begins else steps * _LENGTH


def _is_begin(part: Any, flags: int) -> bool:
    place = str(part[1])
    return place == "AT_BEGINNING_STRING" or (place == "AT_BEGINNING" and not flags & re.MULTILINE)


class _Counter:
    """Counts ways and steps of parts."""

    def __init__(self, flags: int) -> None:
        self._flags = flags
        self._widths: dict[int, int] = {}  # the longest text of each group

    def sequence(
        self, parts: Sequence[Any], after: Any | None, last: bool
    ) -> tuple[Effort, Effort]:
        """Return ways and steps of a sequence. `after` is the part that follows it; `last`: its
        first match is the result."""
        ways, steps = _ONE, _ONE
        for at, (operation, argument) in enumerate(parts):
            is_end = at == len(parts) - 1
            follower = after if is_end else parts[at + 1]
            ways_of_part, tried = self.part(str(operation), argument, follower, last and is_end)
            steps += ways * tried
            ways *= ways_of_part
        return ways, steps

    def part(
        self, operation: str, argument: Any, after: Any | None, last: bool
    ) -> tuple[Effort, Effort]:
        """Return ways and steps of one part."""
        match operation:
            case "SUBPATTERN":
                if argument[0] is not None:
                    self._widths[argument[0]] = int(argument[3].getwidth()[1])
                return self.sequence(list(argument[3]), after, last)
            case "BRANCH":
                return self._either(argument[1], after, last)
            case "GROUPREF_EXISTS":
                return self._either([branch for branch in argument[1:] if branch], after, last)
            case "ATOMIC_GROUP":
                return _ONE, self.sequence(list(argument), None, False)[1]
            case "ASSERT" | "ASSERT_NOT":
                return _ONE, self.sequence(list(argument[1]), None, False)[1]
            case "GROUPREF":
                width = self._widths.get(argument, math.inf)
                return _ONE, Effort(0, width) if width <= LONGEST_NAME else _LENGTH
        if operation in _REPEATS:
            return self._repeated(operation, argument, after, last)
        return _ONE, _ONE

    def _either(
        self, branches: Sequence[Any], after: Any | None, last: bool
    ) -> tuple[Effort, Effort]:
        counted = [self.sequence(list(branch), after, last) for branch in branches]
        ways, steps = Effort(0, 0.0), _ONE
        for ways_of_branch, tried in counted:
            ways, steps = ways + ways_of_branch, steps + tried
        return ways, steps

    def _repeated(
        self, operation: str, argument: Any, after: Any | None, last: bool
    ) -> tuple[Effort, Effort]:
        low, high, inner = int(argument[0]), argument[1], list(argument[2])
        ways, steps = self.sequence(inner, None, False)
        keeps = operation == "POSSESSIVE_REPEAT"
        decided = keeps or _is_decided(inner, after, self._flags)
        if high is _parser.MAXREPEAT:
            if ways != _ONE and not keeps:
                return _ENDLESS, _ENDLESS
            if last and steps.degree == 0:
                return _ONE, Effort(0, max(low, 1)) * steps
            return _ONE if decided else _LENGTH, _LENGTH * steps
        turns = int(high)
        if ways == _ONE or keeps:
            count = 1.0 if decided else float(turns - low + 1)
            return Effort(0, count), Effort(0, float(max(turns, 1))) * steps
        try:
            factor = ways.factor**turns * (turns - low + 1)
        except OverflowError:
            return _ENDLESS, _ENDLESS
        repeated = Effort(ways.degree * turns, factor)
        return repeated, repeated * steps


def _is_decided(inner: Sequence[Any], after: Any | None, flags: int) -> bool:
    """Return whether a repeated character can never be the one that must follow, so that the
    repetition can end in only one way."""
    if len(inner) != 1 or after is None or str(after[0]) != "LITERAL":
        return False
    follower = chr(after[1])
    cases = {follower, follower.lower(), follower.upper()} if flags & re.IGNORECASE else {follower}
    return not any(_may_be(str(inner[0][0]), inner[0][1], case) for case in cases)


def _may_be(operation: str, argument: Any, character: str) -> bool:
    """Return whether a part that matches one character may match this one; True if unknown."""
    code = ord(character)
    match operation:
        case "LITERAL":
            return bool(argument == code)
        case "NOT_LITERAL":
            return bool(argument != code)
        case "IN":
            names = [str(name) for name, _ in argument]
            if "CATEGORY" in names:
                return True
            among = any(
                code == value if str(name) == "LITERAL" else value[0] <= code <= value[1]
                for name, value in argument
                if str(name) in ("LITERAL", "RANGE")
            )
            return among != ("NEGATE" in names)
    return True
