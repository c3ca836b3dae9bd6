"""Options of transforms and predicates, searched by name and by text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.config.describe import Row

Found = Mapping[str, Sequence[Row]]
"""Options by the names of their transforms or predicates."""


def options_named(name: str) -> Found:
    """Return the transforms that have an option of this name."""
    return _where(lambda _, row: row.name == name.lower())


def options_with(text: str) -> Found:
    """Return the options that contain a text, and all options of the transforms whose name contains
    it."""
    lowered = text.lower()
    return _where(
        lambda transform, row: (
            lowered in transform.lower()
            or lowered in f"{row.name} {row.default} {row.values} {row.meaning}".lower()
        )
    )


def _where(applies: Callable[[str, Row], bool]) -> Found:
    from headrace.transforms.reference import options_of_all  # loads Numba

    chosen = {
        name: [row for row in rows if applies(name, row)] for name, rows in options_of_all().items()
    }
    return {name: rows for name, rows in chosen.items() if rows}
