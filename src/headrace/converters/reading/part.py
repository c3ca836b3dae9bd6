"""The contract of a reader of one role: the parts of records, from bytes to values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from headrace.connect.json_values import MAX_CELLS
from headrace.connect.schema import Schema, Type
from headrace.converters.reading.fields import NO_UNIONS, UnionShape
from headrace.converters.reading.kernels.envelope_kernel import NO_VALUE
from headrace.converters.reading.texts import Texts
from headrace.errors import HeadraceError

__all__ = ["NO_VALUE", "Opened", "PartForm", "Reader", "without_forbidden_nulls"]


@dataclass(frozen=True, eq=False)
class PartForm:
    """The encoding of values of one schema as bytes.

    `form` is the kernel's; `load` returns the Connect value if the kernel cannot read it, and
    raises HeadraceError for bytes that are not such a value. `fills_nulls`: a null is read as the
    schema's default. `most_cells` is the limit for the values of one record.
    """

    schema: Schema
    form: int
    load: Callable[[bytes], object]
    unions: UnionShape = NO_UNIONS
    fills_nulls: bool = False
    most_cells: int = MAX_CELLS

    @property
    def has_schema(self) -> bool:
        """Whether the values have a schema."""
        return self.schema.type is not Type.ANY


@dataclass(frozen=True, eq=False)
class Opened:
    """The bytes of the records' values, the numbers of their forms, and the errors of some records.

    `numbers` is int64, one per record: of a form of the reader, or NO_VALUE.
    """

    texts: Texts
    numbers: np.ndarray
    errors: Mapping[int, HeadraceError]


class Reader(Protocol):
    """Reads keys, values or headers. It serves one process, and remembers schemas."""

    def open(self, array: pa.Array | None, topics: np.ndarray) -> Opened:
        """Locate the values of a column; `topics` is int64, equal for equal topics.

        Raises HeadraceError if nothing can be read, for example because a registry does not answer.
        """
        ...

    def form(self, number: int) -> PartForm:
        """Return the form with a number that `open` returned, the same object each time."""
        ...


def without_forbidden_nulls(schema: Schema, value: object, *, fills_nulls: bool) -> object:
    """Return `value`. Raises HeadraceError("connect.value_not_understood") if it has a null that
    its schema does not allow."""
    _check_nulls(schema, value, "", fills_nulls=fills_nulls)
    return value


def _check_nulls(schema: Schema, value: object, path: str, *, fills_nulls: bool) -> None:
    if value is None:
        if schema.optional or (fills_nulls and schema.default is not None):
            return
        subject = f"the field {path}" if path else f"a value of type {schema.type.value}"
        raise HeadraceError(
            "connect.value_not_understood",
            f"{subject} is null, and its schema does not allow that",
            "Correct the records, or let their schema be optional.",
        )
    if schema.type is Type.STRUCT and isinstance(value, Mapping):
        for field in schema.fields:
            inner = f"{path}.{field.name}" if path else field.name
            _check_nulls(field.schema, value.get(field.name), inner, fills_nulls=fills_nulls)
