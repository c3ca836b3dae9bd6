"""Extended JSON of BSON bytes, as BSON's Java library (`org.bson.json`) writes it for Debezium.

`to_extended_json` takes a document, `value_to_extended_json` a value of any type, and
`column_to_extended_json` an Arrow column of documents. All reject invalid BSON with HeadraceError
`documents.value_not_understood`, and read no byte outside it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.documents.bson import DOCUMENT, broken
from headrace.documents.dialects import Dialect
from headrace.documents.kernels.column_kernel import put_column
from headrace.documents.kernels.writer import GROWTH, MAX_GROWTH, SLACK, put_cell
from headrace.errors import HeadraceError

_LARGEST_TEXTS = (1 << 31) - 1


def to_extended_json(document: bytes, dialect: Dialect) -> str:
    """The Extended JSON of a whole BSON document."""
    return value_to_extended_json(bytes([DOCUMENT]) + document, dialect)


def value_to_extended_json(value: bytes, dialect: Dialect) -> str:
    """The Extended JSON of one BSON value: its type byte and its bytes."""
    source = np.frombuffer(value + bytes(PADDING), np.uint8)
    for growth in (GROWTH, MAX_GROWTH):
        text = np.empty(growth * len(value) + SLACK, np.uint8)
        start = address_of(text)
        end = put_cell(address_of(source), len(value), int(dialect), 0, growth, start)
        if end >= 0:
            return text[: end - start].tobytes().decode()
    raise broken(end)


def column_to_extended_json(documents: pa.BinaryArray, dialect: Dialect) -> pa.StringArray:
    """The Extended JSON of each BSON document; null stays null.

    Raises HeadraceError `documents.value_not_understood` for the first invalid document, and
    `documents.text_too_large` for texts of 2 GiB or more, which an Arrow string column cannot hold.
    """
    count, first = len(documents), documents.offset
    if count == 0:
        return pa.array([], pa.string())
    validity, offsets, data = documents.buffers()
    places = np.frombuffer(offsets, np.int32, first + count + 1)
    total = int(places[-1])
    source = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    if len(source) < total + PADDING:
        source = np.concatenate((source[:total], np.zeros(PADDING, np.uint8)))
    bits = 0 if validity is None else validity.address
    ends = np.zeros(count + 1, np.int32)
    texts = np.empty(2 * (total - int(places[first])) + 2 * SLACK, np.uint8)
    converted, growth, batch = 0, GROWTH, count
    while converted < count:
        start = address_of(texts)
        written = put_column(
            address_of(places), bits, first + converted, batch, address_of(source), int(dialect),
            growth, address_of(ends) + 4 * (converted + 1), start, start + int(ends[converted]),
            len(texts),
        )  # fmt: skip
        if written < 0:
            raise broken(
                written >> 32,
                f"the document at {converted + (written & 0xFFFFFFFF)} of the column",
            )
        converted += written
        if int(ends[converted]) > _LARGEST_TEXTS:
            raise HeadraceError(
                "documents.text_too_large",
                f"the Extended JSON of {count} documents has more than {_LARGEST_TEXTS} bytes",
                "Pass fewer documents at a time.",
            )
        # The next document gets the most memory that it can need; the others follow.
        growth, batch = (MAX_GROWTH, 1) if growth == GROWTH else (GROWTH, count - converted)
        if growth == MAX_GROWTH and converted < count:
            length = int(places[first + converted + 1]) - int(places[first + converted])
            needed = int(ends[converted]) + growth * length + SLACK
            texts = np.concatenate((texts, np.empty(max(needed, len(texts)), np.uint8)))
    nulls = None if validity is None else documents.is_valid()
    return pa.StringArray.from_buffers(
        count,
        pa.py_buffer(ends),
        pa.py_buffer(texts[: int(ends[count])]),
        None if nulls is None else nulls.buffers()[1],
    )
