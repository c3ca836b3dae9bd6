"""VARIANT read in plain Python, after Parquet's `VariantEncoding.md`."""

from __future__ import annotations

import itertools
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - of timestamps without zone
_NUMBERS = {3: "<b", 4: "<h", 5: "<i", 6: "<q", 7: "<d", 14: "<f"}
_DECIMALS = {8: 4, 9: 8, 10: 16}


def number(raw: bytes, at: int, size: int) -> int:
    return int.from_bytes(raw[at : at + size], "little")


def names(metadata: bytes) -> list[str]:
    head = metadata[0]
    assert head & 15 == 1
    size = (head >> 6) + 1
    count = number(metadata, 1, size)
    ends = [number(metadata, 1 + size * (at + 1), size) for at in range(count + 1)]
    begin = 1 + size * (count + 2)
    texts = [metadata[begin + a : begin + b] for a, b in itertools.pairwise(ends)]
    assert begin + ends[-1] == len(metadata)
    if head >> 4 & 1:
        assert texts == sorted(set(texts))
    return [text.decode() for text in texts]


def read(value: bytes, metadata: bytes) -> Any:
    decoded, end = _read(value, 0, names(metadata))
    assert end == len(value)
    return decoded


def _read(raw: bytes, at: int, known: list[str]) -> tuple[Any, int]:
    head, at = raw[at], at + 1
    kind, rest = head & 3, head >> 2
    if kind == 0:
        return _primitive(raw, at, rest)
    if kind == 1:
        return raw[at : at + rest].decode(), at + rest
    is_large = rest >> (4 if kind == 2 else 2) & 1
    count_size, offset_size = (4 if is_large else 1), (rest & 3) + 1
    count, at = number(raw, at, count_size), at + count_size
    fields: list[str] = []
    if kind == 2:
        id_size = (rest >> 2 & 3) + 1
        fields = [known[number(raw, at + id_size * n, id_size)] for n in range(count)]
        assert fields == sorted(set(fields), key=str.encode)
        at += id_size * count
    offsets = [number(raw, at + offset_size * n, offset_size) for n in range(count + 1)]
    begin = at + offset_size * (count + 1)
    values = []
    for offset, following in itertools.pairwise(offsets):
        element, end = _read(raw, begin + offset, known)
        assert end == begin + following
        values.append(element)
    decoded = dict(zip(fields, values, strict=True)) if kind == 2 else values
    return decoded, begin + offsets[-1]


def _primitive(raw: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (0, 1, 2):
        return (None, True, False)[kind], at
    if kind in _NUMBERS:
        form = struct.Struct(_NUMBERS[kind])
        return form.unpack_from(raw, at)[0], at + form.size
    if kind in _DECIMALS:
        size = _DECIMALS[kind]
        unscaled = int.from_bytes(raw[at + 1 : at + 1 + size], "little", signed=True)
        digits = Decimal(unscaled).as_tuple()
        return Decimal((digits.sign, digits.digits, -raw[at])), at + 1 + size
    if kind == 11:
        return date(1970, 1, 1) + timedelta(struct.unpack_from("<i", raw, at)[0]), at + 4
    if kind in (12, 13):
        moment = _EPOCH + timedelta(microseconds=struct.unpack_from("<q", raw, at)[0])
        return moment.replace(tzinfo=UTC) if kind == 12 else moment, at + 8
    assert kind in (15, 16)
    length = number(raw, at, 4)
    content = raw[at + 4 : at + 4 + length]
    return content if kind == 15 else content.decode(), at + 4 + length
