"""Include and exclude lists of names."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.config.regex import Expression, compile_java_regex


class NameFilter:
    """Debezium's include and exclude lists: each expression must match the whole name, in any case.

    Names are `schema`, `schema.table` or `schema.table.column`. An empty include list accepts every
    name; a name on the exclude list is never accepted. `qualifier` (a database and a dot) may
    precede each name, and must if `qualifies` is true.
    """

    def __init__(
        self,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        qualifier: str = "",
        *,
        qualifies: bool = False,
    ) -> None:
        """Raises ValueError for an invalid expression (a parsed configuration has none)."""
        self.include = tuple(include)
        self.exclude = tuple(exclude)
        self._qualifier, self._qualifies = qualifier, qualifies
        self._include = [compile_java_regex(text) for text in include]
        self._exclude = [compile_java_regex(text) for text in exclude]

    def accepts(self, name: str) -> bool:
        """Return whether the lists accept `name`."""
        if any(self._fits(pattern, name) for pattern in self._exclude):
            return False
        return not self._include or any(self._fits(pattern, name) for pattern in self._include)

    def _fits(self, pattern: Expression, name: str) -> bool:
        if not self._qualifies and pattern.fullmatch(name):
            return True
        return bool(self._qualifier and pattern.fullmatch(self._qualifier + name))

    def position(self, name: str) -> int:
        """Return the index of the first include expression that matches; their number if none does.

        The initial snapshot reads tables in this order, then by name.
        """
        for index, pattern in enumerate(self._include):
            if self._fits(pattern, name):
                return index
        return len(self._include)

    def __repr__(self) -> str:
        return f"NameFilter(include={self.include!r}, exclude={self.exclude!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return _made, (self.include, self.exclude, self._qualifier, self._qualifies)


def _made(
    include: Sequence[str], exclude: Sequence[str], qualifier: str, qualifies: bool
) -> NameFilter:
    return NameFilter(include, exclude, qualifier, qualifies=qualifies)
