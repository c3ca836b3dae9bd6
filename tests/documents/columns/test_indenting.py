"""Texts indented as BSON's Java library does it."""

from __future__ import annotations

import json
import re

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headrace.documents.columns.indenting import indented

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]|[^"{}\[\],]+', re.DOTALL)
_TEXTS = st.text(st.sampled_from('a"\\{}[], \né😀'), max_size=6)
_VALUES = st.recursive(
    st.none() | st.integers() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


def _plainly(text: str) -> str:
    """One text, token by token."""
    out: list[str] = []
    depth = 0
    tokens = _TOKENS.findall(text)
    for i, token in enumerate(tokens):
        if token in "}]":
            depth -= 1
            out.append(token if tokens[i - 1] in "{[" else "\n" + "  " * depth + token)
            continue
        depth += token in "{["
        out.append(token)
        if token == "," or (token in "{[" and tokens[i + 1] not in "}]"):
            out.append("\n" + "  " * depth)
    return "".join(out)


@given(st.lists(st.dictionaries(_TEXTS, _VALUES, max_size=4), max_size=4))
def test_texts_are_indented_as_one_by_one(documents: list[dict[str, object]]) -> None:
    separators = (",", ": ")
    texts = [json.dumps(each, ensure_ascii=False, separators=separators) for each in documents]
    assert indented(pa.array(texts, pa.string())).to_pylist() == [_plainly(t) for t in texts]


def test_a_part_of_an_array_is_indented_by_itself() -> None:
    texts = pa.array(['{"x":[1]}', '{"a":{}}', '{"b":[2,3]}'])
    assert indented(texts.slice(1)).to_pylist() == [
        '{\n  "a":{}\n}',
        '{\n  "b":[\n    2,\n    3\n  ]\n}',
    ]
