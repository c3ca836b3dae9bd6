"""VectorToJsonConverter: vectors as JSON texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from headrace.config.configuration import Configuration
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values, tombstones
from headrace.connect.java_numbers import java_double, java_float
from headrace.connect.records import Column, Node, Records, Shape, Struct
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import as_struct, fields, member, with_defaults, with_fields
from headrace.transforms.example import Example
from headrace.transforms.parts import Part, not_a_struct
from headrace.transforms.transform import Declaration, Ordering, PerShape

_DATA = "io.debezium.data"
_DOUBLES, _FLOATS = f"{_DATA}.DoubleVector", f"{_DATA}.FloatVector"
_SPARSE = f"{_DATA}.SparseDoubleVector"
_JSON = f"{_DATA}.Json"


class VectorToJsonConverterOptions(Configuration):
    """VectorToJsonConverter has no options."""


@dataclass(frozen=True)
class _Vector:
    """A vector, the column that takes its text, and what writes it."""

    node: Node
    column: Column
    text: Callable[[object], str | None]


class VectorToJsonConverter:
    """See DECLARATION. Vectors in arrays and maps stay, as they do in Debezium."""

    ordering = Ordering.KEEPS_KEY

    def __init__(self, _options: VectorToJsonConverterOptions) -> None:
        self._converted = PerShape(self._convert)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.not_a_struct")."""
        absent = tombstones(records)
        if absent.any():
            yield records.with_rows(absent)
            records = records.with_rows(~absent)
            if not len(records):
                return
        shape, vectors = self._converted(records.shape)
        for vector in vectors:
            # Rows repeat vectors: the text of each is written once.
            texts = [vector.text(each) for each in connect_values(records, vector.node)]
            records = with_values(records, vector.column, texts)
        yield records.with_shape(shape)

    def _convert(self, shape: Shape) -> tuple[Shape, tuple[_Vector, ...]]:
        struct = as_struct(shape.value)
        if struct is None:
            kind = "null" if shape.value is None else shape.value.schema.type.value
            raise not_a_struct(Part.VALUE, shape.topic, kind, "VectorToJsonConverter")
        vectors: list[_Vector] = []
        value = _converted(struct, vectors, struct)
        return replace(shape, value=value), tuple(vectors)


def _converted(struct: Struct, vectors: list[_Vector], around: Struct) -> Struct:
    """The struct with texts in place of vectors; `around` is the same struct, fit to select from.
    Its schema has no default, and nulls of its fields are their defaults, as in Debezium."""
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
    made = with_fields(struct, members)
    return replace(made, schema=replace(made.schema, default=None))


def _dense(shown: Callable[[float], str], vector: object) -> str | None:
    if not isinstance(vector, list | tuple):
        return None
    return f'{{ "values": [{", ".join(_number(shown, each) for each in vector)}] }}'


def _number(shown: Callable[[float], str], value: object) -> str:
    return "null" if value is None else shown(float(value))  # type: ignore[arg-type]


def _sparse(vector: object) -> str | None:
    if not isinstance(vector, Mapping):
        return None
    entries = sorted(vector["vector"].items())
    shown = ", ".join(f'"{place}": {_number(java_double, value)}' for place, value in entries)
    return f'{{ "dimensions": {vector["dimensions"]}, "vector": {{ {shown} }} }}'


_WRITERS: dict[str, Callable[[object], str | None]] = {
    _DOUBLES: partial(_dense, java_double),
    _FLOATS: partial(_dense, java_float),
    _SPARSE: _sparse,
}
"""What writes the vectors of a schema, by its name."""

DECLARATION = Declaration(
    "VectorToJsonConverter",
    'Converts vectors (pgvector\'s vector, halfvec and sparsevec) to JSON texts: `{ "values": '
    '[1.0, 2.0] }`, and `{ "dimensions": 9, "vector": { "3": 1.0 } }` of a sparse one. Vectors in '
    "arrays and maps stay. A value that is no struct is an error.",
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
