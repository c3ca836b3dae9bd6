"""The interpreter of programs in the forms other than JSON (see `program.py`).

It has the instructions of JSON's interpreter, with four additional words: the bytes to remove and
the instruction to continue at for a null, the form of the value, and the branch of Avro's union
before it.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.evaluation.time_texts import LAST_INSTANT
from headrace.connect.images import UNAVAILABLE, has_value
from headrace.connect.kernels.avro import put_block, put_long
from headrace.connect.kernels.functions import entry, inlined_part
from headrace.connect.kernels.memory import copy, load8, load64, store8
from headrace.connect.kernels.text import put_int
from headrace.connect.rows import NULL
from headrace.converters.binary.kernels.cells import put_value, quote
from headrace.converters.instructions import (
    BLOCK_END,
    BLOCK_MARK,
    CELL,
    CHOICE,
    CLOCK,
    COLUMN,
    END,
    FIRST_ORDER,
    FIRST_ROW,
    INSTANT,
    IS_NULL,
    MISSING,
    NO_VALUE,
    NULL_LENGTH,
    NULL_TEXT,
    ORDER_INT,
    PREFIX,
    PREFIX_LENGTH,
    PRESENCE,
    PUT_DOCUMENT,
    ROW_CHARACTER,
    ROW_INT,
    STRUCT,
    TEXT_END,
    TEXT_MARK,
    TEXT_NULL,
    TRANSACTION_INT,
    UNAVAILABLE_LENGTH,
    UNAVAILABLE_TEXT,
    WORDS,
    A,
    B,
    C,
    ProgramForm,
)
from headrace.converters.kernels.prints import patch, put_instant
from headrace.converters.kernels.row_cells import (
    ROW_SIZE,
    image_of,
    made_cell,
    presence_of,
    split_cell,
)

BACK, JUMP, FORM, BRANCH = (8 * (WORDS + n) for n in range(4))
"""Offsets of the words after those of JSON."""
BINARY_WORDS = WORDS + 4
_SIZE = 8 * BINARY_WORDS

NOT_ALLOWED = -1
"""The length of a null's text if the schema does not allow nulls."""
NULL_INSTRUCTION = 1
"""Added to an instruction's address: the miss of a null that is not allowed."""
TEXT_ROOM = 6
"""Bytes before a Concat's text: a branch and a length."""
CLOSE = 100
"""Additional instruction: the end of a struct in Java's text, whose last comma is replaced by A."""
ABSENT = 101
"""Additional instruction: the root is null."""

_AVRO, _QUOTED = int(ProgramForm.AVRO), int(ProgramForm.QUOTED)
_COMMA = ord(",")
_INSTANT_LENGTH = 24


@inlined_part
def _branch(at, out):
    """Write the branch of a union, if the type is a union."""
    branch = load64(at + BRANCH)
    if branch >= 0:
        store8(out, branch)
        out += 1
    return out


@inlined_part
def _put_cell(at, cell, state, out):
    """Write the value of a cell; returns its end, IS_NULL or MISSING."""
    kind = load64(cell)
    if has_value(kind):
        address = load64(cell + 8)
        length = load64(cell + 16)
        encoding = load64(at + C)
        form = load64(at + FORM)
        end = put_value(
            form, kind, address, length, encoding & 255, encoding >> 8,
            state[PUT_DOCUMENT], _branch(at, out),
        )  # fmt: skip
        if end < 0:
            end = patch(state, address, length, at, out)
        return end
    if kind == UNAVAILABLE and load64(at + UNAVAILABLE_LENGTH) >= 0:
        return copy(load64(at + UNAVAILABLE_TEXT), load64(at + UNAVAILABLE_LENGTH), out)
    return np.int64(IS_NULL)


@inlined_part
def _put_number(at, value, out):
    out = _branch(at, out)
    return put_long(value, out) if load64(at + FORM) == _AVRO else put_int(value, out)


@inlined_part
def _put_character(at, character, out):
    out = _branch(at, out)
    form = load64(at + FORM)
    if form == _AVRO:
        store8(out, 2)
        out += 1
    store8(out, character)
    return quote(out, out + 1) if form == _QUOTED else out + 1


