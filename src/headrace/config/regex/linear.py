"""Regular expressions for RE2, which takes time in proportion to a text whatever the expression.

They are made from the tree that Python's `re` parses, part by part, so that they have the same
meaning. Features that RE2 lacks have no such form: look-around, back references, atomic groups.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_LAST = 0x10FFFF
_MANY = 5
"""The most choices in an expression that runs in Python for a single name; with more it runs in
RE2."""
_CATEGORIES = {"DIGIT": r"0-9", "SPACE": r"\t\n\x0b\x0c\r ", "WORD": r"0-9A-Za-z_"}
_CHOICES = ("MAX_REPEAT", "MIN_REPEAT")
_ALONE = ("ATOMIC_GROUP", "POSSESSIVE_REPEAT", "ASSERT", "ASSERT_NOT")
"""Operations that are not entered again once they matched."""


class NoLinearForm(ValueError):
    """Raised for a feature of an expression that RE2 lacks."""


def parsed(text: str, flags: int) -> Any:
    """Return an expression as parsed by Python's `re`."""
    return _parser.parse(text, flags)


def linear_form(tree: Any, *, whole: bool) -> str:
    """Return the expression for RE2 that matches a text as a whole, or searches it. Each group n is
    named `g<n>`.

    Raises NoLinearForm.
    """
    end = r"\z" if whole else r"(?:\n?\z)"
    inner = _sequence(tree, tree.state.flags, end)
    return rf"\A(?:{inner})\z" if whole else inner


def is_ambiguous(tree: Any) -> bool:
    """Return whether Python may take much time even for a short text."""
    return _choices(tree) > _MANY or _has_nested_choice(tree)


def _inner(argument: object) -> Iterable[Any]:
    """Yield the sequences inside an operation's argument."""
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, tuple | list):
        for part in argument:
            yield from _inner(part)


def _is_choice(operation: object, argument: Any) -> bool:
    name = str(operation)
    return name == "BRANCH" or (name in _CHOICES and argument[0] != argument[1])


def _choices(sequence: Any) -> int:
    """Return the number of choices that the engine may revise if a later part does not match."""
    count = 0
    for operation, argument in sequence:
        if str(operation) in _ALONE:
            continue
        count += _is_choice(operation, argument) + sum(map(_choices, _inner(argument)))
    return count


def _has_nested_choice(sequence: Any) -> bool:
    """Return whether a loop contains a choice."""
    for operation, argument in sequence:
        inner = list(_inner(argument))
        loops = str(operation) in (*_CHOICES, "POSSESSIVE_REPEAT") and int(argument[1]) > 1
        if (loops and any(map(_choices, inner))) or any(map(_has_nested_choice, inner)):
            return True
    return False


def _sequence(sequence: Iterable[Any], flags: int, end: str | None) -> str:
    """Return a sequence in RE2's syntax; `end` is `$`, None if more may follow."""
    parts = list(sequence)
    part_ends = [None] * (len(parts) - 1) + [end] * bool(parts)
    return "".join(
        _part(str(operation), argument, flags, last)
        for (operation, argument), last in zip(parts, part_ends, strict=True)
    )


def _part(operation: str, argument: Any, flags: int, end: str | None) -> str:
    match operation:
        case "LITERAL":
            return _set([(argument, argument)], flags)
        case "NOT_LITERAL":
            return _set([(argument, argument)], flags, negated=True)
        case "ANY":
            return r"(?s:.)" if flags & re.DOTALL else r"[^\n]"
        case "IN":
            return _in(argument, flags)
        case "BRANCH":
            return "(?:" + "|".join(_sequence(branch, flags, end) for branch in argument[1]) + ")"
        case "SUBPATTERN":
            return _group(argument, flags, end)
        case "MAX_REPEAT" | "MIN_REPEAT":
            low, high, inner = argument
            most = "" if high is _parser.MAXREPEAT else str(int(high))
            lazy = "?" if operation == "MIN_REPEAT" else ""
            last = end if most == "1" else None
            return f"(?:{_sequence(inner, flags, last)}){{{int(low)},{most}}}{lazy}"
        case "AT":
            return _place(str(argument), flags, end)
        case "ASSERT" if _is_end(argument):
            return _place("AT_END", flags & ~re.MULTILINE, end)
    raise NoLinearForm(operation.lower().replace("_", " "))


def _group(argument: Any, flags: int, end: str | None) -> str:
    number, added, removed, inner = argument
    flags = (flags | added) & ~removed
    parts = list(inner)
    if added & re.UNICODE:  # the letters of all scripts, as `translation` writes them
        members = [str(member) for _, member in parts[0][1]] if len(parts) == 1 else []
        if members == ["None", "CATEGORY_NOT_WORD", "CATEGORY_DIGIT", str(ord("_"))]:
            return r"\pL"
        if members == ["CATEGORY_NOT_WORD", "CATEGORY_DIGIT", str(ord("_"))]:
            return r"\PL"
        raise NoLinearForm("letters by Unicode")
    name = "(?:" if number is None else f"(?P<g{number}>"
    return f"{name}{_sequence(parts, flags, end)})"


def _is_end(argument: Any) -> bool:
    """Return whether an assertion is the translation of Java's `\\Z`."""
    direction, inner = argument
    return direction == 1 and str(list(inner)) == str(list(_parser.parse(r"\n?\Z")))


def _place(kind: str, flags: int, end: str | None) -> str:
    multiline = bool(flags & re.MULTILINE)
    match kind:
        case "AT_BEGINNING":
            return "(?m:^)" if multiline else r"\A"
        case "AT_BEGINNING_STRING":
            return r"\A"
        case "AT_END_STRING":
            return r"\z"
        case "AT_END" if multiline:
            return "(?m:$)"
        case "AT_END" if end is not None:
            return end
        case "AT_BOUNDARY":
            return r"\b"
        case "AT_NON_BOUNDARY":
            return r"\B"
    raise NoLinearForm("$ before something else")


def _in(members: Sequence[Any], flags: int) -> str:
    ranges: list[tuple[int, int]] = []
    classes: list[str] = []
    negated = False
    for operation, argument in members:
        match str(operation):
            case "NEGATE":
                negated = True
            case "LITERAL":
                ranges.append((argument, argument))
            case "RANGE":
                ranges.append(argument)
            case "CATEGORY":
                name = str(argument).removeprefix("CATEGORY_")
                inside = _CATEGORIES[name.removeprefix("NOT_")]
                if name.startswith("NOT_"):
                    inside = f"[:^{name.removeprefix('NOT_').lower()}:]"
                    if "space" in inside:
                        inside = r"\x00-\x08\x0e-\x1f\x21-\x{10FFFF}"
                classes.append(inside)
    return _set(ranges, flags, "".join(classes), negated=negated)


def _set(
    ranges: Sequence[tuple[int, int]], flags: int, classes: str = "", *, negated: bool = False
) -> str:
    """Return a set of characters. Without case, an ASCII letter matches both cases, as in Java."""
    covered = list(ranges)
    if flags & re.IGNORECASE:
        for low, high in ranges:
            for first, last, shift in ((65, 90, 32), (97, 122, -32)):
                if max(low, first) <= min(high, last):
                    covered.append((max(low, first) + shift, min(high, last) + shift))
    spans = (
        rf"\x{{{low:X}}}" + (rf"-\x{{{high:X}}}" if high > low else "") for low, high in covered
    )
    return f"[{'^' if negated else ''}{''.join(spans)}{classes}]"
