"""The compiled pass from row images to JSON keys and values, in total order, any mix of shapes.

It interprets programs (see `program.py`): a list of instructions per shape, each a constant
fragment followed by one piece of data. Every argument is an address or a count. Images were
checked against their frames when they were indexed; a cell's own text is checked by its encoder.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import BINARY, CELL_BYTES, UNAVAILABLE, has_value, split
from headrace.connect.kernels.memory import (
    copy,
    inlined_kernel,
    kernel,
    load8,
    load32,
    load32_signed,
    load64,
    store8,
    store16,
    store32,
    store64,
)
from headrace.connect.kernels.text import DIGIT_ZEROS, put_int, wrapping_multiply
from headrace.connect.records import Image
from headrace.connect.rows import (
    ADDRESSES,
    NULL,
    ROW,
    SHORT_SEQUENCE_LENGTH,
    TRANSACTION,
    TRANSACTION_NUMBERS,
    offset_in_row,
    offset_in_transaction,
)
from headrace.converters.json.binary import encode_binary
from headrace.converters.json.cells import encode

# Instructions: ten int64 each.
WORDS = 10
SIZE = WORDS * 8
A, B, C = 8, 16, 24  # operands
PREFIX, PREFIX_LENGTH = 32, 40
NULL_TEXT, NULL_LENGTH = 48, 56
UNAVAILABLE_TEXT, UNAVAILABLE_LENGTH = 64, 72
AFTER_TEXT, AFTER_LENGTH = 64, 72  # of TRANSACTION_INT: behind a number, not behind a null

(
    END,
    NOTHING,
    ROW_INT,
    ROW_CHARACTER,
    TRANSACTION_INT,  # B: bytes to take back where it is null, or TO_MARK; C: where to go on
    CHOICE,
    CLOCK,
    CELL,
    STRUCT,
    ORDER_INT,
    TEXT_MARK,  # a Concat begins, which is null where a part is
    PART_BEGIN,  # any node as a part of a Concat …
    PART_END,  # … and its end: A and B are B and C of TRANSACTION_INT
    END_UNLESS_NULL,
) = range(14)
TO_MARK = -1

# What `_run` and `emit_one` answer in place of the end of the output: cells are missing, or the
# root is null, so there is no key, value or header.
MISSING, NO_VALUE = -1, -2
_NULL_BYTES = int.from_bytes(b"null", "little")
_QUOTE = ord('"')

# Why `emit` came back.
DONE, FULL, UNUSUAL = range(3)

# Words of `state` (int64). `address` is an array's.
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
    FIRST_ROW,  # address of the table's rows, of their transactions and of their orders
    FIRST_TRANSACTION,
    FIRST_ORDER,
    SCRATCH,  # address
    COLUMNS,  # that the scratch holds for each image
    VALUE_BYTES,  # what the rows that were rendered take
    KEY_BYTES,
    SELECTED,  # address of int64 row indexes
    SHAPES,  # address of int64 per selected row: which of PROGRAMS
    PROGRAMS,  # address of SHAPE_WORDS int64 per shape
    START,  # selected rows to render: the first, and the end
    COUNT,
    MOST_ROWS,
    VALUES,  # addresses of the output, its bytes, and where each row's ends and presence go
    VALUES_CAPACITY,
    VALUE_ENDS,
    VALUE_PRESENT,
    KEYS,
    KEYS_CAPACITY,
    KEY_ENDS,
    KEY_PRESENT,
    SEQUENCES,  # address
    SEQUENCE_LENGTH,
    EPOCH,
) = range(36)
STATE_WORDS = 40

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
    SHAPE_COLUMNS,  # that the programs read of images of the table's rows
    SHAPE_SOURCE_COLUMNS,  # and of images of source fields
    KEY_GUARD,  # see GUARDS
    VALUE_GUARD,
) = range(10)
SHAPE_WORDS = 10

_HAS_OLD, _HAS_NEW, _HAS_COUNTERPART, _HAS_EXTRA, _HAS_TRANSACTION, ALWAYS = 1, 2, 4, 8, 16, 32
GUARDS = (
    _HAS_OLD,
    _HAS_NEW,
    _HAS_COUNTERPART,
    _HAS_EXTRA,
    _HAS_TRANSACTION,
    _HAS_OLD | _HAS_NEW,
)
"""By Image: what a row must have one of, or the root is null. ALWAYS: the root has no guard."""

# The scratch: texts of the row's transaction and of the clock (three), then the split cells of
# five images. Texts repeat from row to row, so they are printed once; each is an int64 length and
# 32 bytes.
_TEXT_BYTES = 40
_TEXT_OF_BYTE = _TEXT_BYTES // 8  # a transaction's fields have 8 bytes
_CELLS = (TRANSACTION_NUMBERS + 3) * _TEXT_BYTES
_SPLIT_IMAGES = 5
_OLD_IMAGE, _NEW_IMAGE, _COUNTERPART_IMAGE = (
    int(Image.OLD),
    int(Image.NEW),
    int(Image.COUNTERPART),
)
_EXTRA_IMAGE, _TRANSACTION_IMAGE, _KEY_IMAGE = (
    int(Image.EXTRA),
    int(Image.TRANSACTION),
    int(Image.KEY),
)

_ROW_SIZE = ROW.itemsize
_TRANSACTION_SIZE = TRANSACTION.itemsize
_OLD, _NEW = offset_in_row("old"), offset_in_row("new")
_COUNTERPART, _EXTRA = offset_in_row("counterpart"), offset_in_row("extra")
_POSITION, _POSITION_HIGH = offset_in_row("position"), offset_in_row("position_high")
_ORDINAL = offset_in_row("ordinal")
_PART = offset_in_row("part")
_SIZE = offset_in_row("size")
_TRANSACTION = offset_in_row("transaction")
_OPERATION = offset_in_row("operation")
_KIND = offset_in_row("kind")
_IMAGE_OF_TRANSACTION = offset_in_transaction("image")
_SIZE_OF_TRANSACTION = offset_in_transaction("size")
_NULL = int(NULL)
_HEXADECIMAL = np.frombuffer(b"".join(b"%02x" % i for i in range(256)), np.uint16)

assert [offset_in_row(name) for name in ADDRESSES] == [0, 8, 16, 24]
assert [name.upper() for name in ADDRESSES] == [image.name for image in Image][:4]


def scratch_bytes(columns: int) -> int:
    """The scratch for shapes that read `columns` columns of an image."""
    return _CELLS + _SPLIT_IMAGES * CELL_BYTES * columns


@kernel
def _hexadecimal(value, size, out):
    """`size` bytes of `value` as two digits each; returns their end."""
    for i in range(size):
        store16(out + 2 * i, np.int64(_HEXADECIMAL[(value >> (8 * (size - 1 - i))) & 255]))
    return out + 2 * size


@inlined_kernel
def _put_sequence(row, epoch, length, out):
    """Epoch(4), position(32, or 16 in the short form), kind(1), ordinal(12), part(8)."""
    out = _hexadecimal(epoch, 2, out)
    high = load64(row + _POSITION_HIGH)
    if length != SHORT_SEQUENCE_LENGTH and high == 0:  # as it is where 8 bytes are enough
        store64(out, DIGIT_ZEROS)
        store64(out + 8, DIGIT_ZEROS)
        out += 16
    elif length != SHORT_SEQUENCE_LENGTH:
        out = _hexadecimal(high, 8, out)
    out = _hexadecimal(load64(row + _POSITION), 8, out)
    store8(out, 48 + load8(row + _KIND))
    out = _hexadecimal(load64(row + _ORDINAL), 6, out + 1)
    _hexadecimal(load64(row + _PART), 4, out)


@kernel
def _print_transaction(transaction, texts):
    for i in range(TRANSACTION_NUMBERS):
        text = texts + _TEXT_BYTES * i
        value = load64(transaction + 8 * i)
        if value == _NULL:
            store64(text, -1)
        else:
            store64(text, put_int(value, text + 8) - text - 8)


@kernel
def _print_clock(state, texts):
    for i in range(3):
        text = texts + _TEXT_BYTES * (TRANSACTION_NUMBERS + i)
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
    bucket = patch_slot(address, instruction) & mask
    while True:
        patch = table + 32 * bucket
        cell = load64(patch)
        if cell == 0:
            break
        if cell == address and load64(patch + 8) == instruction:
            return copy(load64(patch + 16), load64(patch + 24), out)
        bucket = (bucket + 1) & mask
    count = load64(state + 8 * MISS_COUNT)
    if count < load64(state + 8 * MOST_MISSES):
        miss = load64(state + 8 * MISSES) + 32 * count
        store64(miss, address)
        store64(miss + 8, length)
        store64(miss + 16, instruction)
        store64(miss + 24, load64(state + 8 * ROW_NUMBER))
        store64(state + 8 * MISS_COUNT, count + 1)
    return np.int64(-1)


@inlined_kernel
def _image(row, transaction, which):
    """Address of an image of the row; 0: it has none."""
    if which == _TRANSACTION_IMAGE:
        return load64(transaction + _IMAGE_OF_TRANSACTION)
    if which == _KEY_IMAGE:
        new = load64(row + _NEW)
        return new if new else load64(row + _OLD)
    return load64(row + 8 * which)


@inlined_kernel
def _cell(at, row, cells, image_bytes, state, out):
    """The cell that an instruction shows; returns its end, or MISSING."""
    which = load64(at + A)
    if which == _KEY_IMAGE:
        which = _NEW_IMAGE if load64(row + _NEW) else _OLD_IMAGE
    column = CELL_BYTES * load64(at + B)
    cell = cells + image_bytes * which + column
    kind = load64(cell)
    if kind == UNAVAILABLE and (which == _NEW_IMAGE or which == _COUNTERPART_IMAGE):  # noqa: SIM109
        # Unchanged: the old image may have the value (all columns under REPLICA IDENTITY FULL,
        # otherwise those of the key). The create half of a key change finds the old image behind
        # its counterpart.
        stand_in = cell
        if load64(row + _OLD):
            stand_in = cells + column
        elif load64(row + _COUNTERPART):
            stand_in = cells + image_bytes * _COUNTERPART_IMAGE + column
        if has_value(load64(stand_in)):
            cell = stand_in
            kind = load64(cell)
    if has_value(kind):
        address = load64(cell + 8)
        length = load64(cell + 16)
        encoding = load64(at + C)
        if kind == BINARY:
            end = encode_binary(address, length, encoding & 255, out)
        else:
            end = encode(address, length, encoding & 255, encoding >> 8, out)
        if end < 0:
            end = _patch(state, address, length, at, out)
        return end
    if kind == UNAVAILABLE:
        return copy(load64(at + UNAVAILABLE_TEXT), load64(at + UNAVAILABLE_LENGTH), out)
    return copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)


@kernel
def _run(program, row, transaction, texts, state, cells, image_bytes, out):
    """One program over one row; returns the end of the output, MISSING or NO_VALUE."""
    at = program
    begin = out
    mark = out
    part = out
    missed = False
    while True:
        code = load64(at)
        out = copy(load64(at + PREFIX), load64(at + PREFIX_LENGTH), out)
        if code == CELL:
            end = _cell(at, row, cells, image_bytes, state, out)
            if end < 0:
                missed = True
            else:
                out = end
        elif code == ROW_INT:
            out = put_int(load64(row + load64(at + A)), out)
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
            text = texts + _TEXT_BYTES * (TRANSACTION_NUMBERS + load64(at + A) - CLOCK_MS)
            out = copy(text + 8, load64(text), out)
        elif code == CHOICE:
            # C: the last text, for all bytes from there on.
            choice = min(load8(row + load64(at + A)), load64(at + C))
            text = load64(at + B) + 16 * choice
            out = copy(load64(text), load64(text + 8), out)
        elif code == ROW_CHARACTER:
            character = load8(row + load64(at + A))
            if character == 0:
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
            else:
                store8(out, _QUOTE)
                store8(out + 1, character)
                store8(out + 2, _QUOTE)
                out += 3
        elif code == ORDER_INT:
            index = (row - load64(state + 8 * FIRST_ROW)) // _ROW_SIZE
            order = load64(state + 8 * FIRST_ORDER) + 16 * index
            out = put_int(load64(order + load64(at + A)), out)
        elif code == STRUCT:
            if _image(row, transaction, load64(at + A)) == 0:
                out = copy(load64(at + NULL_TEXT), load64(at + NULL_LENGTH), out)
                at = load64(at + B)
                continue
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
        elif code == END:
            return np.int64(MISSING) if missed else out
        elif code == END_UNLESS_NULL:
            if missed:
                return np.int64(MISSING)
            is_null = load32(begin + load64(at + A)) == _NULL_BYTES
            return np.int64(NO_VALUE) if is_null and out - begin == load64(at + B) else out
        at += SIZE


@kernel
def _split_row(row, transaction, cells, image_bytes, columns, source_columns):
    """Split the first columns of the row's images; returns which of them it has."""
    images = np.int64(ALWAYS)
    image = load64(row + _OLD)
    if image:
        split(image, cells, columns)
        images |= _HAS_OLD
    image = load64(row + _NEW)
    if image:
        split(image, cells + image_bytes * _NEW_IMAGE, columns)
        images |= _HAS_NEW
    image = load64(row + _COUNTERPART)
    if image:
        split(image, cells + image_bytes * _COUNTERPART_IMAGE, columns)
        images |= _HAS_COUNTERPART
    image = load64(row + _EXTRA)
    if image:
        split(image, cells + image_bytes * _EXTRA_IMAGE, source_columns)
        images |= _HAS_EXTRA
    image = load64(transaction + _IMAGE_OF_TRANSACTION)
    if image:
        split(image, cells + image_bytes * _TRANSACTION_IMAGE, source_columns)
        images |= _HAS_TRANSACTION
    return images


