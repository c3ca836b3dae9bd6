"""Common functions for the peculiarities of both stand-ins: selection by a seed, and display."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def coin_of(chance: random.Random) -> Callable[[Any, Any], Any]:
    """A function that returns one of two values, chosen at random by `chance`."""
    return lambda value, otherwise: value if chance.random() < 0.5 else otherwise


def shown(drawn: DataclassInstance) -> str:
    """Return the fields that differ from those of a stand-in without peculiarities, as text."""
    plain = type(drawn)()
    names = (field.name for field in fields(drawn) if field.name != "seed")
    different = [
        f"{name}={getattr(drawn, name)}"
        for name in names
        if getattr(drawn, name) != getattr(plain, name)
    ]
    return ", ".join(different) or "no peculiarities"
