"""The interpreter of programs that write JSON (see `program.py`).

A program is a list of instructions, each a constant fragment followed by one piece of data. Every
argument is an address or a count. Images were checked against their frames when they were indexed;
the text of a cell is checked by its encoder.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.encoding import AS_JSON, FIRST_DOCUMENT, Encoding
from headrace.connect.evaluation.time_texts import LAST_INSTANT
from headrace.connect.images import BINARY, UNAVAILABLE, has_value
from headrace.connect.kernels.functions import entry, inlined, inlined_part
from headrace.connect.kernels.json_text import put_string
from headrace.connect.kernels.memory import (
    caller_of,
    copy,
    copy16,
    load8,
    load32,
    load64,
    store8,
    store64,
)
from headrace.connect.kernels.text import put_int
from headrace.connect.rows import TRANSACTION_NUMBERS
from headrace.converters.instructions import (
    AFTER_LENGTH,
    AFTER_TEXT,
    CELL,
    CHOICE,
    CLOCK,
    CLOCK_MS,
    COLUMN,
    END,
    END_UNLESS_NULL,
    FIRST_ORDER,
    FIRST_ROW,
    INSTANT,
    IS_NULL,
    KEEP,
    KEPT,
    MAX_TEXT_BYTES,
    MISSING,
    NO_VALUE,
    NULL_LENGTH,
    NULL_TEXT,
    ORDER_INT,
    PART_BEGIN,
    PART_END,
    PREFIX,
    PREFIX_LENGTH,
    PRESENCE,
    PUT_DOCUMENT,
    ROW_CHARACTER,
    ROW_INT,
    SIZE,
    STRUCT,
    TEXT_BEGIN,
    TEXT_BYTE_COUNT,
    TEXT_MARK,
    TEXT_NUMBER,
    TO_MARK,
    TRANSACTION,
    TRANSACTION_INT,
    UNAVAILABLE_LENGTH,
    UNAVAILABLE_TEXT,
    A,
    B,
    C,
)
from headrace.converters.json.kernels.binary import encode_binary
from headrace.converters.json.kernels.cells import encode
from headrace.converters.json.kernels.numbers import put_decimal, put_raw_int
from headrace.converters.kernels.prints import TEXT_BYTES, patch, put_instant
from headrace.converters.kernels.row_cells import (
    ROW_SIZE,
    image_of,
    made_cell,
    presence_of,
    split_cell,
)

_NULL_BYTES = int.from_bytes(b"null", "little")
_QUOTE = ord('"')
_SHORT = 16
_call = caller_of(5)
_put_string, _put_int = inlined(put_string), inlined(put_int)
_STRING, _RAW, _DECIMAL = int(Encoding.STRING), int(Encoding.RAW), int(Encoding.DECIMAL)

# Texts repeat from row to row, so they are printed once; each is an int64 length and 32 bytes.
_TEXT_OF_BYTE = TEXT_BYTES // 8  # a transaction's fields have 8 bytes


@inlined_part
def _put_cell(at, cell, state, out):
    """Write the JSON value of a cell; returns its end, or MISSING."""
    kind = load64(cell)
    if has_value(kind):
        address = load64(cell + 8)
        length = load64(cell + 16)
        encoding = load64(at + C)
        if kind == BINARY and encoding & 255 >= FIRST_DOCUMENT:
            put_document = state[PUT_DOCUMENT]
            end = _call(put_document, (address, length, encoding & 255, AS_JSON, out))
        elif kind == BINARY:
            end = encode_binary(address, length, encoding & 255, out)
        elif encoding & 255 == _STRING and length >= 0:
            # The most frequent cases of `encode`, without its detours.
            end = _put_string(address, length, out)
        elif encoding & 255 == _RAW and length >= 0:
            end = put_raw_int(address, length, encoding >> 8, out)
        elif encoding & 255 == _DECIMAL and length >= 0:
            end = put_decimal(address, length, encoding >> 8, out)
        else:
            end = encode(address, length, encoding & 255, encoding >> 8, out)
        if end < 0:
            end = patch(state, address, length, at, out)
        return end
    if kind == UNAVAILABLE:
        return copy(load64(at + UNAVAILABLE_TEXT), load64(at + UNAVAILABLE_LENGTH), out)
    return copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)


@inlined_part
def _put_prefix(at, out):
    """Write the constant fragment before an instruction's data, which is usually short."""
    prefix, length = load64(at + PREFIX), load64(at + PREFIX_LENGTH)
    copy16(out, prefix)
    if length > _SHORT:
        copy(prefix + _SHORT, length - _SHORT, out + _SHORT)
    return out + length


