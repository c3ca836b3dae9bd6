"""Ranges of a table's keys in a transaction: their bounds, and their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic

import numpy as np

from headrace.connect.kernels.memory import PADDING
from headrace.relational.catalog import T
from headrace.relational.reading.chunk_sql import ChunkSql
from headrace.relational.reading.chunk_targets import TableTarget
from headrace.relational.table import Column
from headrace.signals.progress import Key
from headrace.snapshots.image_block import ImageBlock
from headrace.snapshots.incremental.chunk_source import KeyRange, Skipped
from headrace.snapshots.incremental.rows import ChunkRows

Block = tuple[np.ndarray, np.ndarray]
"""Images of rows, and their offsets (one more than rows)."""


class KeyRanges(ABC, Generic[T]):
    """The SQL part of `headrace.snapshots.incremental.chunk_source.ChunkTransaction`;
    subclasses run the queries."""

    @property
    @abstractmethod
    def sql(self) -> ChunkSql:
        """The SQL for the transaction's state of the database."""

    @abstractmethod
    def planning(self, target: TableTarget[T], /) -> AbstractContextManager[None]:
        """See ChunkTransaction."""

    @abstractmethod
    def _rows(self, statement: str, /) -> Iterable[tuple[Any, ...]]:
        """The rows of a query, as texts."""

    @abstractmethod
    def _blocks(self, select: str, max_bytes: int | None, /) -> tuple[list[Block], bool]:
        """The rows of a query until their images exceed `max_bytes`, and whether they do."""

    def _selected(self, target: TableTarget[T], /) -> list[str]:
        """The expressions that read the table's columns."""
        return self.sql.columns(target.facts.cell_names)

    def _keys(self, statement: str, key: Sequence[Column], /) -> list[Key]:  # noqa: ARG002
        """The keys that a query returns, as texts. `key` are their columns, for databases whose
        queries return values."""
        return [tuple(row) for row in self._rows(statement)]

    def largest_key(self, target: TableTarget[T]) -> Key | None:
        """The largest key; None for an empty table."""
        filters, alone = self.sql.filters(target), target.table.alone
        statement = self.sql.largest_key(target.table.path, target.columns, filters, alone=alone)
        return next(iter(self._keys(statement, target.columns)), None)

    def split(
        self, whole: KeyRange[TableTarget[T]], size: int, count: int
    ) -> list[KeyRange[TableTarget[T]]]:
        """The first ranges of `whole`, `count` at most, each of `size` rows."""
        bounds = self._bounds(whole, size, count - 1) if count > 1 else []
        return whole.cut_at(bounds, size)

    def _bounds(self, whole: KeyRange[TableTarget[T]], size: int, count: int) -> list[Key]:
        """Every `size`-th key, `count` at most."""
        target = whole.target
        statement = self.sql.bounds(
            target.table.path,
            target.columns,
            self.sql.conditions(whole),
            alone=target.table.alone,
            size=size,
            count=count,
        )
        return self._keys(statement, target.columns)

    def read_range(self, keys: KeyRange[TableTarget[T]]) -> ChunkRows | Skipped:
        """Return the rows in the order of the key, or the reason why the table is skipped."""
        try:
            with self.planning(keys.target):
                return self._chunk(keys)
        except Skipped as problem:
            return problem

    def _chunk(self, keys: KeyRange[TableTarget[T]]) -> ChunkRows:
        target = keys.target
        select = self.sql.rows(
            target.table.path,
            self._selected(target),
            target.columns,
            self.sql.conditions(keys),
            alone=target.table.alone,
            limit=keys.limit,
        )
        blocks, cut = self._blocks(select, keys.max_bytes)
        pieces = [np.zeros(1, np.int64)]
        size = 0
        for images, ends in blocks:
            pieces.append(ends[1:] + size)
            size += len(images)
        offsets = np.concatenate(pieces)
        if cut and keys.max_bytes is not None:
            fitting = int(np.searchsorted(offsets, keys.max_bytes, side="right"))
            offsets = offsets[: max(fitting, 2)]
            size = int(offsets[-1])
        joined = np.concatenate([*(images for images, _ in blocks), np.zeros(PADDING, np.uint8)])
        return ImageBlock(joined[:size], offsets).rows(target.facts, target.rendering, cut=cut)
