"""Regular expressions over names, as far as what Debezium does with them needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol


class WholeMatch(Protocol):
    """Says whether it matches all of a name."""

    def fullmatch(self, text: str, /) -> object:
        """Something true when it does."""
        ...


class Substitution(WholeMatch, Protocol):
    """Replaces its first match in a name."""

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The numbers of its groups with a name."""
        ...

    def replaced(self, text: str, replacement: Callable[[Sequence[str]], str], /) -> str:
        """The name with what `replacement` makes of the groups, the first of which is the match."""
        ...
