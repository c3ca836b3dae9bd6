"""Booleans, integers and floating-point numbers, the same in every mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.relational.types import texts
from headrace.relational.types.declaration import TypeDeclaration, no_placeholder, signed_bytes


def _signed(
    kind: Type, size: int, array: Callable[[bytes], object] = no_placeholder
) -> TypeDeclaration:
    """A signed integer of `size` bytes."""
    bound = 1 << (8 * size - 1)
    decoder = partial(texts.integer, low=-bound, high=bound - 1)
    return TypeDeclaration(
        Schema(kind), Encoding.RAW, decoder, 0, parameter=size, unavailable_array=array
    )


BOOLEAN = TypeDeclaration(Schema(Type.BOOLEAN), Encoding.BOOLEAN, texts.boolean, False)
INT8 = _signed(Type.INT8, 1)
INT16 = _signed(Type.INT16, 2)
INT32 = _signed(Type.INT32, 4, signed_bytes)
INT64 = _signed(Type.INT64, 8, signed_bytes)
UINT32 = TypeDeclaration(
    Schema(Type.INT64), Encoding.RAW, partial(texts.integer, low=0, high=2**32 - 1), 0, parameter=-4
)
"""Unsigned 32-bit integer as an int64, because Connect has no unsigned numbers."""
FLOAT32 = TypeDeclaration(Schema(Type.FLOAT32), Encoding.FLOAT, texts.single, 0.0)
FLOAT64 = TypeDeclaration(Schema(Type.FLOAT64), Encoding.DOUBLE, texts.double, 0.0)
