"""Members of stored JSON objects: an offset may have been edited by hand, so they are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from headrace.errors import HeadraceError

_Item = TypeVar("_Item")

LARGEST_PLACE = (1 << 128) - 1
"""The largest place of positions in a log."""
LARGEST_COUNT = (1 << 63) - 1


@contextmanager
def reading(data: object) -> Iterator[None]:
    """Turn any error inside the block, which reads `data`, an offset or a part of one, into
    HeadraceError("offset.broken")."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise HeadraceError(
            "offset.broken",
            f"The checkpoint holds no headrace offset: {str(data)[:200]} ({why})",
            "Use a checkpoint folder that this source wrote, or an empty one.",
        ) from None


def number(
    data: Mapping[str, Any], name: str, *default: int, least: int = 0, most: int = LARGEST_COUNT
) -> int:
    """Return the member `name`, a whole number. Raises KeyError if it is missing and has no
    default, and ValueError, like the other functions here."""
    value = data.get(name, *default) if default else data[name]
    return checked_number(value, name, least=least, most=most)


def checked_number(value: object, name: str, *, least: int = 0, most: int = LARGEST_COUNT) -> int:
    """Return `value`, a whole number. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} is not a number from {least} to {most}")
    return value


def optional_number(
    data: Mapping[str, Any], name: str, *, least: int = 0, most: int = LARGEST_COUNT
) -> int | None:
    """Return the member `name`, a whole number; None if it is null or missing."""
    return None if data.get(name) is None else number(data, name, least=least, most=most)


def text(data: Mapping[str, Any], name: str, *default: str) -> str:
    """Return the member `name`, a text."""
    value = data.get(name, *default) if default else data[name]
    return checked_text(value, name)


def checked_text(value: object, name: str) -> str:
    """Return `value`, a text. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value


def optional_text(value: object, name: str) -> str | None:
    """Return `value`, a text or null. Raises ValueError."""
    return None if value is None else checked_text(value, name)


def mapping(value: object, name: str) -> dict[str, Any]:
    """Return `value`, a JSON object. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not a JSON object")
    return value


def items(
    data: Mapping[str, Any], name: str, read: Callable[[Any], _Item], *, required: bool = False
) -> tuple[_Item, ...]:
    """Return the member `name`, a list, with `read` applied to each element; empty if it is
    missing."""
    return listed(data[name] if required else data.get(name, []), name, read)


def listed(value: object, name: str, read: Callable[[Any], _Item]) -> tuple[_Item, ...]:
    """Return `value`, a list, with `read` applied to each element. Raises ValueError, and as
    `read`."""
    if not isinstance(value, list):
        raise ValueError(f"{name} is not a list")
    return tuple(read(entry) for entry in value)
