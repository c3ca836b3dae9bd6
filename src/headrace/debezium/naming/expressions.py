"""Regular expressions over names, with the operations that Debezium's properties need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol


class WholeMatch(Protocol):
    """Tests whether an expression matches a whole name."""

    def fullmatch(self, text: str, /) -> object:
        """Return a true value if it matches."""
        ...


class Substitution(WholeMatch, Protocol):
    """Replaces the first match of an expression in a name."""

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The numbers of the named groups."""
        ...

    def replaced(self, text: str, replacement: Callable[[Sequence[str]], str], /) -> str:
        """Return the name with its first match replaced by the result of `replacement`, which is
        called with the groups, the first of which is the whole match."""
        ...
