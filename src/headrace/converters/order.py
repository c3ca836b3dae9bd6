"""Records of several shapes in the total order of their slice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.connect.records import NO_PARTITION, Records


def in_total_order(slice_records: Sequence[Records]) -> tuple[np.ndarray, np.ndarray]:
    """Row index and index in `slice_records` of each record, in the order of `place`."""
    if len(slice_records) == 1 and _is_ordered(slice_records[0]):
        only = slice_records[0]
        return np.ascontiguousarray(only.rows), np.zeros(len(only), np.int64)
    total = sum(len(records) for records in slice_records)
    if total == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    top = max(int(records.place.max()) for records in slice_records if len(records)) + 1
    if top > 4 * total + 1024:
        order = _order(slice_records)
        rows = np.concatenate([records.rows for records in slice_records])[order]
        lengths = [len(records) for records in slice_records]
        return rows, np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)[order]
    # Places are distinct and dense, so scattering is a sort in linear time.
    rows = np.full(top, -1, np.int64)
    shapes = np.empty(top, np.int64)
    for index, records in enumerate(slice_records):
        rows[records.place] = records.rows
        shapes[records.place] = index
    if total == top:
        return rows, shapes
    is_present = rows >= 0
    return rows[is_present], shapes[is_present]


def partitions_in_order(slice_records: Sequence[Records]) -> np.ndarray | None:
    """The records' partitions (int32, NO_PARTITION for a record without one); None if no record
    has one."""
    if all(records.partition is None for records in slice_records):
        return None
    partitions = [
        np.full(len(records), NO_PARTITION, np.int32)
        if records.partition is None
        else records.partition
        for records in slice_records
    ]
    ordered: np.ndarray = np.concatenate(partitions)[_order(slice_records)]
    return ordered


def _is_ordered(records: Records) -> bool:
    place = records.place
    return len(place) < 2 or bool(np.all(place[1:] > place[:-1]))


def _order(slice_records: Sequence[Records]) -> np.ndarray:
    place = np.concatenate([records.place for records in slice_records])
    return np.argsort(place, kind="stable")
