"""The rows of a range and the objects they refer to, divided into the slices of its end offset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.connect.rows import ORDER, ROW, TRANSACTION
from headrace.offsets.offset import Offset, P
from headrace.spool.extract import Inline, InMemory, SegmentPart, pack_inline, relocate
from headrace.spool.plan import by_hash, by_position, plan_bytes, tables_of, write_plan
from headrace.spool.segment import Segment
from headrace.spool.spool import Piece
from headrace.streaming.facts import EventSettings, Facts
from headrace.streaming.slices import FactsPacker, LogSlice, Lookup, present_relations, relations_in


@dataclass(frozen=True)
class PieceRows:
    """Rows [first, last) of a piece of the spool."""

    piece: Piece
    first: int
    last: int

    @property
    def rows(self) -> np.ndarray:
        """The rows (`ROW`), from the piece's index."""
        return self.piece.index.rows[self.first : self.last]

    @property
    def orders(self) -> np.ndarray:
        """The rows' places in their transactions (`ORDER`), one per row."""
        return self.piece.index.orders[self.first : self.last]

    @property
    def transactions(self) -> np.ndarray:
        """All transactions of the piece."""
        return self.piece.index.transactions_now()


@dataclass
class RangeRows:
    """Rows of a range in log order, their transactions, their `orders` if transactions are counted,
    the segments that their addresses point into, and the relations they refer to. `plan` is the
    plan in whose memory these tables are, None if they have memory of their own."""

    rows: np.ndarray
    transactions: np.ndarray
    orders: np.ndarray | None
    segments: list[Segment]
    relations: dict[int, Facts]
    plan: Segment | None = None

    @staticmethod
    def of(
        parts: Sequence[PieceRows],
        versions: Sequence[Facts],
        *,
        counted: bool,
        reserve: Callable[[int], Segment] | None = None,
    ) -> RangeRows:
        """Copy the rows of several pieces into one table, in memory that `reserve` returns."""
        transactions = [part.transactions for part in parts]
        rows_of_parts = [part.rows for part in parts]
        plan: Segment | None = None
        tables: tuple[np.ndarray | None, ...] = (None, None, None)
        if reserve is not None:
            row_count, transaction_count = sum(map(len, rows_of_parts)), sum(map(len, transactions))
            plan = reserve(plan_bytes(row_count, transaction_count, counted=counted))
            tables = tables_of(plan, row_count, transaction_count, counted=counted)
        rows = _together(rows_of_parts, ROW, tables[0])
        at = before = 0
        for part in parts:
            count = part.last - part.first
            if before:
                rows["transaction"][at : at + count] += before
            at += count
            before += len(part.transactions)
        return RangeRows(
            rows,
            _together(transactions, TRANSACTION, tables[1]),
            _together([part.orders for part in parts], ORDER, tables[2]) if counted else None,
            [part.piece.segment for part in parts],
            {index: versions[index] for index in present_relations(rows)},
            plan,
        )


def _together(
    tables: Sequence[np.ndarray], kind: np.dtype, target: np.ndarray | None
) -> np.ndarray:
    """Copy tables of one dtype into one, the `target` if it is not None: as bytes, because numpy
    copies structures field after field."""
    raw = [np.zeros(0, np.uint8)]
    raw += [np.ascontiguousarray(table).view(np.uint8) for table in tables]
    if target is None:
        return np.concatenate(raw).view(kind)
    np.concatenate(raw, out=target.view(np.uint8))
    return target


@dataclass(frozen=True)
class Cutter:
    """Makes slices of a stream. `lookup` reads rows of a slice again, if the facts of some require
    it."""

    pack: FactsPacker
    lookup: Lookup | None

    def in_memory(
        self,
        range_rows: RangeRows,
        end: Offset[P],
        settings: EventSettings,
        reserve: Callable[[int], Segment],
    ) -> list[LogSlice]:
        """Return slices that name segments and the plan: that of the rows, or another one in memory
        that `reserve` returns."""
        rows, transactions = range_rows.rows, range_rows.transactions
        order = None
        if end.order == "position":
            spans = by_position(rows["size"], end.slices)
        else:
            order, spans = by_hash(rows["hash"], end.slices)
        plan = range_rows.plan
        if plan is None or order is not None:
            plan = write_plan(rows, transactions, range_rows.orders, order, reserve)
        data = InMemory(
            plan.path,
            plan.token,
            len(rows),
            len(transactions),
            tuple(SegmentPart(s.path, s.token, s.start, s.end) for s in range_rows.segments),
            counted=range_rows.orders is not None,
        )
        planned = plan.array[: rows.nbytes].view(ROW)
        return [
            self._slice(data, span, planned[slice(*span)], range_rows, end, settings)
            for span in spans
        ]

    def inline(
        self, range_rows: RangeRows, end: Offset[P], settings: EventSettings
    ) -> list[LogSlice]:
        """Return slices that contain all their bytes. The rows of `range_rows` get real
        addresses."""
        rows, orders = range_rows.rows, range_rows.orders
        for segment in range_rows.segments:
            relocate(
                rows,
                range_rows.transactions,
                segment.start,
                segment.end,
                segment.base - segment.start,
            )
        if end.order == "position":
            order, spans = None, by_position(rows["size"], end.slices)
        else:
            order, spans = by_hash(rows["hash"], end.slices)
        slices = []
        for first, last in spans:
            places = slice(first, last) if order is None else order[first:last]
            part = rows[places]
            counted = None if orders is None else orders[places]
            data = pack_inline(part, range_rows.transactions, counted)
            slices.append(self._slice(data, (0, last - first), part, range_rows, end, settings))
        return slices

    def _slice(
        self,
        data: InMemory | Inline,
        span: tuple[int, int],
        rows: np.ndarray,
        range_rows: RangeRows,
        end: Offset[P],
        settings: EventSettings,
    ) -> LogSlice:
        relations = range_rows.relations
        again = any(facts.wants_lookup for facts in relations.values())
        return LogSlice(
            data,
            *span,
            end.sequences,
            relations_in(rows, relations, self.pack),
            settings,
            self.lookup if again else None,
            int(rows["size"].sum()),
        )
