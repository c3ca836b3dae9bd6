"""A declared schema with its policies: the target to which documents are converted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headrace.connect.images import BINARY, NULL
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.schema import Field, Schema
from headrace.documents.bson import DOCUMENT
from headrace.documents.target_schema.conversion import Converted, converted
from headrace.documents.target_schema.ddl import scalar
from headrace.documents.target_schema.policies import (
    ConflictPolicy,
    Conflicts,
    Remainder,
    UnknownFields,
    rest_document,
)
from headrace.errors import HeadraceError

REST = "__rest"
"""The field with the values that the schema does not hold: Extended JSON, by paths."""
_REST_SCHEMA = scalar("VARIANT")


@dataclass(frozen=True)
class TargetSchema:
    """A struct to which documents are converted, and the policies for values and fields that it
    does not hold."""

    declared: Schema
    conflict: ConflictPolicy = ConflictPolicy.FAIL
    unknown: UnknownFields = UnknownFields.DROP

    def __post_init__(self) -> None:
        if self.keeps_rest and any(field.name == REST for field in self.declared.fields):
            raise HeadraceError(
                "documents.rest_declared",
                f"the schema has a field {REST}, which conflicts that are `rest` need",
                "Rename the field, or let conflicts be `fail` or `null`.",
            )

    @property
    def keeps_rest(self) -> bool:
        """Whether documents have the field REST."""
        return self.conflict is ConflictPolicy.REST

    @property
    def schema(self) -> Schema:
        """The resulting struct: the declared one, with REST after its fields if that is kept."""
        if not self.keeps_rest:
            return self.declared
        fields = (*self.declared.fields, Field(REST, _REST_SCHEMA))
        return replace(self.declared, fields=fields)

    def converted(self, cells: np.ndarray) -> Converted:
        """Convert documents, which are cells (int64 of kind, address, length) of a type byte and
        its value, to a column of `schema`.

        Raises HeadraceError `documents.value_not_of_schema`, `documents.field_not_of_schema`, and
        `documents.value_not_understood` for a document that is not valid BSON.
        """
        conflicts = Conflicts(self.conflict, self.unknown)
        column = converted(cells, self.declared, conflicts)
        if not self.keeps_rest:
            return column
        rest = _rest_column(conflicts.remainders, len(cells))
        return replace(column, schema=self.schema, members=(*column.members, rest))


def _rest_column(remainders: list[Remainder], count: int) -> Converted:
    by_row: dict[int, list[Remainder]] = {}
    for remainder in remainders:
        by_row.setdefault(remainder.row, []).append(remainder)
    documents = [
        bytes([DOCUMENT]) + rest_document(row_remainders) for row_remainders in by_row.values()
    ]
    memory = np.frombuffer(b"".join(documents) + bytes(PADDING), np.uint8)
    lengths = np.array([len(document) for document in documents], np.int64)
    cells = np.zeros((count, 3), np.int64)
    cells[:, 0] = NULL
    rows = np.array(list(by_row), np.int64)
    cells[rows, 0] = BINARY
    cells[rows, 1] = address_of(memory) + np.cumsum(lengths) - lengths
    cells[rows, 2] = lengths
    return Converted(_REST_SCHEMA, cells, memory=(memory,))
