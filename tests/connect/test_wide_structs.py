"""Structs of many fields, taken apart and put together."""

from __future__ import annotations

import time

import pytest

from headrace.connect.evaluation.layouts import Layout
from headrace.connect.records import Node
from headrace.connect.schema import Field, Schema, Type
from headrace.connect.trees import as_struct, member, select
from headrace.transforms.kafka.flatten import flattened


def row_of(count: int) -> Node:
    """A struct that may be null with so many fields."""
    fields = tuple(Field(f"c{n}", Schema(Type.INT8, optional=True)) for n in range(count))
    return Layout().node(Schema(Type.STRUCT, optional=True, fields=fields))


def seconds(count: int) -> float:
    """The CPU time of flattening one."""
    row = row_of(count)
    begun = time.process_time()
    assert len(list(flattened(row, "_", is_optional=True))) == count
    return time.process_time() - begun


def test_the_time_of_flattening_grows_with_the_fields_and_no_faster() -> None:
    fewer = min(seconds(1_000) for _ in range(3))
    # In quadratic time it is 256 times as long.
    assert min(seconds(16_000) for _ in range(2)) < 64 * fewer


def test_a_field_is_found_by_its_name_whatever_its_place() -> None:
    row = row_of(3)
    struct = as_struct(row)
    assert struct is not None
    for number in range(3):
        assert member(row, f"c{number}").schema is struct.members[number].schema
        cell = select(row, f"c{number}")
        assert cell is not None
        assert cell.node is struct.members[number]  # type: ignore[union-attr]
    assert select(row, "c3") is None
    with pytest.raises(KeyError):
        member(row, "c3")
