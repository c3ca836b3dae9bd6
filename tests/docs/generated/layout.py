"""JSON as the pages show it: short members share a line, and members can have numbers, which a
table below the block explains."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 100
"""Characters of a line, unless a text is longer."""
OWN_LINE = {"topic", "key", "headers", "value", "schema", "payload", "before", "after", "source"}
"""Members that share a line with no other one. A schema can also be the name of one in the
database, which shares its line."""
Path = tuple[str, ...]
"""Names of members, and indexes of elements, from the outermost one."""


@dataclass(frozen=True)
class _Member:
    """A member or an element: its lines, its number, and whether it needs a line of its own."""

    lines: Sequence[str]
    number: int | None
    is_alone: bool


def layout(value: Any, numbers: Mapping[Path, int] | None = None) -> str:
    """The text of a value of JSON. `numbers` says which number each member has at its end of line,
    as a comment."""
    return "\n".join(_lines(value, (), 0, numbers or {}))


def _lines(value: Any, path: Path, used: int, numbers: Mapping[Path, int]) -> list[str]:
    """The lines of a value, the first of which has `used` characters before it and a comma."""
    text = json.dumps(value, ensure_ascii=False)
    is_numbered = any(each[: len(path)] == path and each != path for each in numbers)
    is_short = path and not is_numbered and used + len(text) < WIDTH
    if is_short or not value or not isinstance(value, dict | list):
        return [text]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    indent = 2 * (len(path) + 1)
    packed = _packed(list(_members(value, path, indent, numbers)), indent)
    return [begin, *packed, " " * (indent - 2) + end]


def _members(
    value: dict[str, Any] | list[Any], path: Path, indent: int, numbers: Mapping[Path, int]
) -> Iterator[_Member]:
    named = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in named:
        below = (*path, str(name))
        label = f"{json.dumps(name)}: " if isinstance(value, dict) else ""
        first, *more = _lines(member, below, indent + len(label), numbers)
        number = numbers.get(below)
        is_alone = name in OWN_LINE and not (name == "schema" and isinstance(member, str))
        yield _Member([label + first, *more], number, is_alone or number is not None)


def _packed(members: Sequence[_Member], indent: int) -> list[str]:
    """The lines of members; those of one line share lines."""
    lines: list[str] = []
    can_share = False
    for position, member in enumerate(members):
        comma = "," if position + 1 < len(members) else ""
        texts = [*member.lines[:-1], member.lines[-1] + comma]
        is_alone = member.is_alone or len(texts) > 1
        if can_share and not is_alone and len(lines[-1]) + 1 + len(texts[0]) <= WIDTH:
            lines[-1] += f" {texts[0]}"
            continue
        if member.number is not None:
            texts[0] += f"  // {member.number}"
        lines += [" " * indent + texts[0], *texts[1:]]
        can_share = not is_alone
    return lines
