"""Rebuilding of structs in Kafka Connect's transforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.connect.records import Node, Struct
from headrace.connect.trees import with_fields
from headrace.errors import HeadraceError


def rebuilt(struct: Struct, members: Sequence[tuple[str, Node]]) -> Struct:
    """Return the struct with these members: name, version, documentation and parameters of its
    schema stay; it is required and has no default.

    Raises HeadraceError("transforms.field_name_twice").
    """
    by_name = dict(members)
    if len(by_name) < len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise HeadraceError(
            "transforms.field_name_twice",
            f"a struct {struct.schema.name or ''} would have two fields {twice}",
            "Choose another name for one of them.",
        )
    result = with_fields(struct, by_name)
    return replace(result, schema=replace(result.schema, optional=False, default=None))
