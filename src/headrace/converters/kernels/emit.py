"""The compiled pass from row images to keys, values and headers, in total order, for any mix of
shapes.

It splits a row's images and runs the programs of its shape over them (see `program.py`), each with
the interpreter of its form. Every argument is an address or a count. Images were checked against
their frames when they were indexed; the text of a cell is checked by its encoder.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import CELL_BYTES, split
from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import (
    caller_of,
    copy,
    load8,
    load32_signed,
    load64,
    store8,
    store32,
)
from headrace.connect.rows import TRANSACTION, TRANSACTION_NUMBERS, Flag, offset_in_row
from headrace.connect.rows import offset_in_transaction as in_transaction
from headrace.converters.instructions import (
    ALWAYS,
    COLUMNS,
    COUNT,
    DONE,
    EPOCH,
    FIRST_ROW,
    FIRST_TRANSACTION,
    FULL,
    HAS_COUNTERPART,
    HAS_EXTRA,
    HAS_NEW,
    HAS_OLD,
    HAS_TRANSACTION,
    HEADER_COLUMNS,
    HEADER_COUNT,
    HEADER_ENDS,
    HEADER_LISTS,
    HEADER_NAMES,
    HEADER_PRESENT,
    HEADER_SOURCE_COLUMNS,
    HEADER_WORDS,
    HEADERS,
    HEADERS_CAPACITY,
    KEY_BYTES,
    KEY_CONSTANT,
    KEY_ENDS,
    KEY_FORM,
    KEY_GROWTH,
    KEY_GUARD,
    KEY_PRESENT,
    KEY_PROGRAM,
    KEYS,
    KEYS_CAPACITY,
    MADE_COLUMNS,
    MADE_COUNT,
    MAX_MISSES,
    MAX_ROWS,
    MISS_COUNT,
    MISSING,
    NAME,
    NEXT,
    NO_VALUE,
    ON,
    ON_DELETE,
    ON_EVERY,
    PATCH_BYTES,
    PROGRAM,
    PROGRAM_CONSTANT,
    PROGRAM_FORM,
    PROGRAM_GROWTH,
    PROGRAM_GUARD,
    PROGRAMS,
    ROW_NUMBER,
    RUN_JSON,
    RUN_PLAIN,
    SCRATCH,
    SELECTED,
    SEQUENCE_LENGTH,
    SEQUENCES,
    SHAPE_COLUMNS,
    SHAPE_HEADER_COUNT,
    SHAPE_HEADERS,
    SHAPE_MADE,
    SHAPE_SOURCE_COLUMNS,
    SHAPE_WORDS,
    SHAPES,
    SPLIT_COLUMNS,
    START,
    STATUS,
    TEXT,
    TEXT_LENGTH,
    UNUSUAL,
    VALUE_BYTES,
    VALUE_CONSTANT,
    VALUE_ENDS,
    VALUE_FORM,
    VALUE_GROWTH,
    VALUE_GUARD,
    VALUE_PRESENT,
    VALUE_PROGRAM,
    VALUES,
    VALUES_CAPACITY,
    ProgramForm,
)
from headrace.converters.instructions import TRANSACTION as TRANSACTION_NUMBER
from headrace.converters.kernels.prints import (
    TEXT_BYTES,
    print_clock,
    print_transaction,
    put_next_sequence,
)
from headrace.converters.kernels.row_cells import (
    COUNTERPART,
    COUNTERPART_IMAGE,
    EXTRA,
    EXTRA_IMAGE,
    IMAGE_OF_TRANSACTION,
    NEW,
    NEW_IMAGE,
    OLD,
    ROW_SIZE,
    TRANSACTION_IMAGE,
    made_bytes,
)

# Number of rows without a miss after which the pass stops looking for more misses.
_QUIET_ROWS = 8

# Layout of the scratch: texts of the row's transaction and of the clock (three), then the split
# cells of five images.
_CELLS = (TRANSACTION_NUMBERS + 3) * TEXT_BYTES
_SPLIT_IMAGES = 5

_TRANSACTION_SIZE = TRANSACTION.itemsize
_SIZE = offset_in_row("size")
_TRANSACTION = offset_in_row("transaction")
_OPERATION = offset_in_row("operation")
_FLAGS, _PART = offset_in_row("flags"), offset_in_row("part")
_SIZE_OF_TRANSACTION = in_transaction("size")
_KEY_CHANGE, _CREATE_PART = int(Flag.KEY_CHANGE), 2
_JSON = int(ProgramForm.JSON)
_call = caller_of(8)


def scratch_bytes(columns: int) -> int:
    """Return the size of the scratch in bytes for shapes that read `columns` columns of an
    image."""
    return _CELLS + _SPLIT_IMAGES * CELL_BYTES * columns


@inlined_part
def _begin_transaction(transaction, texts, state):
    """Print the numbers of a transaction once, and note that the cells of its image are not
    split."""
    print_transaction(transaction, texts)
    state[TRANSACTION_NUMBER] += 1
    state[SPLIT_COLUMNS] = 0
    return transaction


@part
def _split_row(row, transaction, cells, image_bytes, columns, source_columns, state):
    """Split the first columns of the row's images, the transaction's image only once; returns the
    flags of the images that the row has."""
    images = np.int64(ALWAYS)
    image = load64(row + OLD)
    if image:
        split(image, cells, columns)
        images |= HAS_OLD
    image = load64(row + NEW)
    if image:
        split(image, cells + image_bytes * NEW_IMAGE, columns)
        images |= HAS_NEW
    image = load64(row + COUNTERPART)
    if image:
        split(image, cells + image_bytes * COUNTERPART_IMAGE, columns)
        images |= HAS_COUNTERPART
    image = load64(row + EXTRA)
    if image:
        split(image, cells + image_bytes * EXTRA_IMAGE, source_columns)
        images |= HAS_EXTRA
    image = load64(transaction + IMAGE_OF_TRANSACTION)
    if image:
        images |= HAS_TRANSACTION
        if source_columns > state[SPLIT_COLUMNS]:
            split(image, cells + image_bytes * TRANSACTION_IMAGE, source_columns)
            state[SPLIT_COLUMNS] = source_columns
    return images


@inlined_part
def _run(form, program, row, transaction, texts, state, cells, image_bytes, out):
    """Run a program of a form for a row; returns the end, MISSING or NO_VALUE. Interpreters are
    called by address, because inlined they would be compiled several times."""
    if form == _JSON:
        return _call(
            state[RUN_JSON],
            (program, row, transaction, texts, state, cells, image_bytes, out),
        )
    return _call(
        state[RUN_PLAIN],
        (program, row, transaction, texts, state, cells, image_bytes, out),
    )


@inlined_part
def _size_of(row, transaction, shape, state):
    """Bytes of the row's images and made cells. Stores the address of the made cells in `state`."""
    size = load64(row + _SIZE) + load64(transaction + _SIZE_OF_TRANSACTION)
    made_columns = shape[SHAPE_MADE]
    if made_columns:
        state[MADE_COLUMNS] = made_columns
        index = (row - state[FIRST_ROW]) // ROW_SIZE
        size += made_bytes(made_columns, shape[MADE_COUNT], index)
    return size


