"""The figures of sinks in this process about their tables, by the ids of their queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Figures = Mapping[str, Mapping[str, Any]]
"""By the name of a table."""
_figures: dict[str, Callable[[], Figures]] = {}


def publish(query: str, figures: Callable[[], Figures]) -> None:
    """From now on `figures` returns the figures of a query's tables."""
    _figures[query] = figures


def withdraw(query: str) -> None:
    """Nobody answers for the query any more."""
    _figures.pop(query, None)


def figures_of(query: str) -> Figures:
    """The figures of a query's tables; empty where its sink has none, or runs elsewhere."""
    answer = _figures.get(query)
    return {} if answer is None else answer()
