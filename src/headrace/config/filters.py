"""Include and exclude lists of names."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.config.regex import compile_java_regex


class NameFilter:
    """Debezium's pair of lists: each expression must match the whole name, in any case.

    Names are `schema`, `schema.table` or `schema.table.column`. An empty include list takes
    every name; a name on the exclude list is never taken.
    """

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        """Raises ValueError for a bad expression (a parsed configuration holds none)."""
        self.include = tuple(include)
        self.exclude = tuple(exclude)
        self._include = [compile_java_regex(text) for text in include]
        self._exclude = [compile_java_regex(text) for text in exclude]

    def accepts(self, name: str) -> bool:
        """Whether the lists take `name`."""
        if any(pattern.fullmatch(name) for pattern in self._exclude):
            return False
        return not self._include or any(pattern.fullmatch(name) for pattern in self._include)

    def position(self, name: str) -> int:
        """Index of the first include expression that matches; their number when none does.

        The initial snapshot reads tables in this order, then by name.
        """
        for index, pattern in enumerate(self._include):
            if pattern.fullmatch(name):
                return index
        return len(self._include)

    def __repr__(self) -> str:
        return f"NameFilter(include={self.include!r}, exclude={self.exclude!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return NameFilter, (self.include, self.exclude)
