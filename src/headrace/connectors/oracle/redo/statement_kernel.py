"""Compiled conversion of a batch of redo statements to row images.

The form of statements is that of `headrace.connectors.oracle.redo.reference`; both make the same
images of a statement that is sound here. The rules on memory are those of `scan`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import (
    CELL_BYTES,
    NO_CELL,
    NULL,
    UNAVAILABLE,
    put_head,
    put_null,
    put_text_head,
)
from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import copy, load8, load32_signed, load64, store8, store64
from headrace.connect.kernels.text import as_word
from headrace.connectors.oracle.redo.scan import (
    NONE,
    begins_with,
    has_word,
    skip_name,
)
from headrace.connectors.oracle.redo.value_kernel import (
    COLUMN_BYTES,
    IS_APART,
    NAME,
    NAME_LENGTH,
    read_value,
)

# A table: nine int64. COLUMNS entries at COLUMN (see value_kernel), the usual beginnings of its
# statements, each an address and a length, and whether all of its statements are odd.
COLUMNS, COLUMN, INSERT, UPDATE, DELETE, IS_ODD = 0, 8, 16, 32, 48, 64
TABLE_BYTES = 72

SOUND, ODD = 0, 1
CREATED, UPDATED, DELETED = b"cud"

_SPACE, _DOUBLE_QUOTE, _OPEN, _CLOSE, _COMMA, _POINT, _END = b' "(),.;'
_INSERT, _INTO = as_word(b"insert i"), as_word(b"nto ")
_UPDATE = as_word(b"update ")
_DELETE, _FROM = as_word(b"delete f"), as_word(b"rom ")
_SET, _WHERE, _VALUES = as_word(b"set "), as_word(b"where "), as_word(b" values ")
_AND, _OR = as_word(b" and "), as_word(b" or ")
_EQUALS, _IS_NULL = as_word(b" = "), as_word(b" IS NULL")
_COMMA_SPACE = as_word(b", ")

# The first words of the scratch memory: its free part, and the operation of the statement.
_FREE, OPERATION = 0, 8
SCRATCH_HEAD_BYTES = 16
CELL_ROOM = 8
"""Bytes that a value may take in an image in addition to those of its literal, and the image
itself."""


@inlined_part
def _is_end(place, stop):
    """Whether a statement ends here, with or without a semicolon."""
    return place == stop or (place + 1 == stop and load8(place) == _END)


@inlined_part
def _column_at(place, stop, table, expected):
    """Return the number of the column whose name, in quotes, is at a place; `expected` is the
    likely one. NONE if the table has no such column."""
    columns = load64(table + COLUMNS)
    column = load64(table + COLUMN)
    if expected < columns:
        entry = column + COLUMN_BYTES * expected
        if begins_with(place, stop, load64(entry + NAME), load64(entry + NAME_LENGTH)):
            return expected
    for number in range(columns):
        entry = column + COLUMN_BYTES * number
        if begins_with(place, stop, load64(entry + NAME), load64(entry + NAME_LENGTH)):
            return np.int64(number)
    return NONE


@inlined_part
def _skip_alias(place, stop):
    """Return the place after the alias and the point before a column's name; NONE without a
    name."""
    while place < stop:
        byte = load8(place)
        if byte == _DOUBLE_QUOTE:
            return place
        lower = byte | 32
        if byte == _POINT:
            if place + 1 < stop and load8(place + 1) == _DOUBLE_QUOTE:
                return place + 1
            return NONE
        if not (97 <= lower <= 122 or 48 <= byte <= 57):
            return NONE
        place += 1
    return NONE


@inlined_part
def _alias_of_column(place, stop):
    if place < stop and load8(place) == _DOUBLE_QUOTE:
        return place
    start = place
    place = _skip_alias(place, stop)
    # A point alone is not an alias.
    return place if place > start + 1 else NONE


@part
def _conditions(place, stop, table, cells, state):
    """Read the conditions after `where` into the cells; returns the end of the last value, or
    NONE."""
    columns = load64(table + COLUMN)
    expected = np.int64(0)
    while True:
        place = _alias_of_column(place, stop)
        if place < 0:
            return NONE
        number = _column_at(place, stop, table, expected)
        if number < 0:
            return NONE
        expected = number + 1
        column = columns + COLUMN_BYTES * number
        place += load64(column + NAME_LENGTH)
        cell = cells + CELL_BYTES * number
        if has_word(place, stop, _EQUALS, 3):
            arena = load64(state + _FREE)
            before = load64(cell)
            place = read_value(place + 3, stop, column, cell, arena)
            if place < 0:
                return NONE
            _keep(state, cell, arena)
            if load64(cell) == NO_CELL:
                store64(cell, before)
        elif has_word(place, stop, _IS_NULL, 8):
            place += 8
        else:
            return NONE
        if has_word(place, stop, _AND, 5):
            place += 5
        elif has_word(place, stop, _OR, 4):
            place += 4
        else:
            return place


@inlined_part
def _keep(state, cell, arena):
    """Keep a value that lies at `arena`: the next one is put after it."""
    if load64(cell) != NO_CELL and load64(cell) != NULL and load64(cell + 8) == arena:
        store64(state + _FREE, arena + load64(cell + 16))


@part
def _where(place, stop, table, cells, state):
    """Read `where` and its conditions, and the end of the statement; returns whether they are
    sound."""
    if _is_end(place, stop):
        return True
    if load8(place) == _SPACE:
        place += 1
    if not has_word(place, stop, _WHERE, 6):
        return False
    place = _conditions(place + 6, stop, table, cells, state)
    return place >= 0 and _is_end(place, stop)


@part
def _assignments(place, stop, table, cells, state):
    """Read the assignments after `set` into the cells; returns the end of the last value, or
    NONE."""
    columns = load64(table + COLUMN)
    expected = np.int64(0)
    while True:
        place = _alias_of_column(place, stop)
        if place < 0:
            return NONE
        number = _column_at(place, stop, table, expected)
        if number < 0:
            return NONE
        expected = number + 1
        column = columns + COLUMN_BYTES * number
        place += load64(column + NAME_LENGTH)
        if not has_word(place, stop, _EQUALS, 3):
            return NONE
        cell = cells + CELL_BYTES * number
        arena = load64(state + _FREE)
        before = load64(cell)
        place = read_value(place + 3, stop, column, cell, arena)
        if place < 0:
            return NONE
        _keep(state, cell, arena)
        if load64(cell) == NO_CELL:
            store64(cell, before)
        if not has_word(place, stop, _COMMA_SPACE, 2):
            return place
        place += 2


@part
def _inserted_in_order(place, stop, table, cells, state):
    """Read the values of all columns in their order; returns whether they are sound."""
    columns = load64(table + COLUMNS)
    column = load64(table + COLUMN)
    cell = cells
    for number in range(columns):
        arena = load64(state + _FREE)
        place = read_value(place, stop, column, cell, arena)
        if place < 0 or place >= stop:
            return False
        if load8(place) != (_CLOSE if number == columns - 1 else _COMMA):
            return False
        _keep(state, cell, arena)
        place += 1
        column += COLUMN_BYTES
        cell += CELL_BYTES
    return _is_end(place, stop)


@part
def _inserted(place, stop, table, cells, state, order):
    """Read the names of columns and their values; returns whether they are sound. `order` has room
    for as many int64 as the table has columns."""
    place = skip_name(place, stop, _SPACE, _OPEN)
    if place < 0:
        return False
    while place < stop and load8(place) == _SPACE:
        place += 1
    if place >= stop or load8(place) != _OPEN:
        return False
    columns = load64(table + COLUMNS)
    column = load64(table + COLUMN)
    count = np.int64(0)
    expected = np.int64(0)
    while True:
        place += 1
        if count == columns:
            return False
        number = _column_at(place, stop, table, expected)
        if number < 0:
            return False
        order[count] = number
        count += 1
        expected = number + 1
        place += load64(column + COLUMN_BYTES * number + NAME_LENGTH)
        if place >= stop:
            return False
        if load8(place) == _CLOSE:
            break
        if load8(place) != _COMMA:
            return False
    if not has_word(place + 1, stop, _VALUES, 8):
        return False
    place += 9
    if place >= stop or load8(place) != _OPEN:
        return False
    for i in range(count):
        place += 1
        number = order[i]
        cell = cells + CELL_BYTES * number
        arena = load64(state + _FREE)
        before = load64(cell)
        place = read_value(place, stop, column + COLUMN_BYTES * number, cell, arena)
        if place < 0 or place >= stop:
            return False
        if load8(place) != (_CLOSE if i == count - 1 else _COMMA):
            return False
        _keep(state, cell, arena)
        if load64(cell) == NO_CELL:
            store64(cell, before)
    return _is_end(place + 1, stop)


@part
def _after_table(place, stop):
    """Return the place after a table's name and alias, before `set `, ` where ` or the end;
    NONE."""
    place = skip_name(place, stop, _SPACE, _OPEN)
    if place < 0:
        return NONE
    next_word = place
    while next_word < stop and load8(next_word) == _SPACE:
        next_word += 1
    if has_word(next_word, stop, _SET, 4) or has_word(next_word, stop, _WHERE, 6):
        return next_word
    # The end, or the table's alias.
    if next_word >= stop or load8(next_word) == _END:
        return place
    place = skip_name(next_word, stop, _SPACE, _END)
    while 0 <= place < stop and load8(place) == _SPACE:
        place += 1
    return place


@part
def _put_image(cells, before, table, is_old, out):
    """Write the image of cells; cells that the statement does not state are as in `before` (0:
    null). Returns its end."""
    columns = load64(table + COLUMNS)
    column = load64(table + COLUMN)
    out = put_head(out, columns)
    for number in range(columns):
        cell = cells + CELL_BYTES * number
        kind = load64(cell)
        is_before = is_old
        if kind == NO_CELL and before:
            cell = before + CELL_BYTES * number
            kind = load64(cell)
            is_before = True
        if kind in (NO_CELL, NULL):
            # A column that the log stores apart need not have been null.
            if is_before and load64(column + COLUMN_BYTES * number + IS_APART):
                store8(out, UNAVAILABLE)
                out += 1
            else:
                out = put_null(out)
        else:
            length = load64(cell + 16)
            out = copy(load64(cell + 8), length, put_text_head(out, length))
    return out


@part
def _clear(cells, columns):
    for number in range(columns):
        store64(cells + CELL_BYTES * number, NO_CELL)


@part
def _statement(place, stop, table, old, new, order, state):
    """Read one statement into the split cells; returns CREATED, UPDATED, DELETED, or NONE."""
    columns = load64(table + COLUMNS)
    _clear(new, columns)
    length = load64(table + INSERT + 8)
    if begins_with(place, stop, load64(table + INSERT), length):
        if _inserted_in_order(place + length, stop, table, new, state):
            return np.int64(CREATED)
        return NONE
    if has_word(place, stop, _INSERT, 8) and has_word(place + 8, stop, _INTO, 4):
        if _inserted(place + 12, stop, table, new, state, order):
            return np.int64(CREATED)
        return NONE
    _clear(old, columns)
    if has_word(place, stop, _UPDATE, 7):
        length = load64(table + UPDATE + 8)
        if begins_with(place, stop, load64(table + UPDATE), length):
            place += length
        else:
            place = _after_table(place + 7, stop)
            if place < 0 or not has_word(place, stop, _SET, 4):
                return NONE
            place += 4
        place = _assignments(place, stop, table, new, state)
        if place >= 0 and _where(place, stop, table, old, state):
            return np.int64(UPDATED)
        return NONE
    length = load64(table + DELETE + 8)
    if begins_with(place, stop, load64(table + DELETE), length):
        place = _conditions(place + length, stop, table, old, state)
        if place >= 0 and _is_end(place, stop):
            return np.int64(DELETED)
        return NONE
    if has_word(place, stop, _DELETE, 8) and has_word(place + 8, stop, _FROM, 4):
        place = _after_table(place + 12, stop)
        if place >= 0 and _where(place, stop, table, old, state):
            return np.int64(DELETED)
    return NONE


@part
def put_statement(place, stop, table, scratch, most_columns, out):
    """Write the images of the statement between two addresses to `out`; returns their end, or NONE
    for an odd statement, which has no image. The statement's operation is put at OPERATION of
    `scratch` (see `parse_batch`)."""
    if load64(table + IS_ODD):
        return NONE
    old = scratch + SCRATCH_HEAD_BYTES
    new = old + CELL_BYTES * most_columns
    order = new + CELL_BYTES * most_columns
    store64(scratch + _FREE, order + 8 * most_columns)
    operation = _statement(place, stop, table, old, new, order, scratch)
    if operation < 0:
        return NONE
    store64(scratch + OPERATION, operation)
    if operation == CREATED:
        return _put_image(new, np.int64(0), table, False, out)
    out = _put_image(old, np.int64(0), table, True, out)
    return _put_image(new, old, table, False, out) if operation == UPDATED else out


@entry
def parse_batch(
    offsets, rows, tail, shift, tables, numbers, scratch, most_columns, out, ends, operations,
    status,
):  # fmt: skip
    """Write the images of `rows` statements one after the other to `out`; returns their end.

    `offsets`: `rows + 1` int64 addresses; those of the rows from `tail` on are moved by `shift`, to
    where bytes after them can be read. `tables`: TABLE_BYTES each; `numbers`: int32 each, the table
    of each statement. `scratch` has SCRATCH_HEAD_BYTES, and room for the cells of two images, the
    numbers of `most_columns` columns and the texts that `read_value` writes. `ends`: the end of
    each statement's images, from `out` on, after a 0; `operations` and `status`: a byte each. Odd
    statements have no image."""
    first = out
    store64(ends, 0)
    for row in range(rows):
        place = offsets[row]
        stop = offsets[row + 1]
        if row >= tail:
            place += shift
            stop += shift
        table = tables + TABLE_BYTES * load32_signed(numbers + 4 * row)
        end = put_statement(place, stop, table, scratch, most_columns, out)
        if end < 0:
            store8(operations + row, 0)
            store8(status + row, ODD)
        else:
            store8(operations + row, load64(scratch + OPERATION))
            store8(status + row, SOUND)
            out = end
        ends[row + 1] = out - first
    return out