@entry
def emit(state):
    """Render the selected rows from START until COUNT, MAX_ROWS rows or a full buffer; returns the
    number of rendered rows.

    STATUS is the reason why the pass stopped, and NEXT the row where it stopped; MISSES are the
    cells that Python has to render. A row with such a cell is UNUSUAL: the rows after it are
    searched as well, so that Python renders many cells at a time, and NEXT is the first of these
    rows.
    """
    rows, selected = state[FIRST_ROW], state[SELECTED]
    transactions = state[FIRST_TRANSACTION]
    shapes, programs = state[SHAPES], state[PROGRAMS]
    count, most_rows = state[COUNT], state[MAX_ROWS]
    values, keys = state[VALUES], state[KEYS]
    values_capacity = state[VALUES_CAPACITY]
    keys_capacity = state[KEYS_CAPACITY]
    value_ends, key_ends = state[VALUE_ENDS], state[KEY_ENDS]
    value_present = state[VALUE_PRESENT]
    key_present = state[KEY_PRESENT]
    sequence = state[SEQUENCES]
    sequence_length = state[SEQUENCE_LENGTH]
    epoch = state[EPOCH]
    patch_bytes = state[PATCH_BYTES]
    texts = state[SCRATCH]
    cells = texts + _CELLS
    image_bytes = CELL_BYTES * state[COLUMNS]
    print_clock(state, texts)
    printed = np.int64(0)
    value_end = values
    key_end = keys
    emitted = 0
    status = DONE
    store32(value_ends, 0)
    store32(key_ends, 0)
    i = state[START]
    first_missing = np.int64(-1)
    quiet = 0
    before = np.int64(0)
    while i < count:
        row = rows + selected[i] * ROW_SIZE
        shape = programs + 8 * SHAPE_WORDS * shapes[i]
        transaction = transactions + _TRANSACTION_SIZE * load32_signed(row + _TRANSACTION)
        size = _size_of(row, transaction, shape, state)
        value_bound = shape[VALUE_GROWTH] * size + shape[VALUE_CONSTANT]
        key_bound = shape[KEY_GROWTH] * size + shape[KEY_CONSTANT]
        if (
            emitted >= most_rows
            or value_end - values + value_bound + patch_bytes > values_capacity
            or key_end - keys + key_bound + patch_bytes > keys_capacity
        ):
            status = FULL
            break
        if transaction != printed:
            printed = _begin_transaction(transaction, texts, state)
        images = _split_row(
            row, transaction, cells, image_bytes, shape[SHAPE_COLUMNS],
            shape[SHAPE_SOURCE_COLUMNS], state,
        )  # fmt: skip
        next_key = np.int64(NO_VALUE)
        next_value = np.int64(NO_VALUE)
        state[ROW_NUMBER] = i
        if images & shape[KEY_GUARD]:
            next_key = _run(
                shape[KEY_FORM], shape[KEY_PROGRAM], row, transaction,
                texts, state, cells, image_bytes, key_end,
            )  # fmt: skip
        if load8(row + _OPERATION) and images & shape[VALUE_GUARD]:
            next_value = _run(
                shape[VALUE_FORM], shape[VALUE_PROGRAM], row,
                transaction, texts, state, cells, image_bytes, value_end,
            )  # fmt: skip
        if next_key == MISSING or next_value == MISSING or first_missing >= 0:
            quiet = 0 if next_key == MISSING or next_value == MISSING else quiet + 1
            if first_missing < 0:
                first_missing = i
            full = state[MISS_COUNT] >= state[MAX_MISSES]
            if full or quiet == _QUIET_ROWS:
                break
            i += 1
            continue
        store8(key_present + emitted, 0 if next_key == NO_VALUE else 1)
        store8(value_present + emitted, 0 if next_value == NO_VALUE else 1)
        put_next_sequence(row, before, epoch, sequence_length, sequence + sequence_length * emitted)
        before = row
        if next_key != NO_VALUE:
            key_end = next_key
        if next_value != NO_VALUE:
            value_end = next_value
        emitted += 1
        store32(value_ends + 4 * emitted, value_end - values)
        store32(key_ends + 4 * emitted, key_end - keys)
        i += 1
    if first_missing >= 0:
        i = first_missing
        status = UNUSUAL
    state[NEXT] = i
    state[STATUS] = status
    state[VALUE_BYTES] = value_end - values
    state[KEY_BYTES] = key_end - keys
    return emitted


