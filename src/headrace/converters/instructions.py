"""Instructions of compiled programs, and the layout of the memory that the compiled pass and its
callers share (see `kernels/emit.py`)."""

from __future__ import annotations

from enum import IntEnum


class ProgramForm(IntEnum):
    """The text format of a program, which determines the interpreter that the pass uses."""

    JSON = 0
    AVRO = 1
    """Avro's binary encoding."""
    TEXT = 2
    """A value's text in Java, without quotes."""
    QUOTED = 3
    """A value's text in Java, with strings and bytes in quotes, as inside a struct in Connect's
    SimpleHeaderConverter."""
    RAW = 4
    """Bytes as they are."""


# Instructions of JSON have ten int64 each. Those of the other forms have additional words, see
# `headrace.converters.binary`.
WORDS = 10
SIZE = WORDS * 8
A, B, C = 8, 16, 24  # operands
PREFIX, PREFIX_LENGTH = 32, 40
NULL_TEXT, NULL_LENGTH = 48, 56
UNAVAILABLE_TEXT, UNAVAILABLE_LENGTH = 64, 72
AFTER_TEXT, AFTER_LENGTH = 64, 72  # of TRANSACTION_INT: after a number, but not after a null
ABSENT_KINDS = 72  # of PRESENCE: the kinds of cells that make the struct null
NULLS, UNAVAILABLES, DECODED = 1, 2, 4  # of ABSENT_KINDS; DECODED: Python decides for values

(
    CELL,
    COLUMN,  # B: number of the shape's made column
    END,
    NOTHING,
    ROW_INT,
    ROW_CHARACTER,
    TRANSACTION_INT,  # B: bytes to remove before a null, or TO_MARK; C: instruction to continue at
    CHOICE,
    CLOCK,
    STRUCT,
    PRESENCE,  # A and B of a cell, or A: MADE and B of a column; C: instruction to continue at
    ORDER_INT,
    TEXT_MARK,  # start of a Concat that is null if a part is null
    PART_BEGIN,  # start of a node of another type as part of a Concat
    PART_END,  # end of that part; A and B are B and C of TRANSACTION_INT
    END_UNLESS_NULL,
    TEXT_END,  # end of a Concat
    TEXT_NULL,  # a Concat is null
    INSTANT,  # milliseconds since 1970 as text; A: offset, B: in the row (0) or its transaction
    BLOCK_MARK,  # start of bytes that hold another value
    BLOCK_END,  # end of these bytes
    KEPT,  # start of a part that is the same in all rows of a transaction; A: the kept text
    KEEP,  # end of that part, where B of KEPT continues
) = range(23)
TO_MARK = -1
MADE = -1

# Layout of a kept text: the number of its transaction (state[TRANSACTION]), its length in bytes,
# and the text.
TEXT_NUMBER, TEXT_BYTE_COUNT, TEXT_BEGIN = 0, 8, 16
MAX_TEXT_BYTES = 1024
"""Length limit of a kept text in bytes; longer ones are rendered for each row."""

# Results of `run_json` and `run_binary` instead of the end of the output: cells are missing, or the
# root is null, so that no key, value or header is written.
MISSING, NO_VALUE = -1, -2
IS_NULL = -3  # result for a cell that Python rendered as null

# Reasons why `emit` returned.
DONE, FULL, UNUSUAL = range(3)

# Words of `state` (int64). `address` is the address of an array.
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
    MAX_MISSES,
    ROW_NUMBER,  # of the row being rendered
    FIRST_ROW,  # address of the table's rows, of their transactions and of their orders
    FIRST_TRANSACTION,
    FIRST_ORDER,
    MADE_COLUMNS,  # of the row being rendered: see SHAPE_MADE
    SCRATCH,  # address
    COLUMNS,  # number of columns that the scratch holds for each image
    VALUE_BYTES,  # bytes of the rendered rows
    KEY_BYTES,
    SELECTED,  # address of int64 row indexes
    SHAPES,  # address of int64 per selected row: index in PROGRAMS
    PROGRAMS,  # address of SHAPE_WORDS int64 per shape
    START,  # selected rows to render: the first, and the end
    COUNT,
    MAX_ROWS,
    VALUES,  # addresses and capacity of the output, addresses for the ends and presence of each row
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
    HEADERS,  # address and capacity of the output of headers
    HEADERS_CAPACITY,
    HEADER_COUNT,  # number of rendered headers; their int32 ends, presence and int32 names
    HEADER_ENDS,
    HEADER_PRESENT,
    HEADER_NAMES,
    HEADER_LISTS,  # address of an int32 per row: number of headers up to its end
    RUN_JSON,  # addresses of the interpreters
    RUN_PLAIN,
    PUT_DOCUMENT,  # address of the kernel that writes cells with BSON, if there are any
    TRANSACTION,  # number of the row's transaction; it only grows, and is never reused
    SPLIT_COLUMNS,  # number of columns of the transaction's image that are split
) = range(49)
STATE_WORDS = 49

# Words of a shape's entry in `programs` (int64). The limits of the bytes that a row takes are a
# constant, and bytes for each byte of its images and made cells.
(
    KEY_PROGRAM,  # address; 0: no key
    VALUE_PROGRAM,
    KEY_CONSTANT,
    VALUE_CONSTANT,
    KEY_GROWTH,
    VALUE_GROWTH,
    SHAPE_COLUMNS,  # number of columns that the programs read of images of the table's rows
    SHAPE_SOURCE_COLUMNS,  # number of columns that they read of images of source fields
    KEY_GUARD,  # see GUARDS
    VALUE_GUARD,
    KEY_FORM,  # see ProgramForm
    VALUE_FORM,
    SHAPE_MADE,  # address of the addresses of the made columns' cells; 0: no made columns
    MADE_COUNT,
    SHAPE_HEADERS,  # address of HEADER_WORDS int64 per header of the shape
    SHAPE_HEADER_COUNT,
    HEADER_COLUMNS,
    HEADER_SOURCE_COLUMNS,
) = range(18)
SHAPE_WORDS = 18

# Words of a header of a shape (int64).
(
    NAME,  # index in the names of the slice's headers
    ON,  # 0: every record, 1: the delete and the tombstone of a key change, 2: its create
    PROGRAM,  # address; 0: the value is the text
    PROGRAM_FORM,
    PROGRAM_GUARD,
    TEXT,
    TEXT_LENGTH,  # -1: null
    PROGRAM_CONSTANT,  # most bytes written, besides PROGRAM_GROWTH for each of the row
    PROGRAM_GROWTH,
) = range(9)
HEADER_WORDS = 9
ON_EVERY, ON_DELETE, ON_CREATE = range(3)

HAS_OLD, HAS_NEW, HAS_COUNTERPART, HAS_EXTRA, HAS_TRANSACTION, ALWAYS = 1, 2, 4, 8, 16, 32
GUARDS = (
    HAS_OLD,
    HAS_NEW,
    HAS_COUNTERPART,
    HAS_EXTRA,
    HAS_TRANSACTION,
    HAS_OLD | HAS_NEW,
)
"""Flags by Image: the root is null unless the row has one of these. ALWAYS: the root has no
guard."""
