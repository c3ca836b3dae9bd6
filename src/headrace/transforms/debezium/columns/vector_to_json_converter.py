"""VectorToJsonConverter: vectors as JSON texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.config.configuration import Configuration
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values, tombstones
from headrace.connect.records import Column, Node, Records, Shape, Struct
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import as_struct, fields, member, with_defaults, with_fields
from headrace.connect.values.float_texts import java_texts
from headrace.transforms.example import Example
from headrace.transforms.parts import RecordPart, not_a_struct
from headrace.transforms.transform import Declaration, Ordering, PerShape, passing

_DATA = "io.debezium.data"
_DOUBLES, _FLOATS = f"{_DATA}.DoubleVector", f"{_DATA}.FloatVector"
_SPARSE = f"{_DATA}.SparseDoubleVector"
_JSON = f"{_DATA}.Json"


class VectorToJsonConverterOptions(Configuration):
    """VectorToJsonConverter has no options."""


@dataclass(frozen=True)
class _Vector:
    """A vector, the column for its text, and the function that writes it."""

    node: Node
    column: Column
    texts: Callable[[Sequence[object]], list[str | None]]


class VectorToJsonConverter:
    """See DECLARATION. Vectors in arrays and maps are not converted, as in Debezium."""

    ordering = Ordering.KEEPS_KEY

    def __init__(self, _options: VectorToJsonConverterOptions) -> None:
        self._converted = PerShape(self._convert)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.not_a_struct")."""
        others = yield from passing(records, tombstones(records))
        if others is None:
            return
        records = others
        shape, vectors = self._converted(records.shape)
        for vector in vectors:
            texts = vector.texts(connect_values(records, vector.node))
            array = pa.array(texts, pa.large_string())
            records = with_values(records, vector.column, array)
        yield records.with_shape(shape)

    def _convert(self, shape: Shape) -> tuple[Shape, tuple[_Vector, ...]]:
        struct = as_struct(shape.value)
        if struct is None:
            kind = "null" if shape.value is None else shape.value.schema.type.value
            raise not_a_struct(RecordPart.VALUE, shape.topic, kind, "VectorToJsonConverter")
        vectors: list[_Vector] = []
        value = _converted(struct, vectors, struct)
        return replace(shape, value=value), tuple(vectors)


def _converted(struct: Struct, vectors: list[_Vector], around: Struct) -> Struct:
    """Replace vectors in a struct by texts; `around` is the same struct with guarded members. Its
    schema has no default, and nulls of its fields become their defaults, as in Debezium."""
    members: dict[str, Node] = {}
    for name, node in fields(struct).items():
        write = _WRITERS.get(node.schema.name or "")
        inner = as_struct(node)
        if write is not None:
            column = column_of(Schema(Type.STRING, node.schema.optional, _JSON, 1))
            vectors.append(_Vector(with_defaults(member(around, name)), column, write))
            members[name] = column
        elif inner is not None:
            lifted = as_struct(member(around, name))
            assert lifted is not None
            members[name] = _converted(inner, vectors, lifted)
        else:
            members[name] = with_defaults(node)
    converted = with_fields(struct, members)
    return replace(converted, schema=replace(converted.schema, default=None))


def _dense(kind: type[np.floating[Any]], vectors: Sequence[object]) -> list[str | None]:
    """The texts of vectors; the numbers of all vectors are written at once."""
    texts = iter(_numbers(kind, [vector for vector in vectors if isinstance(vector, list | tuple)]))
    return [
        f'{{ "values": [{", ".join(islice(texts, len(vector)))}] }}'
        if isinstance(vector, list | tuple)
        else None
        for vector in vectors
    ]


def _sparse(vectors: Sequence[object]) -> list[str | None]:
    entries = [
        sorted(vector["vector"].items()) for vector in vectors if isinstance(vector, Mapping)
    ]
    values = [[value for _, value in pairs_of_vector] for pairs_of_vector in entries]
    numbers, left = iter(_numbers(np.float64, values)), iter(entries)
    converted: list[str | None] = []
    for vector in vectors:
        if not isinstance(vector, Mapping):
            converted.append(None)
            continue
        pairs = next(left)
        texts = zip(pairs, islice(numbers, len(pairs)), strict=True)
        members = ", ".join([f'"{place}": {text}' for (place, _), text in texts])
        converted.append(f'{{ "dimensions": {vector["dimensions"]}, "vector": {{ {members} }} }}')
    return converted


def _numbers(kind: type[np.floating[Any]], vectors: Sequence[Sequence[object]]) -> Iterator[str]:
    """The texts of the numbers of vectors, one after the other."""
    values = list(chain.from_iterable(vectors))
    numbers = [value for value in values if value is not None]
    with np.errstate(over="ignore"):
        texts = iter(java_texts(np.array(numbers, kind)))
    return ("null" if value is None else next(texts) for value in values)


_WRITERS: dict[str, Callable[[Sequence[object]], list[str | None]]] = {
    _DOUBLES: partial(_dense, np.float64),
    _FLOATS: partial(_dense, np.float32),
    _SPARSE: _sparse,
}
"""The functions that write vectors, by the name of the schema."""

DECLARATION = Declaration(
    "VectorToJsonConverter",
    "Replaces vectors (`vector`, `halfvec` and `sparsevec` of pgvector) by JSON texts. A dense "
    'vector becomes `{ "values": [1.0, 2.0] }`, and a sparse one `{ "dimensions": 9, "vector": '
    '{ "3": 1.0 } }`. Vectors in arrays and maps do not change. A record whose value is not '
    "a struct is an error.",
    VectorToJsonConverterOptions,
    VectorToJsonConverter,
    example=Example(
        {"id": 1, "embedding": [1.5, -2.0]},
        {},
        key={"id": 1},
        topic="s.items",
        names={"value.embedding": _DOUBLES},
    ),
)
