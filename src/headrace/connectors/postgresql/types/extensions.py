"""Types of extensions: hstore and pgvector's vector, halfvec and sparsevec."""

from __future__ import annotations

import re

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Field, Schema, Type
from headrace.connectors.postgresql.types import values
from headrace.connectors.postgresql.types.options import PostgresTypeOptions
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.debezium.java_collections import java_hash, java_order
from headrace.relational.types.declaration import Declaration, text_of
from headrace.relational.types.texts import refuse

_JSON = Schema(Type.STRING, name="io.debezium.data.Json", version=1)
_MAP = Schema(Type.MAP, keys=Schema(Type.STRING), values=Schema(Type.STRING, optional=True))


def hstore(_facts: TypeFacts, _typmod: int, options: PostgresTypeOptions) -> Declaration:
    """`hstore` as JSON text or as a map."""
    if options.hstore_handling_mode == "map":
        return Declaration(_MAP, Encoding.PYTHON, hstore_map, {}, unavailable=_placeholder_map)
    return Declaration(_JSON, Encoding.PYTHON, hstore_json, "{}", unavailable=_placeholder_json)


def _placeholder_map(placeholder: bytes) -> object:
    return {text_of(placeholder): text_of(placeholder)}


def _placeholder_json(placeholder: bytes) -> object:
    text = _quoted(text_of(placeholder))
    return f"{{{text}:{text}}}"


# "key"=>"value" or "key"=>NULL; quotes and backslashes have a backslash before them.
_PAIR = re.compile(
    r'"([^"\\]*(?:\\.[^"\\]*)*)"=>(?:"([^"\\]*(?:\\.[^"\\]*)*)"|NULL)(?:, (?=")|$)', re.DOTALL
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def hstore_map(raw: bytes) -> dict[str, str | None]:
    """The pairs, in the order of the Java map that Debezium has them in."""
    text = values.string(raw)
    pairs: dict[str, str | None] = {}
    place = 0
    while place < len(text):
        found = _PAIR.match(text, place)
        if found is None:
            refuse("hstore")
        value = found[2]
        pairs[_ESCAPE.sub(r"\1", found[1])] = None if value is None else _ESCAPE.sub(r"\1", value)
        place = found.end()
    return {key: pairs[key] for key in java_order(pairs, java_hash, 16)}


def hstore_json(raw: bytes) -> str:
    """The pairs as compact JSON text."""
    members = (
        f"{_quoted(key)}:{'null' if value is None else _quoted(value)}"
        for key, value in hstore_map(raw).items()
    )
    return "{" + ",".join(members) + "}"


_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def _quoted(text: str) -> str:
    """A JSON string as Jackson writes it into text (not bytes: nothing else is escaped)."""
    escaped = _ESCAPED.sub(lambda f: _SHORT.get(f[0]) or f"\\u{ord(f[0]):04X}", text)
    return f'"{escaped}"'


_DIMENSION = rb"-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,3})?"
_VECTOR = re.compile(rb"\[(%s(?:,%s)*)?\]" % (_DIMENSION, _DIMENSION))
_ENTRY = re.compile(rb"([0-9]{1,10}):(%s)" % _DIMENSION)
_SPARSE = re.compile(rb"\{([^{}]*)\}/([0-9]{1,10})")
_SHORT_MAX = 2**15 - 1


def _vector_numbers(text: bytes, type_name: str) -> list[bytes]:
    found = _VECTOR.fullmatch(text)
    if found is None:
        refuse(type_name)
    return found[1].split(b",") if found[1] else []


def vector(text: bytes) -> list[float]:
    """pgvector's `[1,2.5]`."""
    return [float(number) for number in _vector_numbers(text, "vector")]


def halfvec(text: bytes) -> list[float]:
    """pgvector's half-precision vector, its numbers as 32-bit ones."""
    with np.errstate(over="ignore"):
        return [float(np.float32(n.decode())) for n in _vector_numbers(text, "halfvec")]


def sparsevec(text: bytes) -> dict[str, object] | None:
    """pgvector's `{1:1.5,3:-2}/5`; None beyond the 32,767 dimensions that the schema can count."""
    found = _SPARSE.fullmatch(text)
    if found is None:
        refuse("sparsevec")
    pairs: dict[int, float] = {}
    for entry in found[1].split(b",") if found[1] else ():
        parts = _ENTRY.fullmatch(entry)
        if parts is None:
            refuse("sparsevec")
        pairs[int(parts[1])] = float(parts[2])
    dimensions = int(found[2])
    if max(dimensions, *pairs, 0) > _SHORT_MAX:
        return None
    capacity = 1 << max(len(pairs) - 1, 0).bit_length()
    ordered = java_order(pairs, int, capacity)
    return {"dimensions": dimensions, "vector": {key: pairs[key] for key in ordered}}


_SPARSE_SCHEMA = Schema(
    Type.STRUCT,
    name="io.debezium.data.SparseDoubleVector",
    version=1,
    doc="Sparse double vector",
    fields=(
        Field("dimensions", Schema(Type.INT16)),
        Field("vector", Schema(Type.MAP, keys=Schema(Type.INT16), values=Schema(Type.FLOAT64))),
    ),
)


def _vector_schema(kind: Type, name: str) -> Schema:
    return Schema(Type.ARRAY, name=f"io.debezium.data.{name}", version=1, values=Schema(kind))


VECTOR = Declaration(_vector_schema(Type.FLOAT64, "DoubleVector"), Encoding.PYTHON, vector, [])
HALFVEC = Declaration(_vector_schema(Type.FLOAT32, "FloatVector"), Encoding.PYTHON, halfvec, [])
SPARSEVEC = Declaration(_SPARSE_SCHEMA, Encoding.PYTHON, sparsevec, {"dimensions": 0, "vector": {}})