@inlined_part
def _put_character(at, character, out):
    if character == 0:
        return copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
    store8(out, _QUOTE)
    store8(out + 1, character)
    store8(out + 2, _QUOTE)
    return out + 3


@inlined_part
def _put_instant_or_null(at, value, out):
    if value < 0 or value > LAST_INSTANT:
        return copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
    store8(out, _QUOTE)
    out = put_instant(value, out + 1)
    store8(out, _QUOTE)
    return out + 1


@inlined_part
def _put_kept(at, state, out):
    """Copy the kept text of the row's transaction; returns its end, or 0 if no text is kept."""
    text = load64(at + A)
    if load64(text + TEXT_NUMBER) != state[TRANSACTION]:
        return np.int64(0)
    return copy(text + TEXT_BEGIN, load64(text + TEXT_BYTE_COUNT), out)


@inlined_part
def _keep(at, begin, end, state):
    """Keep the text between two addresses for the next rows of the transaction."""
    text = load64(at + A)
    length = end - begin
    if length <= MAX_TEXT_BYTES:
        copy(begin, length, text + TEXT_BEGIN)
        store64(text + TEXT_BYTE_COUNT, length)
        store64(text + TEXT_NUMBER, state[TRANSACTION])


@entry
def run_json(program, row, transaction, texts, state, cells, image_bytes, out):
    """Run a program for a row; returns the end of the output, MISSING or NO_VALUE."""
    at = program
    begin = out
    mark = out
    part = out
    kept_begin = out
    missed = False
    while True:
        code = load64(at)
        out = _put_prefix(at, out)
        if code <= COLUMN:
            if code == CELL:
                cell = split_cell(at, row, cells, image_bytes)
            else:
                cell = made_cell(at, row, state)
            end = _put_cell(at, cell, state, out)
            if end < 0:
                missed = True
            else:
                out = end
        elif code == ROW_INT:
            out = _put_int(load64(row + load64(at + A)), out)
        elif code == TRANSACTION_INT:
            text = texts + _TEXT_OF_BYTE * load64(at + A)
            length = load64(text)
            if length < 0:
                back = load64(at + B)
                out = mark if back == TO_MARK else out - back
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
                if load64(at + C):
                    at = load64(at + C)
                    continue
            else:
                out = copy(text + 8, length, out)
                out = copy(load64(at + AFTER_TEXT), load64(at + AFTER_LENGTH), out)
        elif code == CLOCK:
            text = texts + TEXT_BYTES * (TRANSACTION_NUMBERS + load64(at + A) - CLOCK_MS)
            out = copy(text + 8, load64(text), out)
        elif code == CHOICE:
            # C: the last text, for all bytes from there on.
            choice = min(load8(row + load64(at + A)), load64(at + C))
            text = load64(at + B) + 16 * choice
            out = copy(load64(text), load64(text + 8), out)
        elif code == ROW_CHARACTER:
            out = _put_character(at, load8(row + load64(at + A)), out)
        elif code == ORDER_INT:
            index = (row - state[FIRST_ROW]) // ROW_SIZE
            order = state[FIRST_ORDER] + 16 * index
            out = _put_int(load64(order + load64(at + A)), out)
        elif code == STRUCT:
            if image_of(row, transaction, load64(at + A)) == 0:
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
                at = load64(at + B)
                continue
        elif code == PRESENCE:
            end = presence_of(at, row, transaction, cells, image_bytes, state, out)
            if end == MISSING:
                missed = True
            elif end == IS_NULL:
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
                at = load64(at + C)
                continue
        elif code == INSTANT:
            value = load64((transaction if load64(at + B) else row) + load64(at + A))
            out = _put_instant_or_null(at, value, out)
        elif code == TEXT_MARK:
            mark = out
        elif code == PART_BEGIN:
            part = out
        elif code == PART_END:
            length = out - part
            if length == 4 and load32(part) == _NULL_BYTES:
                back = load64(at + A)
                out = mark if back == TO_MARK else part - back
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
                at = load64(at + B)
                continue
            if length >= 2 and load8(part) == _QUOTE:
                out = copy(part + 1, length - 2, part)
        elif code == KEPT:
            end = _put_kept(at, state, out)
            if end:
                out = end
                at = load64(at + B)
                continue
            kept_begin = out
        elif code == KEEP:
            if not missed:
                _keep(at, kept_begin, out, state)
        elif code == END:
            return np.int64(MISSING) if missed else out
        elif code == END_UNLESS_NULL:
            if missed:
                return np.int64(MISSING)
            is_null = load32(begin + load64(at + A)) == _NULL_BYTES
            return np.int64(NO_VALUE) if is_null and out - begin == load64(at + B) else out
        at += SIZE