@kernel
def emit(state):
    """Render the selected rows from START until COUNT, MOST_ROWS rows or a full buffer; returns
    the number rendered.

    STATUS says why the pass stopped and NEXT where; MISSES are the cells that Python renders. A
    row with a cell that is not there yet is UNUSUAL: the rows behind it are looked through as
    well, so that Python renders many cells at a time, and NEXT is the first of them.
    """
    rows, selected = load64(state + 8 * FIRST_ROW), load64(state + 8 * SELECTED)
    transactions = load64(state + 8 * FIRST_TRANSACTION)
    shapes, programs = load64(state + 8 * SHAPES), load64(state + 8 * PROGRAMS)
    count, most_rows = load64(state + 8 * COUNT), load64(state + 8 * MOST_ROWS)
    values, keys = load64(state + 8 * VALUES), load64(state + 8 * KEYS)
    values_capacity = load64(state + 8 * VALUES_CAPACITY)
    keys_capacity = load64(state + 8 * KEYS_CAPACITY)
    value_ends, key_ends = load64(state + 8 * VALUE_ENDS), load64(state + 8 * KEY_ENDS)
    value_present = load64(state + 8 * VALUE_PRESENT)
    key_present = load64(state + 8 * KEY_PRESENT)
    sequence = load64(state + 8 * SEQUENCES)
    sequence_length = load64(state + 8 * SEQUENCE_LENGTH)
    epoch = load64(state + 8 * EPOCH)
    patch_bytes = load64(state + 8 * PATCH_BYTES)
    texts = load64(state + 8 * SCRATCH)
    cells = texts + _CELLS
    image_bytes = CELL_BYTES * load64(state + 8 * COLUMNS)
    _print_clock(state, texts)
    printed = np.int64(0)
    value_end = values
    key_end = keys
    done = 0
    status = DONE
    store32(value_ends, 0)
    store32(key_ends, 0)
    i = load64(state + 8 * START)
    first_missing = np.int64(-1)
    quiet = 0
    while i < count:
        row = rows + load64(selected + 8 * i) * _ROW_SIZE
        shape = programs + 8 * SHAPE_WORDS * load64(shapes + 8 * i)
        transaction = transactions + _TRANSACTION_SIZE * load32_signed(row + _TRANSACTION)
        size = load64(row + _SIZE) + load64(transaction + _SIZE_OF_TRANSACTION)
        value_bound = load64(shape + 8 * VALUE_GROWTH) * size + load64(shape + 8 * VALUE_CONSTANT)
        key_bound = load64(shape + 8 * KEY_GROWTH) * size + load64(shape + 8 * KEY_CONSTANT)
        if (
            done >= most_rows
            or value_end - values + value_bound + patch_bytes > values_capacity
            or key_end - keys + key_bound + patch_bytes > keys_capacity
        ):
            status = FULL
            break
        if transaction != printed:
            _print_transaction(transaction, texts)
            printed = transaction
        images = _split_row(
            row, transaction, cells, image_bytes, load64(shape + 8 * SHAPE_COLUMNS),
            load64(shape + 8 * SHAPE_SOURCE_COLUMNS),
        )  # fmt: skip
        next_key = np.int64(NO_VALUE)
        next_value = np.int64(NO_VALUE)
        store64(state + 8 * ROW_NUMBER, i)
        if images & load64(shape + 8 * KEY_GUARD):
            program = load64(shape + 8 * KEY_PROGRAM)
            next_key = _run(program, row, transaction, texts, state, cells, image_bytes, key_end)
        if load8(row + _OPERATION) and images & load64(shape + 8 * VALUE_GUARD):
            program = load64(shape + 8 * VALUE_PROGRAM)
            next_value = _run(
                program, row, transaction, texts, state, cells, image_bytes, value_end
            )
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
        _put_sequence(row, epoch, sequence_length, sequence + sequence_length * done)
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
def emit_one(program, guard, columns, source_columns, row, state, out):
    """One program over one row (a header of a key change), which reads so many columns of images
    and whose root has a guard; returns the end, MISSING or NO_VALUE."""
    texts = load64(state + 8 * SCRATCH)
    cells = texts + _CELLS
    image_bytes = CELL_BYTES * load64(state + 8 * COLUMNS)
    transactions = load64(state + 8 * FIRST_TRANSACTION)
    transaction = transactions + _TRANSACTION_SIZE * load32_signed(row + _TRANSACTION)
    if _split_row(row, transaction, cells, image_bytes, columns, source_columns) & guard == 0:
        return np.int64(NO_VALUE)
    _print_transaction(transaction, texts)
    _print_clock(state, texts)
    return _run(program, row, transaction, texts, state, cells, image_bytes, out)
