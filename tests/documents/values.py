"""BSON values and documents for property tests."""

from __future__ import annotations

import uuid

import bson
from bson.code import Code
from bson.dbref import DBRef
from bson.regex import Regex
from hypothesis import strategies as st

from tests.documents.plain_bson import Pointer, Symbol, Undefined

texts = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(max_codepoint=127), max_size=40),
    st.text('aé"\\\n\x7f\u0301ーの😀', max_size=40),
)
names = texts.map(lambda text: text.replace("\0", "-"))


def decimal128(raw: bytes) -> bson.Decimal128:
    """Any 16 bytes whose coefficient has at most 34 digits, as pymongo reads them."""
    high = int.from_bytes(raw[8:], "little")
    high &= ~(1 << 48)  # coefficients below 2**112, which is below 10**34
    return bson.Decimal128.from_bid(raw[:8] + high.to_bytes(8, "little"))


# What pymongo encodes.
encodable_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(-(10**6), 10**6).map(lambda n: n / 100),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1).map(bson.Int64),
    texts,
    st.binary(max_size=40),
    st.builds(bson.Binary, st.binary(max_size=20), st.integers(0, 255)),
    st.binary(min_size=16, max_size=16).map(lambda raw: uuid.UUID(bytes=raw)),
    st.binary(min_size=12, max_size=12).map(bson.ObjectId),
    st.datetimes().map(lambda d: d.replace(microsecond=d.microsecond // 1000 * 1000)),
    st.integers(-(2**63), 2**63 - 1).map(bson.DatetimeMS),
    st.builds(Regex, names, st.sampled_from([0, 2, 8, 2 | 8 | 64, 126])),
    texts.map(Code),
    st.builds(bson.Timestamp, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)),
    st.binary(min_size=16, max_size=16).map(decimal128),
    st.builds(
        lambda digits, exponent: bson.Decimal128(f"{digits}E{exponent}"),
        st.integers(-(10**20), 10**20),
        st.integers(-40, 20),
    ),
    st.sampled_from([bson.MinKey(), bson.MaxKey()]),
    st.builds(DBRef, names, st.integers(0, 99), st.none() | names),
)
scalars = encodable_scalars | st.one_of(
    st.just(Undefined()),
    st.builds(Symbol, texts),
    st.builds(Pointer, names, st.binary(min_size=12, max_size=12).map(bson.ObjectId)),
)


def _nested(leaves: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=5),
            st.dictionaries(names, inner, max_size=5),
            st.builds(Code, texts, st.dictionaries(names, inner, max_size=3)),
        ),
        max_leaves=12,
    )


values = _nested(scalars)
encodable_values = _nested(encodable_scalars)
documents = st.dictionaries(names, values, max_size=8)
encodable_documents = st.dictionaries(names, encodable_values, max_size=8)
