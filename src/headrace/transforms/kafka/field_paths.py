"""Paths to fields, in Kafka Connect's syntax V2."""

from __future__ import annotations

from headrace.connect.records import Node
from headrace.connect.schema import Type
from headrace.connect.trees import member


def parse_path(text: str) -> tuple[str, ...]:
    """Return the names of a path: dots separate them, backticks around a name keep its dots.

    A backslash before a backtick makes it part of the name. Raises ValueError for an unpaired
    backtick.
    """
    names = []
    place = 0
    while True:
        name, place = _name(text, place)
        names.append(name)
        if place >= len(text):
            return tuple(names)
        place += 1  # the dot
        if place == len(text):
            return (*names, "")


def _name(text: str, place: int) -> tuple[str, int]:
    """Return the name that begins here, and its end."""
    if text.startswith("`", place):
        end = place + 1
        while (end := text.find("`", end)) >= 0:
            closes = end + 1 == len(text) or text[end + 1] == "."
            if closes and text[end - 1] != "\\":
                return text[place + 1 : end].replace("\\`", "`"), end + 1
            end += 1
        raise ValueError(f"the backtick at {place} has no other one")
    end = text.find(".", place)
    end = len(text) if end < 0 else end
    return text[place:end].replace("\\`", "`"), end


def node_at(node: Node, names: tuple[str, ...]) -> Node | None:
    """Return the node at a path inside a struct; None if it does not exist."""
    for name in names:
        described = node.schema
        if described.type is not Type.STRUCT or all(f.name != name for f in described.fields):
            return None
        node = member(node, name)
    return node


def value_at(value: object, names: tuple[str, ...]) -> object:
    """Return the value at a path inside maps; None if it does not exist."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
