"""Texts that the compiled pass prints once per row, transaction or batch, and cells that Python
rendered."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.bytes_text import HEXADECIMAL_PAIRS
from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import copy, load8, load64, store8, store16, store64
from headrace.connect.kernels.text import DIGIT_ZEROS, put_int, wrapping_multiply
from headrace.connect.rows import (
    NULL,
    ROW,
    SHORT_SEQUENCE_LENGTH,
    TRANSACTION_NUMBERS,
    offset_in_row,
)
from headrace.converters.instructions import (
    CLOCK_MS,
    IS_NULL,
    MAX_MISSES,
    MISS_COUNT,
    MISSES,
    MISSING,
    PATCH_MASK,
    PATCH_TABLE,
    ROW_NUMBER,
)

TEXT_BYTES = 40
"""Bytes that the text of a number takes in working memory of the caller: an int64 length and 32
bytes."""

_SCATTER = 0x9E3779B97F4A7C1  # multiplies hashes, and must be an odd number
_NULL = int(NULL)
_ROW_SIZE = ROW.itemsize
_POSITION, _POSITION_HIGH = offset_in_row("position"), offset_in_row("position_high")
_ORDINAL = offset_in_row("ordinal")
_PART = offset_in_row("part")
_KIND = offset_in_row("kind")
_ORDINAL_AND_PART_LENGTH = 20


@part
def _hexadecimal(value, size, out):
    """Write `size` bytes of `value` as two digits each. Return the address after them."""
    for i in range(size):
        store16(out + 2 * i, np.int64(HEXADECIMAL_PAIRS[(value >> (8 * (size - 1 - i))) & 255]))
    return out + 2 * size


@inlined_part
def put_sequence(row, epoch, length, out):
    """Write a sequence: epoch(4), position(32, or 16 in the short form), kind(1), ordinal(12),
    part(8)."""
    out = _hexadecimal(epoch, 2, out)
    high = load64(row + _POSITION_HIGH)
    if length != SHORT_SEQUENCE_LENGTH and high == 0:  # the usual case if 8 bytes are enough
        store64(out, DIGIT_ZEROS)
        store64(out + 8, DIGIT_ZEROS)
        out += 16
    elif length != SHORT_SEQUENCE_LENGTH:
        out = _hexadecimal(high, 8, out)
    out = _hexadecimal(load64(row + _POSITION), 8, out)
    store8(out, 48 + load8(row + _KIND))
    _put_ordinal_and_part(row, out + 1)


@inlined_part
def _put_ordinal_and_part(row, out):
    out = _hexadecimal(load64(row + _ORDINAL), 6, out)
    _hexadecimal(load64(row + _PART), 4, out)


@inlined_part
def put_next_sequence(row, before, epoch, length, out):
    """Write the sequence of `row` like `put_sequence`. `before` is the previous row (0: none),
    whose sequence ends at `out`: most rows have its position, so that the text is copied."""
    if (
        before
        and load64(row + _POSITION) == load64(before + _POSITION)
        and load64(row + _POSITION_HIGH) == load64(before + _POSITION_HIGH)
        and load8(row + _KIND) == load8(before + _KIND)
    ):
        _put_ordinal_and_part(row, copy(out - length, length - _ORDINAL_AND_PART_LENGTH, out))
    else:
        put_sequence(row, epoch, length, out)


@entry
def write_sequences(rows, selected, count, epoch, length, out):
    """Write the sequences of rows to `out`, `length` bytes each. `selected` has the row numbers
    (int64)."""
    before = np.int64(0)
    for i in range(count):
        row = rows + _ROW_SIZE * selected[i]
        put_next_sequence(row, before, epoch, length, out + length * i)
        before = row


@part
def print_transaction(transaction, texts):
    """Write the numbers of the transaction at `transaction` (`TRANSACTION`) as decimal texts into
    slots of TEXT_BYTES at `texts`: the length (int64; -1: null), then the digits."""
    for i in range(TRANSACTION_NUMBERS):
        text = texts + TEXT_BYTES * i
        value = transaction[i]
        if value == _NULL:
            store64(text, -1)
        else:
            store64(text, put_int(value, text + 8) - text - 8)


@part
def print_clock(state, texts):
    """Write the time of processing in milliseconds, microseconds and nanoseconds since 1970, as
    decimal texts, into the three slots after those of the transaction."""
    for i in range(3):
        text = texts + TEXT_BYTES * (TRANSACTION_NUMBERS + i)
        value = state[CLOCK_MS + i]
        store64(text, put_int(value, text + 8) - text - 8)


@part
def _two_digits(value, out):
    store8(out, 48 + value // 10)
    store8(out + 1, 48 + value % 10)


@part
def put_instant(milliseconds, out):
    """Write `YYYY-MM-DDTHH:MM:SS.fffZ` of milliseconds since 1970 (years 1970 to 9999). Return the
    address after it, 24 bytes after `out`."""
    days = milliseconds // 86400000
    rest = milliseconds - days * 86400000
    # Howard Hinnant's civil_from_days: years begin in March.
    shifted = days + 719468
    era = shifted // 146097
    day_of_era = shifted - era * 146097
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    _two_digits(year // 100, out)
    _two_digits(year % 100, out + 2)
    store8(out + 4, 45)
    _two_digits(month, out + 5)
    store8(out + 7, 45)
    _two_digits(day, out + 8)
    store8(out + 10, 84)
    seconds = rest // 1000
    _two_digits(seconds // 3600, out + 11)
    store8(out + 13, 58)
    _two_digits(seconds // 60 % 60, out + 14)
    store8(out + 16, 58)
    _two_digits(seconds % 60, out + 17)
    store8(out + 19, 46)
    store8(out + 20, 48 + rest % 1000 // 100)
    _two_digits(rest % 100, out + 21)
    store8(out + 23, 90)
    return out + 24


@part
def patch_hash(address, instruction):
    """Return the hash of a cell and an instruction. Masked, it is the first bucket that is
    searched."""
    return (wrapping_multiply(address ^ (instruction << 17), _SCATTER) >> 23) & 0xFFFFFFFFFF


@part
def patch(state, address, length, instruction, out):
    """Copy the text that Python rendered for the cell at `address` and the instruction: key and
    value may render one cell differently. Return the new end, IS_NULL, or MISSING; a miss is
    recorded if there is room."""
    if length == 0:
        # The cell after an empty one may have its address; all empty cells are equal.
        address = np.int64(1)
    table = state[PATCH_TABLE]
    mask = state[PATCH_MASK]
    bucket = patch_hash(address, instruction) & mask
    while True:
        entry_address = table + 32 * bucket
        cell = load64(entry_address)
        if cell == 0:
            break
        if cell == address and load64(entry_address + 8) == instruction:
            if load64(entry_address + 24) < 0:
                return np.int64(IS_NULL)
            return copy(load64(entry_address + 16), load64(entry_address + 24), out)
        bucket = (bucket + 1) & mask
    count = state[MISS_COUNT]
    if count < state[MAX_MISSES]:
        miss = state[MISSES] + 32 * count
        store64(miss, address)
        store64(miss + 8, length)
        store64(miss + 16, instruction)
        store64(miss + 24, state[ROW_NUMBER])
        state[MISS_COUNT] = count + 1
    return np.int64(MISSING)


@entry
def insert_patches(entries, count, table, mask):
    """Put (address, instruction, text, length) entries into an open-addressed table; a length of -1
    is a null."""
    for i in range(count):
        source = entries + 32 * i
        address = load64(source)
        instruction = load64(source + 8)
        bucket = patch_hash(address, instruction) & mask
        while load64(table + 32 * bucket):
            bucket = (bucket + 1) & mask
        for word in range(4):
            store64(table + 32 * bucket + 8 * word, source[word])
