"""Changes of many tables in one order: by commit, then by intent sequence.

Every table is read block by block. Changes up to the smallest last place of all blocks that may be
followed by more can be put in order; the rest waits for the next blocks. So there are never more
than two blocks of a table in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.db2.streaming import frames
from headrace.connectors.db2.streaming.change_table import ChangeBlock, ChangeTable
from headrace.connectors.db2.streaming.lsn_columns import LsnColumn
from headrace.connectors.db2.streaming.pairing import NO_ROW, UPDATED
from headrace.connectors.db2.streaming.recorded_tables import SchemaChange
from headrace.streaming.changes.kernels.row_kernel import CREATE, DELETE, UPDATE


class Merged(NamedTuple):
    """Changes of all tables in their order: `words` (int64, CHANGE_WORDS each, without times) for
    `frames.write_changes`, the commits of each, and the images that they point to."""

    words: np.ndarray
    commits: LsnColumn
    images: tuple[object, ...]


_Place = tuple[int, int, int, int]


def merged(
    tables: Sequence[ChangeTable], delivered: tuple[int, int] | None = None
) -> Iterator[Merged]:
    """Yield all changes of the tables. `delivered`: the places of a commit and a change of it, up
    to which everything is delivered; schema changes come after them."""
    reached = None if delivered is None else (*_halves(delivered[0]), *_halves(delivered[1]))
    while True:
        present = [table for table in tables if table.load()]
        if not present:
            return
        frontier = min(
            (_last(table.block) for table in present if not table.is_read and table.block),
            default=None,
        )
        yield _merge(present, frontier, reached)


def _halves(place: int) -> tuple[int, int]:
    return place >> 64, place & (1 << 64) - 1


def _last(block: ChangeBlock) -> _Place:
    return (
        int(block.commits.high[-1]),
        int(block.commits.low[-1]),
        int(block.intents.high[-1]),
        int(block.intents.low[-1]),
    )


def _first(block: ChangeBlock) -> tuple[int, int]:
    return block.commits.place(0), block.intents.place(0)


def _count(block: ChangeBlock, frontier: _Place | None) -> int:
    """Return how many changes of a block lie up to a place."""
    if frontier is None or _last(block) <= frontier:
        return len(block)
    columns = (*block.commits, *block.intents)
    first, last = 0, len(block)
    for column, bound in zip(columns, frontier, strict=True):
        # Of the rows that are equal so far, those below are included, and those above are not.
        part, value = column[first:last], np.uint64(bound)
        below = first + int(np.searchsorted(part, value, "left"))
        last = first + int(np.searchsorted(part, value, "right"))
        first = below
    return last


def _merge(
    tables: Sequence[ChangeTable], frontier: _Place | None, reached: _Place | None
) -> Merged:
    parts = []
    for table in tables:
        block = table.block
        assert block is not None
        count = _count(block, frontier)
        if count:
            parts.append((table, block, count))
    parts.sort(key=lambda part: _first(part[1]))
    schema_changes = []
    for table, block, count in parts:
        first = 0 if reached is None else _count(block, reached)
        change = table.change_before(first) if first < count else None
        if change is not None:
            schema_changes.append((block.after(first), change))
    texts = tuple(
        np.frombuffer(change.image + bytes(PADDING), np.uint8) for _, change in schema_changes
    )
    # The order is stable: a schema change comes before the change that shows it.
    words = np.concatenate(
        [
            *(
                _schema_change_words(*change, text)
                for change, text in zip(schema_changes, texts, strict=True)
            ),
            *(_words(table, block, count) for table, block, count in parts),
        ]
    )
    merged_blocks = [
        *((block, 1) for block, _ in schema_changes),
        *((block, count) for _, block, count in parts),
    ]
    commits = LsnColumn.joined([block.commits.take(slice(count)) for block, count in merged_blocks])
    intents = LsnColumn.joined([block.intents.take(slice(count)) for block, count in merged_blocks])
    for table, _, count in parts:
        table.taken(count)
    images = (*texts, *(block.images for _, block, _ in parts))
    if len(parts) == 1 and (reached is None or not schema_changes):
        return Merged(words, commits, images)
    keys = (intents.low, intents.high, commits.low, commits.high)
    order = np.lexsort([key for key in keys if np.any(key != key[0])] or keys)
    return Merged(words[order], commits.take(order), images)


def _schema_change_words(block: ChangeBlock, change: SchemaChange, image: np.ndarray) -> np.ndarray:
    words = np.zeros((1, frames.CHANGE_WORDS), np.int64)
    words[0, frames.NEW], words[0, frames.NEW_SIZE] = address_of(image), len(change.image)
    words[0, frames.KIND], words[0, frames.RELATION] = frames.SCHEMA_CHANGE, change.relation
    _put_numbers(words, block, 1)
    return words


def _words(table: ChangeTable, block: ChangeBlock, count: int) -> np.ndarray:
    words = np.zeros((count, frames.CHANGE_WORDS), np.int64)
    offsets, base = block.images.offsets, address_of(block.images.images)
    for rows, address, size in (
        (block.changes.old[:count], frames.OLD, frames.OLD_SIZE),
        (block.changes.new[:count], frames.NEW, frames.NEW_SIZE),
    ):
        has_row = rows != NO_ROW
        place = rows[has_row]
        words[has_row, address] = base + offsets[place]
        words[has_row, size] = offsets[place + 1] - offsets[place]
    has_old, has_new = words[:, frames.OLD] != 0, words[:, frames.NEW] != 0
    words[:, frames.KIND] = np.where(has_old, np.where(has_new, UPDATE, DELETE), CREATE)
    words[block.operations[:count] == UPDATED, frames.KIND] = frames.WITHOUT_OLD
    words[:, frames.RELATION] = table.relation
    _put_numbers(words, block, count)
    return words


def _put_numbers(words: np.ndarray, block: ChangeBlock, count: int) -> None:
    for column, high, low in (
        (block.shown, frames.LSN_HIGH, frames.LSN_LOW),
        (block.intents, frames.ORDER_HIGH, frames.ORDER_LOW),
        (block.commits, frames.COMMIT_HIGH, frames.COMMIT_LOW),
    ):
        words[:, high] = column.high[:count].view(np.int64)
        words[:, low] = column.low[:count].view(np.int64)
