"""Writes cells that hold BSON values in the formats of converters: JSON, texts, Avro.

Converters, and the kernels that hash keys, call `put_document` by its address, so that it is not
compiled into them. Its rules on memory are those of `headrace.documents.kernels.writer`: it writes
up to `GROWTH * length + SLACK` bytes.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.encoding import AS_AVRO, AS_JSON, FIRST_DOCUMENT, Encoding
from headrace.connect.kernels.avro import put_block, put_long
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.json_text import put_string
from headrace.connect.kernels.memory import load8, load32_signed, load64, store8, store64
from headrace.connect.kernels.text import as_word, put_int
from headrace.documents.bson import ARRAY, DOCUMENT, INT32, STRING
from headrace.documents.dialects import DIALECTS, Dialect
from headrace.documents.kernels.value_sizes import name_end, value_size
from headrace.documents.kernels.writer import GROWTH, put_cell

_TEXTS, _TRUNCATED_ARRAYS = int(Encoding.BSON_TEXTS), int(Encoding.BSON_TRUNCATED_ARRAYS)
_DIALECTS = np.array([DIALECTS[e] for e in sorted(DIALECTS)], np.int64)
assert sorted(DIALECTS) == list(range(FIRST_DOCUMENT, FIRST_DOCUMENT + len(Dialect)))

_QUOTE, _COMMA = ord('"'), ord(",")
_OPEN_BRACKET, _CLOSE_BRACKET = ord("["), ord("]")
_NULL_TEXT, _NULL_LENGTH = as_word(b"null"), 4


def _constant(text: bytes) -> np.ndarray:
    return np.frombuffer(text.ljust(16, b"\0"), np.int64)


_FIELD, _SIZE = _constant(b'{"field":'), _constant(b',"size":')
_FIELD_NAME, _FIELD_NAME_LENGTH = as_word(b"field\0"), 6
_SIZE_NAME, _SIZE_NAME_LENGTH = as_word(b"newSize\0"), 8
_SIX_BYTES = (1 << 48) - 1
_FIELD_LENGTH, _SIZE_LENGTH, _CLOSE_BRACE = 9, 8, ord("}")


@part
def _put_truncated_array(document, size, out):
    """Write a document `{field, newSize}` as a struct; -1 if it has another form."""
    last = document + size - 1
    place = document + 4
    field = np.int64(0)
    new_size = np.int64(0)
    while place < last:
        kind = load8(place)
        name = place + 1
        place = name_end(name, last) + 1
        length = value_size(kind, place, last - place)
        if length < 0:
            return np.int64(-1)
        word = load64(name)
        if place - name == _FIELD_NAME_LENGTH and word & _SIX_BYTES == _FIELD_NAME:
            field = place if kind == STRING else np.int64(0)
        elif place - name == _SIZE_NAME_LENGTH and word == _SIZE_NAME:
            new_size = place if kind == INT32 else np.int64(0)
        place += length
    if field == 0 or new_size == 0:
        return np.int64(-1)
    store64(out, _FIELD[0])
    store64(out + 8, _FIELD[1])
    out = put_string(field + 4, load32_signed(field) - 1, out + _FIELD_LENGTH)
    store64(out, _SIZE[0])
    out = put_int(load32_signed(new_size), out + _SIZE_LENGTH)
    store8(out, _CLOSE_BRACE)
    return out + 1


@part
def _put_array(address, length, code, out):
    """Write an array of strings, or of truncated arrays; -1 if it has another form."""
    if length < 1 or load8(address) != ARRAY or value_size(ARRAY, address + 1, length - 1) < 0:
        return np.int64(-1)
    last = address + load32_signed(address + 1)
    if last + 1 != address + length:
        return np.int64(-1)
    place = address + 5
    if place == last:
        store64(out, _NULL_TEXT)
        return out + _NULL_LENGTH
    store8(out, _OPEN_BRACKET)
    while place < last:
        kind = load8(place)
        place = name_end(place + 1, last) + 1
        size = value_size(kind, place, last - place)
        if size < 0 or kind != (STRING if code == _TEXTS else DOCUMENT):
            return np.int64(-1)
        out += 1
        if code == _TEXTS:
            out = put_string(place + 4, size - 5, out)
        else:
            out = _put_truncated_array(place, size, out)
            if out < 0:
                return out
        store8(out, _COMMA)
        place += size
    store8(out, _CLOSE_BRACKET)
    return out + 1


@part
def _put_avro_texts(address, length, out):
    """Write a BSON array of strings as an Avro array; -1 if it has another form. An empty array is
    left to Python, because it becomes null."""
    if length < 1 or load8(address) != ARRAY or value_size(ARRAY, address + 1, length - 1) < 0:
        return np.int64(-1)
    last = address + load32_signed(address + 1)
    if last + 1 != address + length:
        return np.int64(-1)
    count = 0
    place = address + 5
    while place < last:
        kind = load8(place)
        place = name_end(place + 1, last) + 1
        size = value_size(kind, place, last - place)
        if size < 0 or kind != STRING:
            return np.int64(-1)
        place += size
        count += 1
    if count == 0:
        return np.int64(-1)
    out = put_long(count, out)
    place = address + 5
    while place < last:
        place = name_end(place + 1, last) + 1
        size = load32_signed(place)
        out = put_block(place + 4, size - 1, out)
        place += 4 + size
    store8(out, 0)
    return out + 1


@entry
def put_document(address, length, code, way, out):
    """Write a cell of the encoding `code` in one of the ways AS_JSON, AS_TEXT and AS_AVRO; returns
    its end, or -1 if Python has to render it, for example because it needs more memory than most
    documents."""
    if code in (_TEXTS, _TRUNCATED_ARRAYS):
        if way == AS_JSON:
            return _put_array(address, length, code, out)
        if way == AS_AVRO and code == _TEXTS:
            return _put_avro_texts(address, length, out)
        return np.int64(-1)
    if code > _TRUNCATED_ARRAYS:
        return np.int64(-1)
    dialect = _DIALECTS[code - FIRST_DOCUMENT]
    if way != AS_JSON:
        end = put_cell(address, length, dialect, 0, GROWTH, out)
        return end if end >= 0 else np.int64(-1)
    store8(out, _QUOTE)
    end = put_cell(address, length, dialect, 1, GROWTH, out + 1)
    if end < 0:
        return np.int64(-1)
    store8(end, _QUOTE)
    return end + 1
