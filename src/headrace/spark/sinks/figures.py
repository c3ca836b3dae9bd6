"""The figures of sinks in this process about their tables, by the ids of their queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Figures = Mapping[str, Mapping[str, Any]]
"""Figures by the name of a table."""
_figures: dict[str, Callable[[], Figures]] = {}


def publish(query: str, figures: Callable[[], Figures]) -> None:
    """Register `figures`, which returns the figures of a query's tables."""
    _figures[query] = figures


def withdraw(query: str) -> None:
    """Remove the query's figures."""
    _figures.pop(query, None)


def figures_of(query: str) -> Figures:
    """Return the figures of a query's tables; empty if its sink has none, or runs in another
    process."""
    answer = _figures.get(query)
    return {} if answer is None else answer()
