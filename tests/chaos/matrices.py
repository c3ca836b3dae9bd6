"""Tests with a matrix of parameters: `make test` has each value of every axis, `make chaos` the
other combinations."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def in_turn(first: Iterable[Any], *others: Iterable[Any]) -> list[ParameterSet]:
    """The parameters of all combinations; those of `make test` have each value of the first axis,
    the longest one, with one of every other axis in turn. A value that is a list, or
    comes with an id, is several parameters."""
    axes = [list(axis) for axis in (first, *others)]
    assert all(len(axis) <= len(axes[0]) for axis in axes)
    parameter_sets = []
    for places in product(*(range(len(axis)) for axis in axes)):
        values = [axis[place] for axis, place in zip(axes, places, strict=True)]
        flat = [each for value in values for each in _several(value)]
        in_test = all(
            place == places[0] % len(axis) for place, axis in zip(places, axes, strict=True)
        )
        parameter_sets.append(pytest.param(*flat, marks=[] if in_test else pytest.mark.chaos))
    return parameter_sets


def _several(value: Any) -> Iterable[Any]:
    if isinstance(value, ParameterSet):
        return value.values
    return value if isinstance(value, list) else [value]
