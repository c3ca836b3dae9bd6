"""The compiled pass from row images to JSON keys and values, in total order, any mix of shapes.

It interprets programs (see `program.py`): a list of instructions per shape, each a constant
fragment followed by one piece of data. Every argument is an address or a count. Images were
checked against their frames when they were indexed; a cell's own text is checked by its encoder.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.memory import (
    copy,
    kernel,
    load8,
    load16_be,
    load32,
    load32_be,
    load32_signed,
    load64,
    store8,
    store16,
    store32,
    store64,
)
from headrace.connect.rows import NULL, ROW, TRANSACTION, offset_in_row
from headrace.converters.json.cells import encode, put_int
from headrace.converters.json.numbers import wrapping_multiply

# Instructions: ten int64 each.
WORDS = 10
SIZE = WORDS * 8
A, B, C = 8, 16, 24  # operands
PREFIX, PREFIX_LENGTH = 32, 40
NULL_TEXT, NULL_LENGTH = 48, 56
UNAVAILABLE_TEXT, UNAVAILABLE_LENGTH = 64, 72

(
    END,
    NOTHING,
    ROW_INT,
    ROW_CHARACTER,
    TRANSACTION_INT,
    LSN_PAIR,
    CHOICE,
    CLOCK,
    CELL,
    STRUCT,
    ORDER_INT,
    TRANSACTION_LSN,
    END_UNLESS_NULL,
) = range(13)

# What `_run` and `emit_one` answer in place of the end of the output: cells are missing, or the
# root is null, so there is no key, value or header.
MISSING, NO_VALUE = -1, -2
_NULL_BYTES = int.from_bytes(b"null", "little")

# Why `emit` came back.
DONE, FULL, UNUSUAL = range(3)

# Words of `state` (int64).
(
    NEXT,
    STATUS,
    CLOCK_MS,
    CLOCK_US,
    CLOCK_NS,
    PATCH_TABLE,  # address, see patches.py
    PATCH_MASK,
    PATCH_BYTES,  # most bytes of patches that one row takes
    MISSES,  # address of (cell, length, instruction, row) entries
    MISS_COUNT,
    MOST_MISSES,
    ROW_NUMBER,  # of the row being rendered
    FIRST_ROW,  # address of the table's rows, and of their orders
    FIRST_ORDER,
    COLUMNS,  # that the scratch holds for each image
    VALUE_BYTES,  # what the rows that were rendered take
    KEY_BYTES,
) = range(17)
STATE_WORDS = 32

_SCATTER = 0x9E3779B97F4A7C1  # odd

# Rows without a miss after which the pass no longer looks for more.
_QUIET_ROWS = 8

# Words of a shape's entry in `programs` (int64). The bounds of the bytes that a row takes: a
# constant, and bytes for each byte of its images.
(
    KEY_PROGRAM,  # address; 0: no key
    VALUE_PROGRAM,
    KEY_CONSTANT,
    VALUE_CONSTANT,
    KEY_GROWTH,
    VALUE_GROWTH,
    SHAPE_COLUMNS,  # that the programs read
    KEY_GUARD,  # see GUARDS
    VALUE_GUARD,
) = range(9)
SHAPE_WORDS = 9

OLD_THERE, NEW_THERE, OTHER_THERE, ROW_THERE = 1, 2, 4, 8
GUARDS = (OLD_THERE, NEW_THERE, OTHER_THERE, OLD_THERE | NEW_THERE)
"""By Image: what a row must have one of, or the root is null. ROW_THERE: the root has no guard."""

# The scratch: texts of the row's transaction and of the clock (three), then the cells of three
# images. Texts repeat from row to row, so they are printed once; each is an int64 length and 32
# bytes.
_TEXT_BYTES = 40
_TRANSACTION_TEXTS = TRANSACTION.itemsize // 8
_CELLS = (_TRANSACTION_TEXTS + 3) * _TEXT_BYTES
_CELL_BYTES = 24
SEQUENCE_LENGTH = 41

_ROW_SIZE = ROW.itemsize
_TRANSACTION_SIZE = TRANSACTION.itemsize
_OLD = offset_in_row("old")
_NEW = offset_in_row("new")
_OTHER = offset_in_row("other")
_POSITION = offset_in_row("position")
_LSN = offset_in_row("lsn")
_ORDINAL = offset_in_row("ordinal")
_PART = offset_in_row("part")
_SIZE = offset_in_row("size")
_TRANSACTION = offset_in_row("transaction")
_OPERATION = offset_in_row("operation")
_KIND = offset_in_row("kind")
_LAST_COMMIT = int(TRANSACTION.fields["last_commit"][1])  # type: ignore[index]
_NULL = int(NULL)
_HEXADECIMAL = np.frombuffer(b"".join(b"%02x" % i for i in range(256)), np.uint16)


def scratch_bytes(columns: int) -> int:
    """The scratch for shapes that read `columns` columns of an image."""
    return _CELLS + 3 * _CELL_BYTES * columns


@kernel
def split(image, cells, columns):
    """Image → one (kind, address, length) int64 triple for each of the first `columns` columns;
    the kind of columns that the image does not have is 0."""
    count = load16_be(image)
    if count < columns:
        for column in range(count, columns):
            store64(cells + _CELL_BYTES * column, 0)
        columns = count
    place = image + 2
    for column in range(columns):
        kind = load8(place)
        place += 1
        target = cells + _CELL_BYTES * column
        store64(target, kind)
        if kind == 116:
            length = load32_be(place)
            store64(target + 8, place + 4)
            store64(target + 16, length)
            place += 4 + length


@kernel
def _hexadecimal(value, size, out):
    """`size` bytes of `value` as two digits each."""
    for i in range(size):
        store16(out + 2 * i, np.int64(_HEXADECIMAL[(value >> (8 * (size - 1 - i))) & 255]))


@kernel
def _print_transaction(transaction, texts):
    for i in range(_TRANSACTION_TEXTS):
        text = texts + _TEXT_BYTES * i
        value = load64(transaction + 8 * i)
        if value == _NULL:
            store64(text, -1)
        else:
            store64(text, put_int(value, text + 8) - text - 8)


@kernel
def _print_clock(state, texts):
    for i in range(3):
        text = texts + _TEXT_BYTES * (_TRANSACTION_TEXTS + i)
        value = load64(state + 8 * (CLOCK_MS + i))
        store64(text, put_int(value, text + 8) - text - 8)


@kernel
def patch_slot(address, instruction):
    """Where a patch's search begins."""
    return (wrapping_multiply(address ^ (instruction << 17), _SCATTER) >> 23) & 0xFFFFFFFFFF


