"""What the peculiarities of both stand-ins share: how a seed draws them, and how they are shown."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def coin_of(chance: random.Random) -> Callable[[Any, Any], Any]:
    """A function that returns either of two values, as `chance` has it."""
    return lambda value, otherwise: value if chance.random() < 0.5 else otherwise


def shown(drawn: DataclassInstance) -> str:
    """The fields that differ from those of a stand-in without peculiarities."""
    plain = type(drawn)()
    names = (field.name for field in fields(drawn) if field.name != "seed")
    different = [
        f"{name}={getattr(drawn, name)}"
        for name in names
        if getattr(drawn, name) != getattr(plain, name)
    ]
    return ", ".join(different) or "no peculiarities"
