"""The placeholders for values that a log does not carry, by Spark's types.

| type | what stands for a value |
|---|---|
| string | the placeholder; the JSON of a map of it to itself |
| binary | its bytes |
| map<string, string> | a map of it to itself |
| array of strings | it alone; its UUID of version 3 alone |
| array of binary | its bytes alone |
| array of integers | its bytes, signed, each a number |
| array of dates | the same as days since 1970-01-01 |

Other types have no placeholder.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator
from datetime import date, timedelta
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    StringType,
)

from headrace.debezium.envelope import PLACEHOLDER

_INTEGERS = (IntegerType, LongType)
_EPOCH = date(1970, 1, 1)


def can_show(kind: DataType) -> bool:
    """Return whether values of a type can show that the log does not carry them."""
    return _is_text_map(kind) or any(True for _ in _values(kind, PLACEHOLDER))


def shows(value: Column, kind: DataType, placeholder: str) -> Column:
    """Return whether a value of such a type shows that the log does not carry it (never null)."""
    if isinstance(kind, MapType):
        is_alone = F.size(value) == 1
        return F.coalesce(
            is_alone & value.getItem(placeholder).eqNullSafe(placeholder), F.lit(False)
        )
    conditions = [value.eqNullSafe(text) for text in _values(kind, placeholder)]
    return reduce(lambda left, right: left | right, conditions)


def _is_text_map(kind: DataType) -> bool:
    if not isinstance(kind, MapType):
        return False
    return isinstance(kind.keyType, StringType) and isinstance(kind.valueType, StringType)


def _values(kind: DataType, placeholder: str) -> Iterator[Column]:
    raw = placeholder.encode()
    if isinstance(kind, StringType):
        of_map = json.dumps({placeholder: placeholder}, ensure_ascii=False, separators=(",", ":"))
        texts = [placeholder, of_map]
        yield from map(F.lit, dict.fromkeys(texts))
    elif isinstance(kind, BinaryType):
        yield F.lit(raw)
    elif isinstance(kind, ArrayType):
        yield from _arrays(kind, raw)


def _arrays(kind: ArrayType, raw: bytes) -> Iterator[Column]:
    element = kind.elementType
    numbers = [byte - 256 if byte > 127 else byte for byte in raw]
    if isinstance(element, StringType):
        digest = hashlib.md5(raw, usedforsecurity=False).digest()
        for text in (raw.decode(), str(uuid.UUID(bytes=digest, version=3))):
            yield F.array(F.lit(text))
    elif isinstance(element, BinaryType):
        yield F.array(F.lit(raw))
    elif isinstance(element, _INTEGERS):
        yield F.array(*map(F.lit, numbers)).cast(kind)
    elif isinstance(element, DateType):
        yield F.array(*(F.lit(_EPOCH + timedelta(days=number)) for number in numbers))
