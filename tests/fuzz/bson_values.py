"""BSON values: the compiled writer against a plain check of the structure, and against plain Python
where pymongo reads and writes the same bytes."""

from __future__ import annotations

import json
import struct
from random import Random

import bson
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError

from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import PADDING
from headrace.documents.bson import MAX_DEPTH, NO_ROOM
from headrace.documents.dialects import Dialect
from headrace.documents.kernels.writer import GROWTH, MAX_GROWTH, SLACK, put_cell
from tests.documents.golden_documents import golden_documents
from tests.documents.plain_bson import encode, strange
from tests.documents.plain_extended_json import extended_json
from tests.fuzz.guarded import Guarded, read
from tests.fuzz.mutations import mutated
from tests.fuzz.recorded import documents as recorded_documents

_MOST = 4_000
_OPTIONS: CodecOptions = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)
_FIXED = {
    0x01: 8, 0x06: 0, 0x07: 12, 0x09: 8, 0x0A: 0, 0x10: 4, 0x11: 8, 0x12: 8, 0x13: 16, 0x7F: 0,
    0xFF: 0,
}  # fmt: skip


class Broken(Exception):
    """The bytes are no BSON."""


def _require(condition: bool) -> None:
    if not condition:
        raise Broken


def _int32(raw: bytes) -> int:
    _require(len(raw) >= 4)
    return int(struct.unpack_from("<i", raw)[0])


def _string(raw: bytes) -> int:
    length = _int32(raw)
    _require(1 <= length <= len(raw) - 4 and raw[3 + length] == 0)
    return 4 + length


def _document(raw: bytes, depth: int) -> int:
    size = _int32(raw)
    _require(5 <= size <= len(raw) and raw[size - 1] == 0 and depth < MAX_DEPTH)
    place = 4
    while place < size - 1:
        end = raw.find(0, place + 1, size - 1)
        _require(end >= 0)
        place, kind = end + 1, raw[place]
        place += _value(kind, raw[place : size - 1], depth + 1)
    return size


def _value(kind: int, raw: bytes, depth: int) -> int:
    """Bytes of the value at the beginning of `raw`. Raises Broken if there is no value."""
    if kind in _FIXED:
        _require(_FIXED[kind] <= len(raw))
        return _FIXED[kind]
    if kind in (0x02, 0x0D, 0x0E):
        return _string(raw)
    if kind in (0x03, 0x04):
        return _document(raw, depth)
    if kind == 0x05:
        length = _int32(raw)
        _require(0 <= length <= len(raw) - 5)
        _require(raw[4] != 2 or (length >= 4 and _int32(raw[5:]) == length - 4))
        return 5 + length
    if kind == 0x08:
        _require(raw[:1] in (b"\0", b"\1"))
        return 1
    if kind == 0x0B:
        pattern = raw.find(0)
        options = raw.find(0, pattern + 1)
        _require(0 <= pattern < options)
        return options + 1
    if kind == 0x0C:
        size = _string(raw[:-12]) if len(raw) >= 12 else 0
        _require(size > 0)
        return size + 12
    _require(kind == 0x0F)
    size = _int32(raw)
    _require(4 <= size <= len(raw))
    code = _string(raw[4:size])
    _require(4 + code + _document(raw[4 + code : size], depth) == size)
    return size


def is_sound(cell: bytes) -> bool:
    """Whether a type byte and the bytes after it are a value of BSON."""
    try:
        return bool(cell) and _value(cell[0], cell[1:], 0) == len(cell) - 1
    except Broken:
        return False


@entry
def write_text(source, length, dialect, escaped, growth, out):  # type: ignore[no-untyped-def]
    """See headrace.documents.kernels.writer.put_cell."""
    return put_cell(source, length, dialect, escaped, growth, out)


class BsonValues:
    """`one` runs one input; raises AssertionError when the two differ."""

    def __init__(self) -> None:
        documents = [*golden_documents(), *recorded_documents()]
        self._cells = [b"\x03" + raw for raw in documents if len(raw) < _MOST // 2]
        self._cells += [cell[1:2] + cell[10:-1] for cell in self._cells]
        self._cells.append(b"\x03" + strange(50))
        self._cells.append(b"\x03" + encode({"a": [{"b": [{"c": None}]}], "d": "e" * 100}))
        self._input = Guarded(_MOST + PADDING)
        self._output = Guarded(MAX_GROWTH * _MOST + SLACK)

    def one(self, random: Random, planted: str | None) -> None:
        cell = mutated(random, random.choice(self._cells))[:_MOST]
        dialect, escaped = random.choice(list(Dialect)), random.getrandbits(1)
        source = self._input.take(cell + random.randbytes(PADDING))
        sound = is_sound(cell)
        for growth in (GROWTH, MAX_GROWTH):
            room = growth * len(cell) + SLACK
            out = self._output.take(room if planted != "overrun" else 1)
            end = write_text(source, len(cell), int(dialect), escaped, growth, out)
            if end != NO_ROOM:
                break
        assert end != NO_ROOM, (cell, dialect)
        assert (end >= 0) == sound, (cell, end)
        if not sound:
            return
        text = read(out, end - out).decode()
        assert len(text) <= room
        if escaped:
            text = json.loads(f'"{text}"')
        if planted == "wrong":
            text += "wrong"
        expected = _plain_text(cell, dialect)
        assert expected is None or text == expected, (cell, dialect, text, expected)


def _plain_text(cell: bytes, dialect: Dialect) -> str | None:
    """The text of plain Python, if pymongo makes the same bytes of what it reads."""
    body = cell[:1] + b"v\0" + cell[1:] + b"\0"
    document = struct.pack("<i", len(body) + 4) + body
    try:
        value = bson.decode(document, _OPTIONS)
        if bson.encode(value) != document:
            return None
    except (BSONError, ValueError, TypeError, RecursionError):
        return None
    except SystemError:  # of pymongo before 4.20, for a document that it cannot encode
        return None
    return extended_json(value["v"], dialect)
