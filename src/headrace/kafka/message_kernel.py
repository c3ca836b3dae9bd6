"""The kernel that passes rows to `rd_kafka_produceva`. Its file imports no module that changes
often, because all kernels are compiled again when one does."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,call-arg"

from __future__ import annotations

from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import (
    caller_of,
    load8,
    load32,
    load32_signed,
    store32,
    store64,
)

# rd_kafka_vu_t: a tag, and 64 bytes of a union.
ARGUMENT, _CONTENT = 72, 8
_RKT, _PARTITION, _VALUE, _KEY, _FLAGS, _HEADER = 2, 3, 4, 5, 7, 9
_ANY_PARTITION = -1
_COPIED = 2
ARGUMENTS = 6  # the maximum without headers

# Indexes of the kernel's argument block (int64). A column has four words: validity, offsets, data,
# shift.
KEYS, VALUES, NUMBERS, CONTENTS, SEQUENCES = 0, 4, 8, 12, 16
LISTS, LISTS_VALIDITY, LISTS_SHIFT = 20, 21, 22
TOPIC_OF, TOPICS, NAME_OF, NAMES, SEQUENCE_NAME = 23, 24, 25, 26, 27
HANDLE, PRODUCE, OUT, ERROR = 28, 29, 30, 31
WORDS = 32

_call3 = caller_of(3)


@part
def _is_valid(validity, bit):
    return validity == 0 or (load8(validity + (bit >> 3)) >> (bit & 7)) & 1 == 1


@part
def _put_cell(block, column, row, out):
    """Write pointer and length of a cell; the pointer of a null cell is 0, that of an empty one
    not."""
    bit = row + block[column + 3]
    if not _is_valid(block[column], bit):
        store64(out, 0)
        store64(out + 8, 0)
        return
    offsets = block[column + 1]
    start = load32(offsets + 4 * row)
    data = block[column + 2]
    store64(out, (data if data != 0 else block) + start)
    store64(out + 8, load32(offsets + 4 * row + 4) - start)


@part
def _put_header(block, name, column, row, out):
    store32(out, _HEADER)
    store64(out + _CONTENT, name)
    _put_cell(block, column, row, out + _CONTENT + 8)
    return out + ARGUMENT


@entry
def produce_rows(block, first, rows):
    """Produce the rows [first, rows). Returns `rows`, or the number of the row that was refused;
    then the error's address is in the block."""
    topic_of, topics = block[TOPIC_OF], block[TOPICS]
    numbers, numbers_validity = block[NUMBERS + 1], block[NUMBERS]
    numbers_shift = block[NUMBERS + 3]
    lists, lists_validity = block[LISTS], block[LISTS_VALIDITY]
    lists_shift = block[LISTS_SHIFT]
    name_of, names = block[NAME_OF], block[NAMES]
    sequence_name = block[SEQUENCE_NAME]
    handle, produce = block[HANDLE], block[PRODUCE]
    arguments = block[OUT]
    for row in range(first, rows):
        out = arguments
        store32(out, _RKT)
        store64(out + _CONTENT, topics[load32(topic_of + 4 * row)])
        out += ARGUMENT
        store32(out, _PARTITION)
        number = _ANY_PARTITION
        if numbers != 0 and _is_valid(numbers_validity, row + numbers_shift):
            number = load32_signed(numbers + 4 * row)
        store32(out + _CONTENT, number)
        out += ARGUMENT
        store32(out, _VALUE)
        _put_cell(block, VALUES, row, out + _CONTENT)
        out += ARGUMENT
        store32(out, _KEY)
        _put_cell(block, KEYS, row, out + _CONTENT)
        out += ARGUMENT
        store32(out, _FLAGS)
        store32(out + _CONTENT, _COPIED)
        out += ARGUMENT
        if lists != 0 and _is_valid(lists_validity, row + lists_shift):
            for header in range(load32(lists + 4 * row), load32(lists + 4 * row + 4)):
                name = names[load32(name_of + 4 * header)]
                out = _put_header(block, name, CONTENTS, header, out)
        if sequence_name != 0:
            out = _put_header(block, sequence_name, SEQUENCES, row, out)
        count = (out - arguments) // ARGUMENT
        error = _call3(produce, (handle, arguments, count))
        if error != 0:
            block[ERROR] = error
            return row
    return rows
