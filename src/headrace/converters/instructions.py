"""What compiled programs are made of, and the words that the compiled pass and its callers share
(see `kernel.py`)."""

from __future__ import annotations

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

HAS_OLD, HAS_NEW, HAS_COUNTERPART, HAS_EXTRA, HAS_TRANSACTION, ALWAYS = 1, 2, 4, 8, 16, 32
GUARDS = (
    HAS_OLD,
    HAS_NEW,
    HAS_COUNTERPART,
    HAS_EXTRA,
    HAS_TRANSACTION,
    HAS_OLD | HAS_NEW,
)
"""By Image: what a row must have one of, or the root is null. ALWAYS: the root has no guard."""
