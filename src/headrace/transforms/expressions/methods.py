"""Methods that expressions may call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.config.regex import (
    Expression,
    Use,
    compile_java_regex,
    compile_java_replacement,
)
from headrace.transforms.expressions.comparison import is_beyond_basic
from headrace.transforms.expressions.operands import each_distinct
from headrace.transforms.expressions.tree import ScalarKind

Replacement = Callable[[Sequence[str]], str]
TextMethod = Callable[..., pa.Array]
_JAVA_SPACE = "".join(map(chr, range(0x21)))


@dataclass(frozen=True)
class Method:
    """A method: the number of its constant arguments, and its function on texts. `any_kind`:
    constants that are not texts are allowed. `of_texts` is None if texts do not have the method."""

    arguments: int
    of_texts: TextMethod | None
    kind: ScalarKind
    any_kind: bool = False


def _length(texts: pa.Array) -> pa.Array:
    if is_beyond_basic(texts):
        return each_distinct(texts, lambda text: len(text.encode("utf-16-le")) // 2, pa.int32())
    return pc.utf8_length(texts).cast(pa.int32())


def _is_ascii(texts: pa.Array) -> bool:
    data = texts.buffers()[2]
    return data is None or not bool((np.frombuffer(data, np.uint8) >= 128).any())


def _upper(texts: pa.Array) -> pa.Array:
    if _is_ascii(texts):
        return pc.ascii_upper(texts)
    return each_distinct(texts, str.upper, texts.type)


def _lower(texts: pa.Array) -> pa.Array:
    if _is_ascii(texts):
        return pc.ascii_lower(texts)
    return each_distinct(texts, str.lower, texts.type)


def _equals_ignore_case(texts: pa.Array, other: str) -> pa.Array:
    def folded(text: str) -> str:
        return "".join(c.upper().lower() if len(c.upper()) == 1 else c for c in text)

    return each_distinct(texts, lambda text: folded(text) == folded(other), pa.bool_())


@lru_cache(maxsize=256)
def _replacing(pattern: str, replacement: str) -> tuple[Expression, Replacement]:
    expression = compile_java_regex(pattern, case_matters=True, use=Use.TEXTS)
    return expression, compile_java_replacement(replacement, expression)


def _replace_all(texts: pa.Array, pattern: str, replacement: str) -> pa.Array:
    expression, java_replacement = _replacing(pattern, replacement)
    encoded = texts.dictionary_encode()
    replaced = expression.replaced_everywhere(encoded.dictionary.to_pylist(), java_replacement)
    return pa.array(replaced, texts.type).take(encoded.indices)


def _replace_first(texts: pa.Array, pattern: str, replacement: str) -> pa.Array:
    expression, java_replacement = _replacing(pattern, replacement)
    return each_distinct(
        texts, lambda text: expression.replaced(text, java_replacement), texts.type
    )


METHODS = {
    "startsWith": Method(1, pc.starts_with, ScalarKind.BOOLEAN),
    "endsWith": Method(1, pc.ends_with, ScalarKind.BOOLEAN),
    "contains": Method(1, pc.match_substring, ScalarKind.BOOLEAN, any_kind=True),
    "matches": Method(1, None, ScalarKind.BOOLEAN),
    "equalsIgnoreCase": Method(1, _equals_ignore_case, ScalarKind.BOOLEAN),
    "isEmpty": Method(0, lambda texts: pc.equal(texts, ""), ScalarKind.BOOLEAN),
    "isBlank": Method(
        0,
        lambda texts: each_distinct(texts, lambda t: not t.strip(), pa.bool_()),
        ScalarKind.BOOLEAN,
    ),
    "length": Method(0, _length, ScalarKind.INT),
    "size": Method(0, _length, ScalarKind.INT),
    "toUpperCase": Method(0, _upper, ScalarKind.TEXT),
    "toLowerCase": Method(0, _lower, ScalarKind.TEXT),
    "trim": Method(0, lambda texts: pc.utf8_trim(texts, _JAVA_SPACE), ScalarKind.TEXT),
    "replace": Method(
        2,
        lambda texts, old, new: each_distinct(texts, lambda t: t.replace(old, new), texts.type),
        ScalarKind.TEXT,
    ),
    "replaceAll": Method(2, _replace_all, ScalarKind.TEXT),
    "replaceFirst": Method(2, _replace_first, ScalarKind.TEXT),
    "field": Method(1, None, ScalarKind.TEXT),
    "fields": Method(0, None, ScalarKind.TEXT),
    "index": Method(0, None, ScalarKind.INT),
    "containsKey": Method(1, None, ScalarKind.BOOLEAN),
    "name": Method(0, None, ScalarKind.TEXT),
    "version": Method(0, None, ScalarKind.INT),
    "schema": Method(0, None, ScalarKind.TEXT),
}
"""Methods by name. Those without `of_texts` belong to things: maps, headers, schemas and
structs."""
