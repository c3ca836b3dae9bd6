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
    store32,
    store64,
)
from headrace.connect.kernels.text import put_int
from headrace.connect.records import Image
from headrace.connect.rows import (
    ADDRESSES,
    ROW,
    TRANSACTION,
    TRANSACTION_NUMBERS,
    offset_in_row,
    offset_in_transaction,
)
from headrace.converters.instructions import (
    AFTER_LENGTH,
    AFTER_TEXT,
    ALWAYS,
    CELL,
    CHOICE,
    CLOCK,
    CLOCK_MS,
    COLUMNS,
    COUNT,
    DONE,
    END,
    END_UNLESS_NULL,
    EPOCH,
    FIRST_ORDER,
    FIRST_ROW,
    FIRST_TRANSACTION,
    FULL,
    HAS_COUNTERPART,
    HAS_EXTRA,
    HAS_NEW,
    HAS_OLD,
    HAS_TRANSACTION,
    KEY_BYTES,
    KEY_CONSTANT,
    KEY_ENDS,
    KEY_GROWTH,
    KEY_GUARD,
    KEY_PRESENT,
    KEY_PROGRAM,
    KEYS,
    KEYS_CAPACITY,
    MISS_COUNT,
    MISSING,
    MOST_MISSES,
    MOST_ROWS,
    NEXT,
    NO_VALUE,
    NULL_LENGTH,
    NULL_TEXT,
    ORDER_INT,
    PART_BEGIN,
    PART_END,
    PATCH_BYTES,
    PREFIX,
    PREFIX_LENGTH,
    PROGRAMS,
    ROW_CHARACTER,
    ROW_INT,
    ROW_NUMBER,
    SCRATCH,
    SELECTED,
    SEQUENCE_LENGTH,
    SEQUENCES,
    SHAPE_COLUMNS,
    SHAPE_SOURCE_COLUMNS,
    SHAPE_WORDS,
    SHAPES,
    SIZE,
    START,
    STATUS,
    STRUCT,
    TEXT_MARK,
    TO_MARK,
    TRANSACTION_INT,
    UNAVAILABLE_LENGTH,
    UNAVAILABLE_TEXT,
    UNUSUAL,
    VALUE_BYTES,
    VALUE_CONSTANT,
    VALUE_ENDS,
    VALUE_GROWTH,
    VALUE_GUARD,
    VALUE_PRESENT,
    VALUE_PROGRAM,
    VALUES,
    VALUES_CAPACITY,
    A,
    B,
    C,
)
from headrace.converters.json.binary import encode_binary
from headrace.converters.json.cells import encode
from headrace.converters.prints import (
    TEXT_BYTES,
    patch,
    print_clock,
    print_transaction,
    put_sequence,
)

_NULL_BYTES = int.from_bytes(b"null", "little")
_QUOTE = ord('"')

# Rows without a miss after which the pass no longer looks for more.
_QUIET_ROWS = 8

# The scratch: texts of the row's transaction and of the clock (three), then the split cells of
# five images. Texts repeat from row to row, so they are printed once; each is an int64 length and
# 32 bytes.
_TEXT_OF_BYTE = TEXT_BYTES // 8  # a transaction's fields have 8 bytes
_CELLS = (TRANSACTION_NUMBERS + 3) * TEXT_BYTES
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
_SIZE = offset_in_row("size")
_TRANSACTION = offset_in_row("transaction")
_OPERATION = offset_in_row("operation")
_IMAGE_OF_TRANSACTION = offset_in_transaction("image")
_SIZE_OF_TRANSACTION = offset_in_transaction("size")

assert [offset_in_row(name) for name in ADDRESSES] == [0, 8, 16, 24]
assert [name.upper() for name in ADDRESSES] == [image.name for image in Image][:4]


def scratch_bytes(columns: int) -> int:
    """The scratch for shapes that read `columns` columns of an image."""
    return _CELLS + _SPLIT_IMAGES * CELL_BYTES * columns


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
            end = patch(state, address, length, at, out)
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
            text = texts + TEXT_BYTES * (TRANSACTION_NUMBERS + load64(at + A) - CLOCK_MS)
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
        images |= HAS_OLD
    image = load64(row + _NEW)
    if image:
        split(image, cells + image_bytes * _NEW_IMAGE, columns)
        images |= HAS_NEW
    image = load64(row + _COUNTERPART)
    if image:
        split(image, cells + image_bytes * _COUNTERPART_IMAGE, columns)
        images |= HAS_COUNTERPART
    image = load64(row + _EXTRA)
    if image:
        split(image, cells + image_bytes * _EXTRA_IMAGE, source_columns)
        images |= HAS_EXTRA
    image = load64(transaction + _IMAGE_OF_TRANSACTION)
    if image:
        split(image, cells + image_bytes * _TRANSACTION_IMAGE, source_columns)
        images |= HAS_TRANSACTION
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
    print_clock(state, texts)
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
            print_transaction(transaction, texts)
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
        put_sequence(row, epoch, sequence_length, sequence + sequence_length * done)
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
    print_transaction(transaction, texts)
    print_clock(state, texts)
    return _run(program, row, transaction, texts, state, cells, image_bytes, out)
