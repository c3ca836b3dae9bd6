"""Timestamps with time zone: Debezium's ZonedTimestamp, at the original offset of each value.

An image holds the text that events show, `2018-03-27T01:34:56.007891-11:00`, at the column's number
of fraction digits (0: as many as the value needs); UTC is `Z`.
"""

from __future__ import annotations

import re

from headrace.connect.encoding import Encoding
from headrace.debezium import temporal
from headrace.relational.types import texts
from headrace.relational.types.declaration import TypeDeclaration, text_of

_TEXT = re.compile(
    rb"-?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
    rb"(?:Z|[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)"
)


def zoned_text(text: bytes) -> str:
    """Return the text of an image, which is the value."""
    if not _TEXT.fullmatch(text):
        texts.refuse("timestamp with time zone")
    return text.decode()


def zoned_timestamp() -> TypeDeclaration:
    """Return the declaration of an instant with its original offset."""
    return TypeDeclaration(
        temporal.ZONED_TIMESTAMP,
        Encoding.STRING,
        zoned_text,
        "1970-01-01T00:00:00Z",
        unavailable=text_of,
    )


def shown(clock: bytes, fraction: bytes, offset: bytes, digits: int) -> str:
    """Return the text of an image: date and time to the second, the digits of the fraction, and the
    offset (`+01:00`; empty: UTC) of a value, in a column of `digits` fraction digits."""
    fraction = fraction.ljust(digits, b"0")[:digits] if digits else fraction.rstrip(b"0")
    zone = b"Z" if offset in (b"", b"+00:00", b"-00:00") else offset
    return b"".join((clock, b"." if fraction else b"", fraction, zone)).decode()