@kernel
def _patch(state, address, length, instruction, out):
    """Copy what Python rendered for the cell at `address`, which key and value may show in
    different ways; returns the new end, or -1 and the miss is noted."""
    table = load64(state + 8 * PATCH_TABLE)
    mask = load64(state + 8 * PATCH_MASK)
    slot = patch_slot(address, instruction) & mask
    while True:
        patch = table + 32 * slot
        found = load64(patch)
        if found == 0:
            break
        if found == address and load64(patch + 8) == instruction:
            return copy(load64(patch + 16), load64(patch + 24), out)
        slot = (slot + 1) & mask
    count = load64(state + 8 * MISS_COUNT)
    if count < load64(state + 8 * MOST_MISSES):
        miss = load64(state + 8 * MISSES) + 32 * count
        store64(miss, address)
        store64(miss + 8, length)
        store64(miss + 16, instruction)
        store64(miss + 24, load64(state + 8 * ROW_NUMBER))
        store64(state + 8 * MISS_COUNT, count + 1)
    return np.int64(-1)


@kernel
def _run(program, row, texts, state, old, new, other, out):
    """One program over one row; returns the end of the output, MISSING or NO_VALUE."""
    at = program
    begin = out
    missed = False
    old_image = load64(row + _OLD)
    new_image = load64(row + _NEW)
    while True:
        code = load64(at)
        out = copy(load64(at + PREFIX), load64(at + PREFIX_LENGTH), out)
        if code == CELL:
            which = load64(at + A)
            column = load64(at + B)
            cells = new
            if which == 0 or (which == 3 and new_image == 0):
                cells = old
            elif which == 2:
                cells = other
            cell = cells + 24 * column
            kind = load64(cell)
            if kind == 117 and which != 0:
                # Unchanged TOAST: the old image may have the value (all columns under REPLICA
                # IDENTITY FULL, otherwise those of the key). The create half of a key change
                # finds the old image behind `other`.
                stand_in = cell
                if old_image:
                    stand_in = old + 24 * column
                elif load64(row + _OTHER):
                    stand_in = other + 24 * column
                if load64(stand_in) == 116:
                    cell = stand_in
                    kind = np.int64(116)
            if kind == 116:
                address = load64(cell + 8)
                length = load64(cell + 16)
                end = encode(address, length, load64(at + C) & 255, load64(at + C) >> 8, out)
                if end < 0:
                    end = _patch(state, address, length, at, out)
                if end < 0:
                    missed = True
                else:
                    out = end
            elif kind == 117:
                out = copy(load64(at + UNAVAILABLE_TEXT), load64(at + UNAVAILABLE_LENGTH), out)
            else:
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
        elif code == ROW_INT:
            out = put_int(load64(row + load64(at + A)), out)
        elif code == TRANSACTION_INT:
            text = texts + 5 * load64(at + A)
            length = load64(text)
            if length < 0:
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
            else:
                out = copy(text + 8, length, out)
        elif code == CLOCK:
            text = texts + _TEXT_BYTES * (_TRANSACTION_TEXTS + load64(at + A) - CLOCK_MS)
            out = copy(text + 8, load64(text), out)
        elif code == CHOICE:
            text = load64(at + B) + 16 * load8(row + load64(at + A))
            out = copy(load64(text), load64(text + 8), out)
        elif code == ROW_CHARACTER:
            character = load8(row + load64(at + A))
            if character == 0:
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
            else:
                store8(out, 34)
                store8(out + 1, character)
                store8(out + 2, 34)
                out += 3
        elif code == LSN_PAIR:
            # A JSON array inside a JSON string: its quotes are escaped.
            store8(out, 34)
            store8(out + 1, 91)
            out += 2
            text = texts + 5 * _LAST_COMMIT
            length = load64(text)
            if length < 0:
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
            else:
                store8(out, 92)
                store8(out + 1, 34)
                out = copy(text + 8, length, out + 2)
                store8(out, 92)
                store8(out + 1, 34)
                out += 2
            store8(out, 44)
            store8(out + 1, 92)
            store8(out + 2, 34)
            out = put_int(load64(row + _LSN), out + 3)
            store8(out, 92)
            store8(out + 1, 34)
            store8(out + 2, 93)
            store8(out + 3, 34)
            out += 4
        elif code == ORDER_INT:
            index = (row - load64(state + 8 * FIRST_ROW)) // _ROW_SIZE
            order = load64(state + 8 * FIRST_ORDER) + 16 * index
            out = put_int(load64(order + load64(at + A)), out)
        elif code == TRANSACTION_LSN:
            length = load64(texts)  # the first text is the xid
            if length < 0:
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
            else:
                store8(out, 34)
                out = copy(texts + 8, length, out + 1)
                store8(out, 58)
                out = put_int(load64(row + _LSN), out + 1)
                store8(out, 34)
                out += 1
        elif code == STRUCT:
            image = load64(at + A)
            present = new_image
            if image == 0:
                present = old_image
            elif image == 2:
                present = load64(row + _OTHER)
            elif image == 3 and new_image == 0:
                present = old_image
            if present == 0:
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
                at = load64(at + B)
                continue
        elif code == END:
            return np.int64(MISSING) if missed else out
        elif code == END_UNLESS_NULL:
            if missed:
                return np.int64(MISSING)
            is_null = load32(begin + load64(at + A)) == _NULL_BYTES
            return np.int64(NO_VALUE) if is_null and out - begin == load64(at + B) else out
        at += SIZE


