"""Stages that users put into the change stream (`cursor.pipeline`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.connectors.mongodb.properties.json_texts import sendable

NEEDED = ("_id", "ns", "operationType", "documentKey")
"""The members that every event must keep; `_id` is its resume token."""


def parse_stages(text: str) -> str:
    """Return `text`, if it is an array of stages that preserve NEEDED. Raises ValueError."""
    stages = sendable(text)
    if not isinstance(stages, list):
        raise ValueError("it is not an array")
    for stage in stages:
        if not isinstance(stage, dict) or len(stage) != 1 or not next(iter(stage)).startswith("$"):
            raise ValueError("a stage is a document with one member, whose name begins with $")
        ((operator, body),) = stage.items()
        lost = next(_lost(operator, body), None)
        if lost is not None:
            raise ValueError(
                f"{operator} changes or leaves out {lost}, which every event must keep"
            )
    return text


def _lost(operator: str, body: Any) -> Iterator[str]:
    """The members that a stage removes or changes, as far as its text shows; the server detects the
    rest."""
    match operator, body:
        case "$unset", str() | list():
            names = [body] if isinstance(body, str) else body
            yield from (_top(name) for name in names if _top(name) in NEEDED)
        case (("$set" | "$addFields"), {"_id": _}):
            yield "_id"
        case "$project", dict(fields):
            yield from _projected_away(fields)
        case "$replaceRoot", {"newRoot": dict(root)}:
            yield from _replaced(root)
        case "$replaceWith", dict(root):
            yield from _replaced(root)


def _projected_away(fields: Mapping[str, Any]) -> Iterator[str]:
    included = {_top(name) for name, value in fields.items() if not _is_no(value)}
    gone = {_top(name) for name, value in fields.items() if _is_no(value)}
    if "_id" in gone or ("_id" in fields and not _is_yes(fields["_id"])):
        yield "_id"
    names = NEEDED[1:]
    yield from (
        name for name in names if (name not in included if included - {"_id"} else name in gone)
    )


def _replaced(root: Mapping[str, Any]) -> Iterator[str]:
    if any(name.startswith("$") for name in root):
        return  # an expression: $mergeObjects, for example
    yield from (name for name in NEEDED if name not in root)
    if root.get("_id") != "$_id":
        yield "_id"


def _top(name: object) -> str:
    return str(name).partition(".")[0]


def _is_no(value: object) -> bool:
    return value is False or (isinstance(value, (int, float)) and value == 0)


def _is_yes(value: object) -> bool:
    return value is True or (isinstance(value, (int, float)) and value != 0)
