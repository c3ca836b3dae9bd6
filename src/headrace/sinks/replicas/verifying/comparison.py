"""Compares one replica with its source while changes continue.

A row certainly differs if the replica had it before and after the source was read, at the same
place of its files, and the replica has passed the place of the log at which the source was read:
then the row was not changed in between, and the source has a different one. Every other row that
seems to differ is checked again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.findings import counted
from headrace.sinks.replicas.keys import ABSENT, KeySet
from headrace.sinks.replicas.verifying.digests import key_digests, row_digests
from headrace.sinks.replicas.verifying.progress import (
    ComparisonState,
    Found,
    TableProgress,
)
from headrace.sinks.replicas.verifying.query_progress import QueryProgress
from headrace.sinks.replicas.verifying.replica_rows import ReplicaRows
from headrace.sinks.replicas.verifying.row_index import (
    PlacedDigests,
    RowIndex,
    RowPlace,
    pieces,
)
from headrace.sinks.replicas.verifying.source_rows import (
    NOT_READABLE,
    Chunk,
    SourceRows,
    changed_meanwhile,
)
from headrace.sinks.replicas.verifying.suspects import Suspects, looked_up
from headrace.sinks.replicas.verifying.verdicts import Verdict, verdict
from headrace.spark.sinks.comparison import (
    ComparisonRequest,
    DifferenceKind,
    RowDifference,
    shown_value,
)

if TYPE_CHECKING:
    from headrace.sinks.replicas.lake import LakeTable
    from headrace.snapshots.incremental.rows import ChunkRows

_MAX_SUSPECTS, _MAX_BYTES, _SETTLE_SECONDS = 50_000, 64 << 20, 30.0
"""The numbers of rows that seem to differ, and of their bytes, and the seconds since the first of
them, after which they are checked."""
_ROUNDS = 6
"""How often a row is checked."""
_REPORT_SECONDS, _KEEP_SECONDS = 30.0, 5.0
_MAX_KEYS = 500
"""The most rows that a repair copies by their keys; if more differ, it copies the whole table."""


@dataclass(frozen=True)
class ComparedColumns:
    """The compared columns, including those of the key, and their types in the replica."""

    key: tuple[str, ...]
    types: dict[str, pa.DataType]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.types)

    @property
    def empty(self) -> pa.Table:
        """A table of the columns without rows."""
        return pa.schema(list(self.types.items())).empty_table()


class TableComparison:
    """The comparison that the module describes. `sources` are the source tables whose rows the
    replica has; `require` raises an error to end the comparison of the table. Raises HeadraceError,
    OSError."""

    def __init__(
        self,
        table: LakeTable,
        columns: ComparedColumns,
        sources: Sequence[str],
        source: SourceRows,
        query: QueryProgress,
        state: ComparisonState,
        request: ComparisonRequest,
        require: Callable[[], None],
    ) -> None:
        self._table, self._columns, self._sources = table, columns, tuple(sources)
        self._source, self._query, self._state = source, query, state
        self._request, self._require = request, require
        self._signature = repr((columns.key, columns.types, self._sources))
        self._initial: ReplicaRows
        self._index: RowIndex
        self._pending: list[tuple[pa.Table, Chunk]] = []
        self._pending_bytes = self._pending_rows = 0
        self._pending_since = self._reported = self._kept = time.monotonic()
        self._began, self._paced = time.monotonic(), 0
        self._progress = TableProgress(self._signature)
        self._has_sought = False

    def run(self) -> Found:
        """Compare all rows; continues an interrupted run."""
        self._begin()
        self._began = time.monotonic()
        while self._progress.source < len(self._sources):
            self._read_source(self._sources[self._progress.source])
            following = self._progress.source + 1
            self._progress = replace(self._progress, source=following, reading=None)
            self._keep()
        self._look_at_surplus()
        self._state.forget()
        return self._progress.found

    # -- reading the source -----------------------------------------------------------------------

    def _begin(self) -> None:
        self._initial = self._present()
        progress = self._state.read(self._signature)
        if progress is not None:
            try:
                self._index = RowIndex(self._state.index)
            except (OSError, ValueError):
                progress = None
        if progress is not None:
            self._request.report(f"{self._table.name}: the interrupted comparison continues")
            self._progress = progress
            return
        self._state.forget()
        self._request.report(
            f"{self._table.name}: reading {counted(self._initial.rows, 'row')} of the replica"
        )
        self._index = RowIndex.build(self._state.index, self._checked(self._initial.digests()))
        self._keep()

    def _checked(self, digests: Iterator[PlacedDigests]) -> Iterator[PlacedDigests]:
        for placed in digests:
            self._request.check()
            yield placed

    def _present(self) -> ReplicaRows:
        """Return the current rows of the replica."""
        self._table.refresh()
        rows = ReplicaRows(self._table, self._columns.names)
        if rows.types != self._columns.types:
            raise changed_meanwhile(str(self._table.name))
        return rows

    def _read_source(self, table: str) -> None:
        for chunk, rows, progress in self._source.chunks(table, self._progress.reading):
            if rows is not None:
                self._compare(self._made(table, rows), chunk)
            results = self._progress.found
            results = replace(
                results,
                rows=results.rows + (0 if rows is None else len(rows)),
                chunks=results.chunks + (rows is not None),
            )
            self._progress = replace(self._progress, found=results, reading=progress)
            self._after_chunk(0 if rows is None else len(rows))
        self._settle_pending()

    def _made(self, table: str, rows: ChunkRows) -> pa.Table:
        return self._source.columns(table, rows, self._table.name, self._columns.types)

    def _compare(self, rows: pa.Table, chunk: Chunk) -> None:
        keys = key_digests(rows, self._columns.key)
        digests = row_digests(rows, self._columns.names)
        others = np.flatnonzero(~self._index.are_equal(keys, digests))
        if not len(others):
            return
        if not self._pending:
            self._pending_since = time.monotonic()
        chosen = rows.take(pa.array(others))
        self._pending.append((chosen, chunk))
        self._pending_rows += len(others)
        self._pending_bytes += chosen.nbytes

    def _after_chunk(self, rows: int) -> None:
        self._pace(rows)
        now = time.monotonic()
        if self._pending:
            is_due = now - self._pending_since > _SETTLE_SECONDS
            is_much = self._pending_rows > _MAX_SUSPECTS or self._pending_bytes > _MAX_BYTES
            if is_due or is_much:
                self._settle_pending()
        elif now - self._kept > _KEEP_SECONDS:
            self._keep()
        if now - self._reported > _REPORT_SECONDS:
            self._reported = now
            results = self._progress.found
            self._request.report(
                f"{self._table.name}: {results.rows:,} of about {len(self._index):,} rows "
                f"compared, {results.differing:,} differ"
            )

    def _pace(self, rows: int) -> None:
        """Limit the rate of reading to that of the request."""
        self._request.check()
        if self._request.rate is None:
            return
        self._paced += rows
        while (rest := self._began + self._paced / self._request.rate - time.monotonic()) > 0:
            time.sleep(min(rest, 0.2))
            self._request.check()

    def _keep(self) -> None:
        """Store the progress; no row may be waiting for a check."""
        self._index.flush()
        self._state.keep(self._progress)
        self._kept = time.monotonic()

    # -- rows that seem to differ -----------------------------------------------------------------

    def _settle_pending(self) -> None:
        pending, self._pending = self._pending, []
        self._pending_rows = self._pending_bytes = 0
        if not pending:
            return
        rows = pa.concat_tables([rows for rows, _ in pending])
        chunks = [chunk for rows, chunk in pending for _ in range(rows.num_rows)]
        self._settle(self._suspects(rows, chunks))
        self._keep()

    def _suspects(self, rows: pa.Table, chunks: Sequence[Chunk]) -> Suspects:
        """Return rows of the source that the index does not have."""
        firsts = np.sort(KeySet(rows.select(self._columns.key)).first_rows())
        rows, chunks = rows.take(pa.array(firsts)), [chunks[at] for at in firsts.tolist()]
        keys = rows.select(self._columns.key)
        return Suspects(
            keys,
            rows,
            list(row_digests(rows, self._columns.names).tolist()),
            list(range(rows.num_rows)),
            list(chunks),
            self._index.places(key_digests(keys, self._columns.key)),
            [None] * rows.num_rows,
        )

    def _settle(self, suspects: Suspects) -> None:
        """Check rows until each of them is known to differ or not, or the rounds are over."""
        for number in range(_ROUNDS):
            if not len(suspects):
                return
            rest = self._look_at(suspects)
            suspects = self._read_again(rest) if number + 1 < _ROUNDS else rest
        self._count(unsettled=len(suspects))

    def _look_at(self, suspects: Suspects) -> Suspects:
        """Check rows once; returns those whose verdict is unknown, with their current rows in the
        replica."""
        position = self._query.await_place(self._source.place(), self._require)
        now, rows, numbers = self._in_replica(suspects.keys)
        rest: list[int] = []
        lacked: list[int | None] = []
        for at in range(len(suspects)):
            source = suspects.source[at]
            judged = verdict(source, suspects.before[at], now[at], suspects.lacked[at])
            if judged is Verdict.DIFFERS:
                self._report(suspects, at, rows, numbers[at])
            elif judged is Verdict.UNKNOWN:
                rest.append(at)
                is_missing = not suspects.before[at] and not now[at]
                lacked.append(source if is_missing else None)
        found_so_far = replace(self._progress.found, position=position)
        self._progress = replace(self._progress, found=found_so_far)
        return replace(suspects.taken(rest), before=[now[at] for at in rest], lacked=lacked)

    def _in_replica(
        self, keys: pa.Table
    ) -> tuple[list[tuple[RowPlace, ...]], pa.Table, list[list[int]]]:
        """Return the current rows of distinct keys in the replica: the places of each key's rows,
        all rows, and the numbers of each key's rows."""
        places, rows = self._present().find(keys)
        numbers: list[list[int]] = [[] for _ in range(keys.num_rows)]
        key_set = KeySet(keys)
        if len(places):
            rows_of = key_set.first_rows()
            key_numbers = key_set.numbers_of([rows[name] for name in self._columns.key])
            for at, number in enumerate(key_numbers.tolist()):
                assert number != ABSENT
                numbers[int(rows_of[number])].append(at)
        return [tuple(sorted(places[at] for at in of)) for of in numbers], rows, numbers

    def _read_again(self, rest: Suspects) -> Suspects:
        """Return the rows with their current values at the source."""
        chunks = dict.fromkeys(chunk for chunk in rest.chunks if chunk is not None)
        read = ((chunk, self._made(chunk.table, self._source.again(chunk))) for chunk in chunks)
        unknown = [at for at, chunk in enumerate(rest.chunks) if chunk is None]
        sought: Iterable[tuple[Chunk, pa.Table]] = ()
        if unknown:
            sought_rows = self._sought(rest.keys.take(pa.array(unknown)))
            if sought_rows is None:
                self._count(unsettled=len(unknown))
                rest = rest.taken([at for at, chunk in enumerate(rest.chunks) if chunk is not None])
            else:
                sought = sought_rows
        return looked_up(rest, chain(read, sought), self._columns.empty)

    def _sought(self, keys: pa.Table) -> Iterable[tuple[Chunk, pa.Table]] | None:
        """Return the source's rows of keys that no chunk had: with queries for these keys, or, if
        the database does not support them, by reading all rows. None: all rows were read once
        already."""
        queries = None if self._has_sought else self._source.queries(keys)
        if queries is not None:
            try:
                return list(self._selected(queries))
            except HeadraceError as error:
                if error.code != NOT_READABLE:
                    raise
        if self._has_sought:
            return None
        self._has_sought = True
        return self._selected([None])

    def _selected(self, queries: Sequence[str | None]) -> Iterator[tuple[Chunk, pa.Table]]:
        """Yield the rows of the source that filters select (None: all), in chunks."""
        for table in self._sources:
            for query in queries:
                for chunk, rows, _ in self._source.chunks(table, condition=query):
                    self._pace(0 if rows is None else len(rows))
                    if rows is not None:
                        yield chunk, self._made(table, rows)

    # -- rows in no chunk -------------------------------------------------------------------------

    def _look_at_surplus(self) -> None:
        """Check the rows of the index that belong to no row of the source."""
        changed: list[tuple[pa.Table, list[tuple[RowPlace, ...]]]] = []
        for numbers in pieces(self._index.unseen(), _MAX_SUSPECTS):
            keys = self._initial.keys_at(self._index.by_file(numbers))
            if keys is None:
                raise _files_gone(str(self._table.name))
            before = self._index.places(key_digests(keys, self._columns.key))
            rest = self._look_at(self._without_source(keys, before))
            if len(rest):
                changed.append((rest.keys, rest.before))
            digests = key_digests(rest.keys, self._columns.key)
            is_known = ~np.isin(self._index.entries["key"][numbers], digests)
            self._index.seen[numbers[is_known]] = True
            self._keep()
        if not changed:
            return
        # The rows were rewritten meanwhile, by a change or for example a compaction.
        keys = pa.concat_tables([keys for keys, _ in changed])
        firsts = np.sort(KeySet(keys).first_rows())
        before = [places for _, of in changed for places in of]
        rest = self._without_source(
            keys.take(pa.array(firsts)), [before[at] for at in firsts.tolist()]
        )
        self._settle(self._read_again(rest))
        self._keep()

    def _without_source(self, keys: pa.Table, before: list[tuple[RowPlace, ...]]) -> Suspects:
        count = keys.num_rows
        none = [None] * count
        return Suspects(keys, self._columns.empty, [*none], [-1] * count, [*none], before, [*none])

    # -- results ----------------------------------------------------------------------------------

    def _report(self, suspects: Suspects, at: int, rows: pa.Table, numbers: list[int]) -> None:
        key = {name: suspects.keys[name][at].as_py() for name in self._columns.key}
        source = suspects.rows.slice(suspects.numbers[at], 1) if suspects.numbers[at] >= 0 else None
        columns: dict[str, tuple[str, str]] = {}
        if source is None or suspects.source[at] is None:
            kind = DifferenceKind.SURPLUS
        elif not numbers:
            kind = DifferenceKind.MISSING
        elif len(numbers) > 1:
            kind = DifferenceKind.REPEATED
        else:
            kind = DifferenceKind.DIFFERENT
            columns = self._other_values(source, rows.slice(numbers[0], 1))
        difference = RowDifference(kind, {n: shown_value(v) for n, v in key.items()}, columns)
        results = self._progress.found
        keys = results.keys
        chunk = suspects.chunks[at]
        if keys is not None:
            is_one_by_one = (
                kind in (DifferenceKind.MISSING, DifferenceKind.DIFFERENT) and chunk is not None
            )
            count = sum(map(len, keys.values()))
            if not is_one_by_one or count >= _MAX_KEYS or chunk is None:
                keys = None
            else:
                of_table = (*keys.get(chunk.table, ()), tuple(key.values()))
                keys = {**keys, chunk.table: of_table}
        results = replace(results, keys=keys)
        if len(results.differences) < self._request.most_shown:
            results = replace(results, differences=(*results.differences, difference))
        self._progress = replace(self._progress, found=results)
        self._count(differing=1)

    def _other_values(self, source: pa.Table, replica: pa.Table) -> dict[str, tuple[str, str]]:
        return {
            name: (shown_value(source[name][0].as_py()), shown_value(replica[name][0].as_py()))
            for name in self._columns.names
            if row_digests(source, [name])[0] != row_digests(replica, [name])[0]
        }

    def _count(self, *, differing: int = 0, unsettled: int = 0) -> None:
        results = self._progress.found
        results = replace(
            results,
            differing=results.differing + differing,
            unsettled=results.unsettled + unsettled,
        )
        self._progress = replace(self._progress, found=results)


def _files_gone(name: str) -> HeadraceError:
    return HeadraceError(
        FILES_GONE,
        f"{name}: data files that the comparison has read were merged and deleted meanwhile",
        "headrace compares the table again from its beginning, by itself.",
        retriable=True,
    )


FILES_GONE = "replicas.files_gone"
"""The code of the error of a comparison whose data files were deleted."""
