"""Schemas and strategies of their values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from headrace.connect.schema import DECIMAL, Field, Schema, Type

DECIMALS = Schema(Type.BYTES, name=DECIMAL, version=1, parameters=(("scale", "3"),))

SCALARS = [
    (Schema(Type.INT8), st.integers(-128, 127)),
    (Schema(Type.INT16), st.integers(-(1 << 15), (1 << 15) - 1)),
    (Schema(Type.INT32), st.integers(-(1 << 31), (1 << 31) - 1)),
    (Schema(Type.INT64), st.integers(-(1 << 63), (1 << 63) - 1)),
    (Schema(Type.FLOAT64), st.floats(allow_nan=False)),
    (Schema(Type.FLOAT32), st.floats(width=32, allow_nan=False)),
    (Schema(Type.BOOLEAN), st.booleans()),
    (Schema(Type.STRING), st.text(st.characters(exclude_categories=["Cs"]))),
    (Schema(Type.BYTES), st.binary()),
    (DECIMALS, st.integers(-(10**24), 10**24).map(lambda n: Decimal(n).scaleb(-3))),
    (Schema(Type.ARRAY, values=Schema(Type.STRING)), st.lists(st.text("ab\"\\"), max_size=3)),
    (
        Schema(Type.MAP, keys=Schema(Type.STRING), values=Schema(Type.INT32)),
        st.dictionaries(st.text("xy", max_size=2), st.integers(0, 9), max_size=2),
    ),
]  # fmt: skip


NAMES = st.text(min_size=1, max_size=4)


@st.composite
def trees(
    draw: st.DrawFn, depth: int = 0, names: st.SearchStrategy[str] = NAMES
) -> tuple[Schema, Any]:
    """A schema, and a strategy of its values; structs have members with these names."""
    if depth == 3 or (depth > 0 and draw(st.integers(0, 3))):
        schema, values = draw(st.sampled_from(SCALARS))
    else:
        chosen = draw(st.lists(names, unique=True, max_size=4))
        inner = [draw(trees(depth + 1, names)) for _ in chosen]
        fields = tuple(Field(n, s) for n, (s, _) in zip(chosen, inner, strict=True))
        number = draw(st.integers(0, 10**9))
        schema = Schema(Type.STRUCT, name=f"s.Value{number}", fields=fields)
        values = st.fixed_dictionaries(dict(zip(chosen, (v for _, v in inner), strict=True)))
    if depth and draw(st.booleans()):
        return schema.as_optional(), st.none() | values
    return schema, values
