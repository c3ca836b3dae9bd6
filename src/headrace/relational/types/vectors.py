"""Vectors of numbers as Debezium's DoubleVector, FloatVector and SparseDoubleVector.

headrace's text of a vector is `[1,2.5]`, that of a sparse one `{1:1.5,3:-2}/5`: numbers by index,
and the number of dimensions.
"""

from __future__ import annotations

import re

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.java_collections import java_order
from headrace.relational.types.declaration import TypeDeclaration
from headrace.relational.types.texts import refuse

_DIMENSION = rb"-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,3})?"
_VECTOR = re.compile(rb"\[(%s(?:,%s)*)?\]" % (_DIMENSION, _DIMENSION))
_ENTRY = re.compile(rb"([0-9]{1,10}):(%s)" % _DIMENSION)
_SPARSE = re.compile(rb"\{([^{}]*)\}/([0-9]{1,10})")
_SHORT_MAX = 2**15 - 1


def _numbers(text: bytes) -> list[bytes]:
    vector = _VECTOR.fullmatch(text)
    if vector is None:
        refuse("vector")
    return vector[1].split(b",") if vector[1] else []


def double_vector(text: bytes) -> list[float]:
    """`[1,2.5]`."""
    return [float(number) for number in _numbers(text)]


def float_vector(text: bytes) -> list[float]:
    """`[1,2.5]`, its numbers as 32-bit ones."""
    with np.errstate(over="ignore"):
        return [float(np.float32(number.decode())) for number in _numbers(text)]


def sparse_vector(text: bytes) -> dict[str, object] | None:
    """Decode `{1:1.5,3:-2}/5`; None beyond the 32,767 dimensions that the schema can count."""
    match = _SPARSE.fullmatch(text)
    if match is None:
        refuse("sparse vector")
    pairs: dict[int, float] = {}
    for entry in match[1].split(b",") if match[1] else ():
        parts = _ENTRY.fullmatch(entry)
        if parts is None:
            refuse("sparse vector")
        pairs[int(parts[1])] = float(parts[2])
    dimensions = int(match[2])
    if max(dimensions, *pairs, 0) > _SHORT_MAX:
        return None
    capacity = 1 << max(len(pairs) - 1, 0).bit_length()
    ordered = java_order(pairs, int, capacity)
    return {"dimensions": dimensions, "vector": {key: pairs[key] for key in ordered}}


SPARSE_VECTOR_SCHEMA = Schema(
    Type.STRUCT,
    name="io.debezium.data.SparseDoubleVector",
    version=1,
    doc="Sparse double vector",
    fields=(
        Field("dimensions", Schema(Type.INT16)),
        Field("vector", Schema(Type.MAP, keys=Schema(Type.INT16), values=Schema(Type.FLOAT64))),
    ),
)


def _schema(kind: Type, name: str) -> Schema:
    return Schema(Type.ARRAY, name=f"io.debezium.data.{name}", version=1, values=Schema(kind))


DOUBLE_VECTOR = TypeDeclaration(
    _schema(Type.FLOAT64, "DoubleVector"), Encoding.PYTHON, double_vector, []
)
FLOAT_VECTOR = TypeDeclaration(
    _schema(Type.FLOAT32, "FloatVector"), Encoding.PYTHON, float_vector, []
)
SPARSE_VECTOR = TypeDeclaration(
    SPARSE_VECTOR_SCHEMA, Encoding.PYTHON, sparse_vector, {"dimensions": 0, "vector": {}}
)
