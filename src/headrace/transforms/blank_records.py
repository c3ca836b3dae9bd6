"""Records without values: every cell of their rows is null."""

from __future__ import annotations

import numpy as np

from headrace.connect.images import make_image
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Records, Shape
from headrace.connect.rows import ORDER, ROW, TRANSACTION, RowTable

_OPERATIONS = "cud"


def blank_records(shape: Shape) -> Records:
    """Return a create, an update and a delete of this shape, with images that lack every column.
    They show the shapes that a transform makes of it, as far as these do not depend on values."""
    image = make_image([])
    memory = np.frombuffer(image + bytes(PADDING), np.uint8).copy()
    address = address_of(memory)
    rows = np.zeros(len(_OPERATIONS), ROW)
    rows["operation"] = [ord(operation) for operation in _OPERATIONS]
    rows["old"] = [0, address, address]
    rows["new"] = [address, address, 0]
    rows["extra"] = rows["counterpart"] = address
    transactions = np.zeros(1, TRANSACTION)
    transactions["image"], transactions["size"] = address, len(image)
    table = RowTable(rows, transactions, (memory,), np.zeros(len(rows), ORDER))
    place = np.arange(len(rows), dtype=np.int64)
    return Records(shape, table, place, place)
