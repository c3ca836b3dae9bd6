"""Iterates over the elements of documents, in Python."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.documents.bson import DOCUMENT, broken
from headrace.documents.kernels.value_sizes import value_size


def elements(document: bytes) -> Iterator[tuple[int, str, bytes]]:
    """Type byte, name and value bytes of each element of a document or array, which `document`
    begins with. Raises HeadraceError `documents.value_not_understood`."""
    source = np.frombuffer(document + bytes(PADDING), np.uint8)
    start = address_of(source)
    size = int(value_size(DOCUMENT, start, len(document)))
    place = 4
    while size >= 0 and place < size - 1:
        kind = document[place]
        end = document.index(0, place + 1)
        length = int(value_size(kind, start + end + 1, size - 2 - end))
        if length < 0:
            raise broken(length)
        name = document[place + 1 : end].decode(errors="replace")
        place = end + 1 + length
        yield kind, name, document[end + 1 : place]
    if size < 0:
        raise broken(size)
