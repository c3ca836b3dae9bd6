"""A column of a batch, from records of several shapes in total order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from headrace.connect.records import Records
from headrace.converters.patches import Unrenderable
from headrace.converters.typed.converters import ColumnConverter
from headrace.errors import HeadraceError


def batch_column(
    converter: ColumnConverter,
    slice_records: Sequence[Records],
    rows: np.ndarray,
    shapes: np.ndarray,
    first: int,
) -> pa.Array:
    """Return the column that `converter` makes of the records in `rows` of the table; `shapes` is
    the index of each record's Records in `slice_records` (both int64, one per record).

    Raises Unrenderable with the errors of single records, by their places from `first` on, and
    HeadraceError if the error is not that of a single record.
    """
    arrays: list[pa.Array] = []
    order: list[np.ndarray] = []
    errors: dict[int, HeadraceError] = {}
    for number in np.unique(shapes).tolist():
        places = np.flatnonzero(shapes == number)
        records = replace(slice_records[number], rows=rows[places], place=places, partition=None)
        try:
            arrays.append(converter.column_of(records))
        except HeadraceError as error:
            culprits = _one_by_one(converter, records)
            if all(culprit.code != error.code for culprit in culprits.values()):
                raise
            errors |= {first + place: culprit for place, culprit in culprits.items()}
        order.append(places)
    if errors:
        raise Unrenderable(dict(sorted(errors.items())), {})
    if len(arrays) == 1:
        return arrays[0]
    column = pa.concat_arrays(arrays) if arrays else pa.nulls(0, converter.column)
    places = np.concatenate(order) if order else np.zeros(0, np.int64)
    return column.take(pa.array(np.argsort(places, kind="stable")))


def _one_by_one(converter: ColumnConverter, records: Records) -> dict[int, HeadraceError]:
    """The errors of records that fail alone, by their places."""
    errors: dict[int, HeadraceError] = {}
    for at, place in enumerate(records.place.tolist()):
        only = np.arange(len(records)) == at
        try:
            converter.column_of(records.with_rows(only))
        except HeadraceError as error:
            errors[place] = error
    return errors
