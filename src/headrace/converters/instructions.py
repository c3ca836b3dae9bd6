"""What compiled programs are made of, and the words that the compiled pass and its callers share
(see `kernel.py`)."""

from __future__ import annotations

from enum import IntEnum


class Form(IntEnum):
    """How a program's text is written; by it the pass chooses the interpreter."""

    JSON = 0
    AVRO = 1
    """Avro's binary encoding."""
    TEXT = 2
    """A value's text in Java, without quotes."""
    QUOTED = 3
    """The same with strings and bytes in quotes: what is inside of a struct of Connect's
    SimpleHeaderConverter."""
    RAW = 4
    """Bytes as they are."""


# Instructions of JSON: ten int64 each. Those of the other forms have more words after them, see
# `headrace.converters.plain`.
WORDS = 10
SIZE = WORDS * 8
A, B, C = 8, 16, 24  # operands
PREFIX, PREFIX_LENGTH = 32, 40
NULL_TEXT, NULL_LENGTH = 48, 56
UNAVAILABLE_TEXT, UNAVAILABLE_LENGTH = 64, 72
AFTER_TEXT, AFTER_LENGTH = 64, 72  # of TRANSACTION_INT: after a number, not after a null
ABSENT_KINDS = 72  # of PRESENCE: which cells make the struct null
NULLS, UNAVAILABLES, DECODED = 1, 2, 4  # of ABSENT_KINDS; DECODED: Python says of a value

(
    CELL,
    COLUMN,  # B: which of the shape's made columns
    END,
    NOTHING,
    ROW_INT,
    ROW_CHARACTER,
    TRANSACTION_INT,  # B: bytes to take back where it is null, or TO_MARK; C: where to go on
    CHOICE,
    CLOCK,
    STRUCT,
    PRESENCE,  # A and B of a cell, or A: MADE and B of a column; C: where to go on
    ORDER_INT,
    TEXT_MARK,  # a Concat begins, which is null where a part is
    PART_BEGIN,  # any node as a part of a Concat …
    PART_END,  # … and its end: A and B are B and C of TRANSACTION_INT
    END_UNLESS_NULL,
    TEXT_END,  # a Concat ends
    TEXT_NULL,  # a Concat is null
    INSTANT,  # milliseconds since 1970 as text; A: offset, B: in the row (0) or its transaction
    BLOCK_MARK,  # bytes begin that hold another value …
    BLOCK_END,  # … and end
    KEPT,  # what follows, up to KEEP, is the same in all rows of a transaction; A: the kept text
    KEEP,  # … and its end; B of KEPT goes on after it
) = range(23)
TO_MARK = -1
MADE = -1

# A kept text: the number of the transaction (state[TRANSACTION]) whose text it is, its bytes, and
# the text.
TEXT_NUMBER, TEXT_BYTE_COUNT, TEXT_BEGIN = 0, 8, 16
MOST_TEXT_BYTES = 1024
"""Of the text; a longer one is made for each row."""

# What `run_json` and its like answer in place of the end of the output: cells are missing, or the
# root is null, so there is no key, value or header.
MISSING, NO_VALUE = -1, -2
IS_NULL = -3  # of a cell that Python rendered: it has no value

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
    MADE_COLUMNS,  # of the row being rendered: see SHAPE_MADE
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
    HEADERS,  # address of the headers' output, and its bytes
    HEADERS_CAPACITY,
    HEADER_COUNT,  # headers that were rendered; their int32 ends, presence and int32 names
    HEADER_ENDS,
    HEADER_PRESENT,
    HEADER_NAMES,
    HEADER_LISTS,  # address of an int32 per row: how many headers there are up to its end
    RUN_JSON,  # addresses of the interpreters
    RUN_PLAIN,
    PUT_DOCUMENT,  # address of what writes cells that hold BSON, where there are such
    TRANSACTION,  # a number of the row's transaction; it grows, and none gets one again
    SPLIT_COLUMNS,  # how many columns of its image are split
) = range(49)
STATE_WORDS = 49

# Words of a shape's entry in `programs` (int64). The bounds of the bytes that a row takes: a
# constant, and bytes for each byte of its images and made cells.
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
    KEY_FORM,  # see Form
    VALUE_FORM,
    SHAPE_MADE,  # address of the addresses of the made columns' cells; 0: it has none
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
    PROGRAM_CONSTANT,  # at most so many bytes are written, and PROGRAM_GROWTH for each of the row
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
"""By Image: what a row must have one of, or the root is null. ALWAYS: the root has no guard."""
