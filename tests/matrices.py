"""Tests with a matrix of parameters: `make test` has each value of every axis, `make chaos` every
combination of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def in_turn(first: Iterable[Any], *others: Iterable[Any]) -> list[ParameterSet]:
    """The parameters of all combinations; those of `make test` have each value of the first axis,
    the longest one, with one of every other axis in turn. A value that is a tuple is several
    parameters."""
    axes = [list(axis) for axis in (first, *others)]
    made = []
    for places in product(*(range(len(axis)) for axis in axes)):
        values = [axis[place] for axis, place in zip(axes, places, strict=True)]
        flat = [
            each for value in values for each in (value if isinstance(value, tuple) else [value])
        ]
        in_test = all(
            p == places[0] % len(axis) for p, axis in zip(places[1:], axes[1:], strict=True)
        )
        made.append(pytest.param(*flat, marks=[] if in_test else pytest.mark.chaos))
    return made