@kernel
def _split_row(row, old, new, other, columns):
    """Split the row's images; returns which of them it has."""
    there = np.int64(ROW_THERE)
    image = load64(row + _OLD)
    if image:
        split(image, old, columns)
        there |= OLD_THERE
    image = load64(row + _NEW)
    if image:
        split(image, new, columns)
        there |= NEW_THERE
    image = load64(row + _OTHER)
    if image:
        split(image, other, columns)
        there |= OTHER_THERE
    return there


@kernel
def emit(
    rows,
    selected,
    shapes,
    start,
    count,
    programs,
    transactions,
    state,
    most_rows,
    values,
    values_capacity,
    value_ends,
    value_present,
    keys,
    keys_capacity,
    key_ends,
    key_present,
    sequences,
    scratch,
    epoch,
):
    """Render rows start… of `selected` (int64 row indexes) until `count`, `most_rows` rows or a
    full buffer; returns the number rendered.

    `shapes` (int64 per selected row) picks from `programs` (SHAPE_WORDS int64 per shape). `state`
    says why the pass stopped and where, and leads to the cells that Python rendered. A row with a
    cell that is not there yet is UNUSUAL: the rows behind it are looked through as well, so that
    Python renders many cells at a time, and NEXT is the first of them.
    """
    texts = scratch
    image_bytes = _CELL_BYTES * load64(state + 8 * COLUMNS)
    old = scratch + _CELLS
    new = old + image_bytes
    other = new + image_bytes
    _print_clock(state, texts)
    printed = np.int64(0)
    value_end = values
    key_end = keys
    done = 0
    status = DONE
    store32(value_ends, 0)
    store32(key_ends, 0)
    i = start
    first_missing = np.int64(-1)
    quiet = 0
    extra = load64(state + 8 * PATCH_BYTES)
    while i < count:
        row = rows + load64(selected + 8 * i) * _ROW_SIZE
        shape = programs + 8 * SHAPE_WORDS * load64(shapes + 8 * i)
        size = load64(row + _SIZE)
        value_bound = load64(shape + 8 * VALUE_GROWTH) * size + load64(shape + 8 * VALUE_CONSTANT)
        key_bound = load64(shape + 8 * KEY_GROWTH) * size + load64(shape + 8 * KEY_CONSTANT)
        if (
            done >= most_rows
            or value_end - values + value_bound + extra > values_capacity
            or key_end - keys + key_bound + extra > keys_capacity
        ):
            status = FULL
            break
        transaction = transactions + _TRANSACTION_SIZE * load32_signed(row + _TRANSACTION)
        if transaction != printed:
            _print_transaction(transaction, texts)
            printed = transaction
        there = _split_row(row, old, new, other, load64(shape + 8 * SHAPE_COLUMNS))
        next_key = np.int64(NO_VALUE)
        next_value = np.int64(NO_VALUE)
        program = load64(shape + 8 * KEY_PROGRAM)
        store64(state + 8 * ROW_NUMBER, i)
        if there & load64(shape + 8 * KEY_GUARD):
            next_key = _run(program, row, texts, state, old, new, other, key_end)
        if load8(row + _OPERATION) and there & load64(shape + 8 * VALUE_GUARD):
            program = load64(shape + 8 * VALUE_PROGRAM)
            next_value = _run(program, row, texts, state, old, new, other, value_end)
        if next_key == MISSING or next_value == MISSING or first_missing >= 0:
            quiet = 0 if next_key == MISSING or next_value == MISSING else quiet + 1
            if first_missing < 0:
                first_missing = i
            full = load64(state + 8 * MISS_COUNT) >= load64(state + 8 * MOST_MISSES)
            if full or quiet == _QUIET_ROWS:
                break
            i += 1
            continue
        store8(key_present + done, 0 if next_key == NO_VALUE else 1)
        store8(value_present + done, 0 if next_value == NO_VALUE else 1)
        sequence = sequences + SEQUENCE_LENGTH * done
        _hexadecimal(epoch, 2, sequence)
        _hexadecimal(load64(row + _POSITION), 8, sequence + 4)
        store8(sequence + 20, 48 + load8(row + _KIND))
        _hexadecimal(load64(row + _ORDINAL), 6, sequence + 21)
        _hexadecimal(load64(row + _PART), 4, sequence + 33)
        if next_key != NO_VALUE:
            key_end = next_key
        if next_value != NO_VALUE:
            value_end = next_value
        done += 1
        store32(value_ends + 4 * done, value_end - values)
        store32(key_ends + 4 * done, key_end - keys)
        i += 1
    if first_missing >= 0:
        i = first_missing
        status = UNUSUAL
    store64(state + 8 * NEXT, i)
    store64(state + 8 * STATUS, status)
    store64(state + 8 * VALUE_BYTES, value_end - values)
    store64(state + 8 * KEY_BYTES, key_end - keys)
    return done


@kernel
def emit_one(program, guard, columns, row, transactions, state, scratch, out):
    """One program over one row (a header of a key change), which reads `columns` columns and whose
    root has a guard; returns the end, MISSING or NO_VALUE."""
    image_bytes = _CELL_BYTES * load64(state + 8 * COLUMNS)
    old = scratch + _CELLS
    new = old + image_bytes
    other = new + image_bytes
    if _split_row(row, old, new, other, columns) & guard == 0:
        return np.int64(NO_VALUE)
    transaction = transactions + _TRANSACTION_SIZE * load32_signed(row + _TRANSACTION)
    _print_transaction(transaction, scratch)
    _print_clock(state, scratch)
    return _run(program, row, scratch, state, old, new, other, out)
