"""The forms of cells, and their JSON: the codes that column types and the compiled encoders share.

The texts are headrace's own, whatever the database: what writes images brings its values into
them. A text is UTF-8 and
  an integer     decimal digits, a minus before them where it is negative, no needless zeros
  a decimal      digits with a point and a fraction where it has one, digits on both sides of it
  a float        a decimal, with `e` and a signed exponent where that is shorter; `NaN`,
                 `Infinity`, `-Infinity`; the shortest digits that read back as the number
  a boolean      `t` or `f`
  bytes          `\\x` and two hexadecimal digits each
  a date         `YYYY-MM-DD`, of the years 1 to 9999
  a time         `HH:MM:SS`, and a point with 1 to 9 digits of the second where it has a fraction
  a timestamp    a date, a space and a time; with time zone: in UTC, followed by `+00`
A kernel leaves what has another form (infinite dates, years before 1) to the column's decoder.
Binary cells hold numbers in little-endian byte order, as processors and Arrow have them.
"""

from __future__ import annotations

from enum import IntEnum


class Encoding(IntEnum):
    """The form of a cell, and what a compiled encoder writes for it.

    A column type chooses a code and an int64 parameter; `headrace.converters.json.kernels` has the
    kernels for texts and binary values, `headrace.documents.kernels.cells` that for BSON. A kernel
    leaves a cell with an uncommon value to `headrace.converters.json.values.render_cell`, which is
    exact for every value.
    """

    RAW = 0
    """Digits with an optional minus, copied as a JSON number; parameter: bytes of the integer, less
    than 0 for unsigned ones, 0 for those of any size."""
    STRING = 1
    """A JSON string, escaped as Jackson does."""
    BOOLEAN = 2
    """`t` or `f`."""
    DECIMAL = 3
    """Base64 of the unscaled value in quotes; parameter: the scale."""
    DECIMAL_STRING = 4
    """Plain decimal text in quotes; parameter: the scale, or -1 for the text as sent."""
    DOUBLE = 5
    """Text of a double as Java's Double.toString writes the number."""
    FLOAT = 6
    """Text of a float as Java's Float.toString writes the number."""
    BYTES_HEX = 7
    r"""`\x…` text as base64 in quotes."""
    DATE = 8
    """Days since 1970-01-01."""
    TIME_MS = 9
    """Milliseconds since midnight."""
    TIME_US = 10
    """Microseconds since midnight."""
    TIMESTAMP_MS = 11
    """Milliseconds since 1970-01-01, no time zone."""
    TIMESTAMP_US = 12
    """Microseconds since 1970-01-01, no time zone."""
    TIMESTAMPTZ = 13
    """ISO 8601 text in UTC, ending in Z; parameter: fraction digits, 0 = as many as needed."""
    PYTHON = 14
    """Always rendered in Python."""
    NUMERIC_DOUBLE = 15
    """Decimal text as the nearest double."""
    VARIABLE_DECIMAL = 16
    """`{"scale":…,"value":"base64"}`."""
    TIMETZ = 17
    """Time of day in UTC, ending in Z."""
    BIT1 = 18
    """`0` or `1` as a boolean."""
    TIME_NS = 19
    """Nanoseconds since midnight."""
    TIMESTAMP_NS = 20
    """Nanoseconds since 1970-01-01, no time zone."""
    ISO_DATE = 21
    """ISO 8601 date, ending in Z."""
    ISO_TIME = 22
    """ISO 8601 time of day, ending in Z, with as many fraction digits as needed."""
    ISO_TIMESTAMP = 23
    """ISO 8601 date and time, ending in Z, with as many fraction digits as needed."""
    HEX = 24
    r"""`\x…` text as its hexadecimal digits in quotes."""
    JSON = 25
    """JSON text of our own making, copied."""
    BINARY_BOOLEAN = 32
    """Binary: one byte, 0 or 1."""
    INT16_LE = 33
    """Binary: an integer of 2 bytes."""
    INT32_LE = 34
    """Binary: an integer of 4 bytes."""
    INT64_LE = 35
    """Binary: an integer of 8 bytes."""
    FLOAT32_LE = 36
    """Binary: 4 bytes, as Java's Float.toString writes the number."""
    FLOAT64_LE = 37
    """Binary: 8 bytes, as Java's Double.toString writes the number."""
    BYTES = 38
    """Binary: bytes as base64 in quotes."""
    BINARY_HEX = 39
    """Binary: bytes as hexadecimal digits in quotes."""
    TRUNCATED_STRING = 40
    """A JSON string of the first UTF-16 code units; parameter: how many."""
    EXTENDED_JSON_LEGACY = 48
    """Binary: a BSON value (its type byte and its bytes) as a JSON string that holds
    Extended JSON: version 1, strict, compact; `before` and `after` by default."""
    EXTENDED_JSON_STRICT = EXTENDED_JSON_LEGACY
    """`json.serialization.mode=strict` writes this form everywhere."""
    EXTENDED_JSON_RELAXED = 49
    """Binary: a BSON value as Extended JSON version 2, relaxed, compact: keys, and
    `json.serialization.mode=relaxed`."""
    EXTENDED_JSON_RELAXED_SPACED = 50
    """Binary: a BSON value as Extended JSON version 2, relaxed, with a space after commas:
    `updatedFields` by default."""
    EXTENDED_JSON_CANONICAL = 51
    """Binary: a BSON value as Extended JSON version 2, canonical, compact:
    `json.serialization.mode=extended`."""
    EXTENDED_JSON_MANUAL = 52
    """Binary: a BSON value as Extended JSON version 1, strict, with spaces around colons and after
    commas: keys as Debezium's manual shows them (`key.json.format=seed_v1`)."""
    BSON_TEXTS = 53
    """Binary: a BSON array of strings (its type byte and its bytes) as a JSON array of strings;
    null if it is empty."""
    BSON_TRUNCATED_ARRAYS = 54
    """Binary: a BSON array of documents `{field, newSize}` as a JSON array of `{field, size}`; null
    if it is empty."""


FIRST_DOCUMENT = int(Encoding.EXTENDED_JSON_LEGACY)
"""The first code of cells that hold BSON values; all larger codes are such, too."""

AS_JSON, AS_TEXT, AS_AVRO = range(3)
"""The output of the kernel for such cells: JSON values; the texts of strings, without quotes;
Avro's binary encoding (BSON_TEXTS only)."""
