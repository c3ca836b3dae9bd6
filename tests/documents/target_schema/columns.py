"""Documents as columns, and back as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.connect.images import BINARY
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.schema import Schema
from headrace.documents.bson import DOCUMENT
from headrace.documents.target_schema.conversion import Converted, converted
from headrace.documents.target_schema.parts import connect_values
from headrace.documents.target_schema.policies import Conflicts


def cells_of(documents: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Cells of documents, each with its type byte, and the memory that they point into."""
    values = [bytes([DOCUMENT]) + each for each in documents]
    memory = np.frombuffer(b"".join(values) + bytes(PADDING), np.uint8)
    cells = np.zeros((len(values), 3), np.int64)
    cells[:, 0] = BINARY
    cells[:, 2] = [len(value) for value in values]
    cells[:, 1] = address_of(memory) + np.cumsum(cells[:, 2]) - cells[:, 2]
    return cells, memory


def column(
    documents: Sequence[bytes], schema: Schema, conflicts: Conflicts | None = None
) -> tuple[Converted, np.ndarray]:
    """Documents as a column of a schema; conflicts fail unless it is said what becomes of them."""
    cells, memory = cells_of(documents)
    return converted(cells, schema, conflicts or Conflicts()), memory


def rows(
    documents: Sequence[bytes], schema: Schema, conflicts: Conflicts | None = None
) -> list[Any]:
    """The Connect values of documents."""
    column_values, _memory = column(documents, schema, conflicts)
    return connect_values(column_values)
