"""Transforms of one's own, as Spark's workers find them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow.compute as pc

from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import values
from headrace.connect.records import Column, Node, Records, Shape, Struct
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import select, with_added
from headrace.errors import HeadraceError
from headrace.transforms.transform import Ordering, PerShape, transform


def _with_length(shape: Shape) -> tuple[Shape, Node, Column] | None:
    text = select(shape.value, "v")
    if text is None or not isinstance(shape.value, Struct):
        return None
    length = column_of(Schema(Type.INT32, optional=True))
    return replace(shape, value=with_added(shape.value, {"length": length})), text, length


_SHAPES = PerShape(_with_length)


@transform(ordering=Ordering.KEEPS_KEY)
def with_length(records: Records, options: Mapping[str, str]) -> Iterable[Records]:
    """Adds the length of `v`; refuses records whose `v` is the text of the option `refused`."""
    extended_shape = _SHAPES(records.shape)
    if extended_shape is None:
        return [records]
    shape, text, length = extended_shape
    texts = values(records, text)
    if options.get("refused") in texts.to_pylist():
        raise HeadraceError("own.refused", "v is refused", "Write something else.")
    return [with_values(records, length, pc.utf8_length(texts)).with_shape(shape)]