@inlined_part
def _end_text(at, mark, out):
    """Move a Concat's text, which begins TEXT_ROOM bytes after `mark` and ends at `out`, to its
    place."""
    text = mark + TEXT_ROOM
    length = out - text
    out = _branch(at, mark)
    form = load64(at + FORM)
    if form == _AVRO:
        return put_block(text, length, out)
    out = copy(text, length, out)
    return quote(mark, out) if form == _QUOTED else out


@entry
def run_binary(program, row, transaction, texts, state, cells, image_bytes, out):  # noqa: ARG001
    """Run a program for a row, with the arguments and results of `run_json`."""
    at = program
    mark = out
    block = out
    missed = False
    while True:
        code = load64(at)
        out = copy(load64(at + PREFIX), load64(at + PREFIX_LENGTH), out)
        end = out
        if code <= COLUMN:
            if code == CELL:
                cell = split_cell(at, row, cells, image_bytes)
            else:
                cell = made_cell(at, row, state)
            end = _put_cell(at, cell, state, out)
            if end == MISSING:
                missed = True
                end = out
        elif code == ROW_INT:
            end = _put_number(at, load64(row + load64(at + A)), out)
        elif code == TRANSACTION_INT:
            value = load64(transaction + load64(at + A))
            end = np.int64(IS_NULL) if value == NULL else _put_number(at, value, out)
        elif code == CLOCK:
            end = _put_number(at, state[load64(at + A)], out)
        elif code == CHOICE:
            # C: the last text, for all bytes from there on.
            text = load64(at + B) + 16 * min(load8(row + load64(at + A)), load64(at + C))
            length = load64(text + 8)
            end = np.int64(IS_NULL) if length < 0 else copy(load64(text), length, out)
        elif code == ROW_CHARACTER:
            character = load8(row + load64(at + A))
            end = np.int64(IS_NULL) if character == 0 else _put_character(at, character, out)
        elif code == ORDER_INT:
            index = (row - state[FIRST_ROW]) // ROW_SIZE
            order = state[FIRST_ORDER] + 16 * index
            end = _put_number(at, load64(order + load64(at + A)), out)
        elif code == STRUCT:
            if image_of(row, transaction, load64(at + A)) == 0:
                end = np.int64(IS_NULL)
        elif code == PRESENCE:
            end = presence_of(at, row, transaction, cells, image_bytes, state, out)
            if end == MISSING:
                missed = True
                end = out
        elif code == INSTANT:
            value = load64((transaction if load64(at + B) else row) + load64(at + A))
            if value < 0 or value > LAST_INSTANT:
                end = np.int64(IS_NULL)
            else:
                put_instant(value, out + TEXT_ROOM)
                end = _end_text(at, out, out + TEXT_ROOM + _INSTANT_LENGTH)
        elif code == BLOCK_MARK:
            block = out
            end = out + TEXT_ROOM
        elif code == BLOCK_END:
            end = _end_text(at, block, out)
        elif code == TEXT_MARK:
            mark = out
            end = out + TEXT_ROOM
        elif code == TEXT_END:
            out = _end_text(at, mark, out)
            end = out
            if load64(at + C):
                at = load64(at + C)
                continue
        elif code == TEXT_NULL:
            out = mark
            end = np.int64(IS_NULL)
        elif code == CLOSE:
            end = out - 1 if load8(out - 1) == _COMMA else out
            store8(end, load64(at + A))
            end += 1
        elif code == END:
            return np.int64(MISSING) if missed else out
        elif code == ABSENT:
            return np.int64(MISSING) if missed else np.int64(NO_VALUE)
        if end == IS_NULL:
            length = load64(at + NULL_LENGTH)
            if length == NOT_ALLOWED:
                # Python raises the error: this row has no rendering.
                patch(state, row, np.int64(0), at + NULL_INSTRUCTION, out)
                missed = True
                length = np.int64(0)
            end = copy(load64(at + NULL_TEXT), length, out - load64(at + BACK))
            if load64(at + JUMP):
                out = end
                at = load64(at + JUMP)
                continue
        out = end
        at += _SIZE