@inlined_part
def _is_on(header, row):
    """Whether a row has the header."""
    on = header[ON]
    if on == ON_EVERY:
        return True
    if load8(row + _FLAGS) & _KEY_CHANGE == 0:
        return False
    return (load64(row + _PART) != _CREATE_PART) == (on == ON_DELETE)


@entry
def emit_headers(state):
    """Render the headers of the selected rows from START to COUNT. STATUS is the reason why the
    pass stopped, and NEXT the row where it stopped: FULL if the row does not fit, UNUSUAL if Python
    has to render a cell."""
    rows, selected = state[FIRST_ROW], state[SELECTED]
    transactions = state[FIRST_TRANSACTION]
    shapes, programs = state[SHAPES], state[PROGRAMS]
    count, output = state[COUNT], state[HEADERS]
    capacity = state[HEADERS_CAPACITY]
    ends, lists = state[HEADER_ENDS], state[HEADER_LISTS]
    present, names = state[HEADER_PRESENT], state[HEADER_NAMES]
    number = state[HEADER_COUNT]
    patch_bytes = state[PATCH_BYTES]
    texts = state[SCRATCH]
    cells = texts + _CELLS
    image_bytes = CELL_BYTES * state[COLUMNS]
    print_clock(state, texts)
    printed = np.int64(0)
    out = output + load32_signed(ends + 4 * number)
    status = DONE
    i = state[START]
    first_missing = np.int64(-1)
    while i < count:
        row = rows + selected[i] * ROW_SIZE
        shape = programs + 8 * SHAPE_WORDS * shapes[i]
        transaction = transactions + _TRANSACTION_SIZE * load32_signed(row + _TRANSACTION)
        size = _size_of(row, transaction, shape, state)
        if transaction != printed:
            printed = _begin_transaction(transaction, texts, state)
        images = _split_row(
            row, transaction, cells, image_bytes, shape[HEADER_COLUMNS],
            shape[HEADER_SOURCE_COLUMNS], state,
        )  # fmt: skip
        state[ROW_NUMBER] = -1 - i
        header = shape[SHAPE_HEADERS]
        last = header + 8 * HEADER_WORDS * shape[SHAPE_HEADER_COUNT]
        missing = False
        added = number
        end = out
        while header < last:
            if _is_on(header, row):
                bound = header[PROGRAM_GROWTH] * size
                bound += header[PROGRAM_CONSTANT]
                if end - output + bound + patch_bytes > capacity:
                    status = FULL
                    break
                rendered = np.int64(NO_VALUE)
                program = header[PROGRAM]
                if program == 0:
                    length = header[TEXT_LENGTH]
                    if length >= 0:
                        rendered = copy(header[TEXT], length, end)
                elif images & header[PROGRAM_GUARD]:
                    rendered = _run(
                        header[PROGRAM_FORM], program, row, transaction, texts,
                        state, cells, image_bytes, end,
                    )  # fmt: skip
                if rendered == MISSING:
                    missing = True
                elif rendered != NO_VALUE:
                    end = rendered
                store8(present + added, 0 if rendered == NO_VALUE else 1)
                store32(names + 4 * added, header[NAME])
                added += 1
                store32(ends + 4 * added, end - output)
            header += 8 * HEADER_WORDS
        if status == FULL:
            break
        if missing and first_missing < 0:
            first_missing = i
        i += 1
        if first_missing >= 0:
            if state[MISS_COUNT] >= state[MAX_MISSES]:
                break
            continue
        out = end
        number = added
        store32(lists + 4 * i, number)
    if first_missing >= 0:
        i = first_missing
        status = UNUSUAL
    state[HEADER_COUNT] = number
    state[NEXT] = i
    state[STATUS] = status
