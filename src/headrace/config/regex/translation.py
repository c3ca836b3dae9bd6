"""Regular expressions of Java, translated into Python's syntax."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

# Character classes that Python's `re` lacks, as content of a set. They match ASCII in Java.
_PROPERTY_CLASSES = {
    "Lower": "a-z", "Ll": "a-z", "javaLowerCase": "a-z",
    "Upper": "A-Z", "Lu": "A-Z", "javaUpperCase": "A-Z",
    "Alpha": "a-zA-Z", "L": r"^\W\d_", "IsAlphabetic": r"^\W\d_",
    "Digit": "0-9", "Nd": "0-9", "N": "0-9", "IsDigit": "0-9",
    "Alnum": "a-zA-Z0-9", "XDigit": "0-9a-fA-F",
    "Punct": r"!-/:-@\[-`{-~", "P": r"!-/:-@\[-`{-~",
    "Space": r" \t\n\x0b\f\r", "Blank": r" \t", "ASCII": r"\x00-\x7f",
}  # fmt: skip
_ONE_OF = {"h": r" \t\xa0", "v": r"\n\x0b\f\r\x85\u2028\u2029"}
_LETTER = re.compile(r"[pP](?:\{(?:Is)?(?P<name>\w+)\}|(?P<letter>\w))")


# The syntax after `{` and `(?` in Java; Python accepts more.
_REPETITION = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}")
_GROUP = re.compile(r"\(\?(?:[:=!>]|<[=!a-zA-Z]|[idmsuxU]*(?:-[idmsuxU]*)?[:)])")


def translate_java_regex(text: str) -> str:
    """Return `text` in Python's syntax. Raises ValueError if it has no counterpart there."""
    return _translate(text)


def split_regex_list(text: str) -> list[str]:
    r"""Split at commas; `\,` and commas inside [] {} () belong to the expression."""
    parts: list[str] = []
    part = ""
    closing: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == "\\" and position + 1 < len(text):
            follower = text[position + 1]
            part += follower if follower == "," else character + follower
            position += 2
            continue
        if closing and character == closing[-1]:
            closing.pop()
        elif character in "[{(" and (not closing or closing[-1] != "]"):
            closing.append({"[": "]", "{": "}", "(": ")"}[character])
        if character == "," and not closing:
            parts.append(part)
            part = ""
        else:
            part += character
        position += 1
    parts.append(part)
    return [stripped for part in parts if (stripped := part.strip())]


def _translate(text: str) -> str:
    out: list[str] = []
    position = 0
    in_set = False
    while position < len(text):
        rest = text[position:]
        character = text[position]
        if character == "\\":
            step, piece = _escape(rest, in_set=in_set)
            out.append(piece)
            position += step
            continue
        if in_set:
            if character == "[":
                raise ValueError("a set inside a set is not supported")
            if rest.startswith("&&"):
                raise ValueError("the intersection && is not supported")
            if character == "]" and out[-1] not in ("[", "[^"):
                in_set = False
            # Python reserves doubled signs in a set; in Java they are literal.
            doubled = character in "-~|" and rest[1:2] == character
            out.append("\\" + character if doubled else character)
        elif rest.startswith("[^"):
            in_set = True
            out.append("[^")
            position += 1
        elif character == "[":
            in_set = True
            out.append("[")
        elif character == "{" and _REPETITION.match(rest) is None:
            raise ValueError("a { outside of a set begins a repetition such as {2,5}; write \\{")
        elif rest.startswith("(?") and _GROUP.match(rest) is None:
            raise ValueError(f"Java has no group {rest[:3]}")
        elif rest.startswith("(?<") and rest[3:4] not in ("=", "!", ""):
            out.append("(?P<")
            position += 2
        else:
            out.append(character)
        position += 1
    return "".join(out)


def _escape(rest: str, *, in_set: bool) -> tuple[int, str]:
    """Return length and translation of the escape sequence that `rest` starts with."""
    if rest.startswith("\\Q"):
        quoted, _, _ = rest[2:].partition("\\E")
        return min(len(quoted) + 4, len(rest)), re.escape(quoted)
    if rest.startswith("\\k<"):
        name, _, _ = rest[3:].partition(">")
        return len(name) + 4, f"(?P={name})"
    if rest.startswith("\\z"):
        return 2, r"\Z"
    if rest.startswith("\\Z"):
        return 2, r"(?=\n?\Z)"
    kind = rest[1:2]
    if kind == "U" or (kind == "0" and rest[2:3] not in tuple("01234567")):
        raise ValueError(f"Java has no escape {rest[:2]}")
    inside = _ONE_OF.get(kind)
    length, negated = 2, False
    if (match := _LETTER.match(rest, 1)) is not None:
        name = match["name"] or match["letter"]
        inside = _PROPERTY_CLASSES.get(name) or _PROPERTY_CLASSES.get("Is" + name)
        length, negated = match.end(), kind == "P"
        if inside is None:
            raise ValueError(f"the class {rest[:length]} is not supported")
    if inside is None:
        return 2, rest[:2]
    if not in_set:
        if inside.startswith("^"):  # the letters of all scripts
            return length, f"(?u:[{'' if negated else '^'}{inside[1:]}])"
        return length, f"[{'^' if negated else ''}{inside}]"
    if negated or inside.startswith("^"):
        raise ValueError(f"{rest[:length]} inside a set is not supported")
    return length, inside


class Groups(Protocol):
    """The groups of an expression, for replacements."""

    @property
    def groups(self) -> int:
        """The number of groups."""
        ...

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The numbers of named groups."""
        ...


def compile_java_replacement(text: str, pattern: Groups) -> Callable[[Sequence[str]], str]:
    r"""Compile `text` like a replacement of `java.util.regex.Matcher` for matches of `pattern`:
    `$1`, `${name}`, and `\` before a literal character. The result is called with the texts of the
    groups, of which the first is the whole match.

    A group that did not take part is empty. Raises ValueError for a group that does not exist.
    """
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "\\":
            if position == len(text):
                raise ValueError("the replacement ends with a backslash")
            parts.append(text[position])
            position += 1
        elif character == "$":
            group, position = _group(text, position, pattern)
            parts.append(group)
        else:
            parts.append(character)

    def replaced(groups: Sequence[str]) -> str:
        return "".join(part if isinstance(part, str) else groups[part] for part in parts)

    return replaced


def _group(text: str, position: int, pattern: Groups) -> tuple[int, int]:
    """Return the number of the group that follows a `$`, and its end."""
    if text[position : position + 1] == "{":
        name, brace, _ = text[position + 1 :].partition("}")
        if not brace or name not in pattern.groupindex:
            raise ValueError(f"the replacement names the group {name!r}, which there is not")
        return pattern.groupindex[name], position + len(name) + 2
    if not text[position : position + 1].isdecimal():
        raise ValueError("the replacement has a $ without a group; write \\$ for the character")
    group = int(text[position])
    position += 1
    if group > pattern.groups:
        raise ValueError(
            f"the replacement names the group {group}, and the expression has {pattern.groups}"
        )
    # As many digits as form the number of an existing group.
    while text[position : position + 1].isdecimal():
        longer = 10 * group + int(text[position])
        if longer > pattern.groups:
            break
        group, position = longer, position + 1
    return group, position
