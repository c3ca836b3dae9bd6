"""The parts of a program whose text is the same in all rows of a transaction."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.connect.records import Image
from headrace.converters import instructions as code
from headrace.converters.program import Span

_A, _B, _C = (word // 8 for word in (code.A, code.B, code.C))
_OF_IMAGE = (code.CELL, code.STRUCT, code.PRESENCE)
_MADE_AGAIN = 2
"""The fewest numbers that make a part worth keeping: they are printed once per transaction
anyway."""

Jump = tuple[int, int, int]
"""See Assembler.jumps."""


def transaction_parts(instructions: Sequence[Sequence[int]], jumps: Sequence[Jump]) -> list[Span]:
    """The longest parts of a program that are worth keeping, in order. Jumps enter a part only at
    its beginning, and leave it only to its end."""
    ends = {at: target for at, _, target in jumps}
    parts = []
    first = 0
    while first < len(instructions):
        last = first
        while last < len(instructions) and _is_of_transaction(instructions[last]):
            last += 1
        last = _closed(first, last, ends)
        if _is_worth_it(instructions[first:last]):
            parts.append((first, last))
        first = max(last, first + 1)
    return parts


def _is_of_transaction(words: Sequence[int]) -> bool:
    if words[0] in _OF_IMAGE:
        return words[_A] == Image.TRANSACTION
    # A number that removes the bytes before it is a part of a text.
    return words[0] == code.TRANSACTION_INT and words[_B] == 0 and words[_C] == 0


def _closed(first: int, last: int, ends: dict[int, int]) -> int:
    """The end of the longest part from `first` on, up to `last`, that no jump crosses."""
    while last > first:
        out = [at for at, target in ends.items() if first <= at < last and target > last]
        into = [
            target
            for at, target in ends.items()
            if first < target < last and not first <= at < last
        ]
        if not out and not into:
            break
        last = min(*out, *into, last)
    return last


def _is_worth_it(part: Sequence[Sequence[int]]) -> bool:
    return any(words[0] == code.CELL for words in part) or (
        sum(words[0] == code.TRANSACTION_INT for words in part) >= _MADE_AGAIN
    )
