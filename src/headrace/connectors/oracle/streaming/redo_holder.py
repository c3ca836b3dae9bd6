"""Puts rows of redo, in their order, into the buffer of open transactions."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from headrace.connectors.oracle.capture import SYSTEM_USERS
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.position import OraclePosition, record_commits
from headrace.connectors.oracle.properties.modes import MiningStrategy
from headrace.connectors.oracle.redo.statements import columns_with
from headrace.connectors.oracle.rows.invalid_texts import (
    NONCHARACTER,
    invalid_rows,
    marked,
    valid,
    warn,
)
from headrace.connectors.oracle.scn import format_xid, scn_of
from headrace.connectors.oracle.streaming import redo_rows
from headrace.connectors.oracle.streaming.lobs.frames import held_row
from headrace.connectors.oracle.streaming.lobs.merging import Merging, Reselect
from headrace.connectors.oracle.streaming.lobs.survey import surveyed
from headrace.connectors.oracle.streaming.lobs.writing import written
from headrace.connectors.oracle.streaming.odd_redo import OddRedo
from headrace.connectors.oracle.streaming.remining import Remined
from headrace.connectors.oracle.streaming.row_effects import RowEffects, RowOptions
from headrace.connectors.oracle.streaming.table_statements import (
    At,
    DeliveredTransaction,
    TableStatement,
    is_truncation,
)
from headrace.connectors.oracle.streaming.tables import CapturedTable, StreamTables
from headrace.connectors.oracle.streaming.transactions import hold_kernel, write_kernel
from headrace.connectors.oracle.streaming.transactions.buffer import (
    BufferOptions,
    Names,
    TransactionBuffer,
)

log = logging.getLogger(__name__)

_HALF = (1 << 64) - 1


class RedoHolder:
    """Holds the changes of rows, and applies statements that change tables. `start` is where the
    stream was opened: what is committed below it was delivered. One thread uses it. Methods raise
    DriverError and HeadraceError."""

    def __init__(
        self, config: OracleConfig, start: OraclePosition, *, is_debezium_compatible: bool = False
    ) -> None:
        """`is_debezium_compatible`, as Debezium 3.6 does: changes of SYS and SYSTEM are captured
        like those of others, and statements that change tables show the database's local time."""
        self._start, self._is_debezium_compatible = start, is_debezium_compatible
        included, excluded = config.user_lists
        if not is_debezium_compatible:
            excluded += SYSTEM_USERS
        self._users = Names([*included, "UNKNOWN"] if included else (), excluded)
        self._clients = Names(
            config.log_mining_clientid_include_list, config.log_mining_clientid_exclude_list
        )
        self.buffer = TransactionBuffer(_buffer_options(config), self._users, self._clients)
        self._skips_truncates = "t" in config.skipped_operations
        self._unheard = {
            user.upper() for user in config.log_mining_schema_changes_username_exclude_list
        }
        self._row_options = RowOptions(
            shows_redo=config.log_mining_include_redo_sql,
            shows_ssn=config.headrace_source_ssn,
            failure=str(config.event_processing_failure_handling_mode),
            numbers_columns=config.log_mining_strategy == MiningStrategy.HYBRID,
        )
        self._holds_lobs = config.lob_enabled
        self.begins_again_below = 0
        """The SCN below which commits, and statements that changed tables, were read before."""
        self._last_statement: At | None = None
        self._threads = {commit.thread: commit for commit in start.threads}
        newest = max(start.threads, key=lambda commit: commit.scn, default=None)
        self.delivered: DeliveredTransaction | None = None
        """The last transaction with changes that was taken from the buffer."""
        if newest is not None and newest.xids:
            self.delivered = DeliveredTransaction(newest.xids[-1])
        self._at: pa.RecordBatch | None = None
        self.tables: StreamTables | None = None
        self._effects: RowEffects | None = None
        self._odd: OddRedo | None = None
        self._reselect: Reselect | None = None

    def open(self, tables: StreamTables, reselect: Reselect) -> None:
        """Set the captured tables; `reselect` reads large values again."""
        self.tables, self._reselect = tables, reselect
        self._effects = RowEffects(
            self._find,
            tables.statements,
            self._users,
            self._clients,
            self._row_options,
            self._held_row if self._holds_lobs else None,
            tables.is_new,
        )
        self._odd = OddRedo(self.buffer, tables, self._row_options.failed)

    def _held_row(
        self, code: int, statement: str | None, info: str | None, model: int
    ) -> tuple[int, bytes]:
        assert self.tables is not None
        table = self.tables.statements.tables[model]
        return held_row(code, statement, info, table, self.tables.charset)

    def written(self, number: int) -> Iterator[bytes]:
        """Yield the bytes of a marked transaction that was taken from the buffer, with its large
        values merged into its changes."""
        assert self.tables is not None
        assert self._reselect is not None
        tables, buffer = self.tables.lobs, self.buffer

        def held() -> Iterator[tuple[bytes, bool]]:
            return buffer.held_frames(number)

        merging = Merging(tables, self._reselect, self._row_options.value_failed)
        merged = merging.merged(held, surveyed(held, tables))
        yield from written(buffer.committed(number), merged, buffer.shown)
        buffer.let_go(number)

    def begin_again(self, up_to: int) -> Remined | None:
        """Drop the open transactions with large values, after redo was read up to an SCN: they are
        mined again. None if there is no such transaction."""
        dropped = self.buffer.drop_marked()
        if dropped is None:
            return None
        self.begins_again_below, self._last_statement = up_to + 1, None
        xids, oldest = dropped
        return Remined(min(oldest - 1, up_to), up_to, xids)

    def clock_is_ahead(self, microseconds: int) -> None:
        """Set how many microseconds the database's local time is ahead of UTC."""
        assert self._effects is not None
        self._effects.offset_us = microseconds

    def hold(self, batch: pa.RecordBatch) -> None:
        """Hold rows; columns as in redo_rows.REDO. Statements are whole."""
        invalid = invalid_rows(batch.column(redo_rows.SQL_REDO))
        if invalid:
            original, batch = batch, _with_valid_statements(batch)
        codes = redo_rows.numbers(batch, redo_rows.OPERATION_CODE)
        breaks = np.flatnonzero(codes == redo_rows.DDL)
        for number, (first, last) in enumerate(redo_rows.runs(breaks, len(batch))):
            if last > first:
                self._hold_rows(batch.slice(first, last - first))
            if number < len(breaks):
                self._change_table(batch.slice(last, 1))
        for row in invalid:
            self._warn_of_text(original.slice(row, 1))

    def _warn_of_text(self, row: pa.RecordBatch) -> None:
        """Log a warning that names the columns of a captured table whose texts are not valid in a
        row."""
        assert self.tables is not None
        path = (
            row.column(redo_rows.SEG_OWNER)[0].as_py(),
            row.column(redo_rows.TABLE_NAME)[0].as_py(),
        )
        tables = self.tables.statements.tables
        table = next(
            (
                candidate
                for candidate in reversed(tables)
                if (candidate.schema, candidate.name) == path
            ),
            None,
        )
        if table is not None:
            statement = row.column(redo_rows.SQL_REDO)[0].as_buffer().to_pybytes()
            columns = columns_with(NONCHARACTER, marked(statement), table)
            warn(f"{table.schema}.{table.name}", columns or [""])

    def _record_commits(self, threads: np.ndarray, scns: np.ndarray, xids: np.ndarray) -> None:
        """Record commits, one per redo thread, SCN and transaction's id."""
        real = threads > 0
        if real.any():
            xids = xids[real].view(np.uint64)
            record_commits(self._threads, threads[real], scns[real], xids)

    def _hold_rows(self, batch: pa.RecordBatch) -> None:
        """Hold rows without DDL; a table is recorded when all rows before its first one are
        held."""
        assert self._effects is not None
        assert self._odd is not None
        before = self.buffer.abandoned
        delivered = self._delivered(batch)
        while len(batch):
            self._at = batch
            rows = self._effects.of(batch, delivered)
            self.buffer.hold(rows)
            count = len(rows.effects)
            commits = self._effects.commits(rows)
            self._record_commits(
                *(
                    commits[:, word]
                    for word in (hold_kernel.THREAD, hold_kernel.SCN, hold_kernel.XID)
                )
            )
            batch, delivered = batch.slice(count), delivered[count:]
        self._odd.warn_of_rows()
        given_up = self.buffer.abandoned - before
        if given_up:
            log.warning(
                "%d transactions have reached log.mining.buffer.transaction.events.threshold and "
                "are given up: their changes are lost. Of these are still open: %s",
                given_up,
                ", ".join(map(format_xid, self.buffer.given_up())) or "none",
            )

    def _delivered(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return a mask of the commits that were delivered before the stream was opened."""
        start = self._start
        scns = redo_rows.numbers(batch, redo_rows.SCN)
        last = max([scn_of(start.committed), *(commit.scn for commit in start.threads)])
        if len(scns) == 0 or scns[0] > max(last, self.begins_again_below):
            return np.zeros(len(batch), bool)
        commits = redo_rows.numbers(batch, redo_rows.OPERATION_CODE) == redo_rows.COMMIT
        read_before = commits & (scns < self.begins_again_below)
        threads, places = redo_rows.numbers(batch, redo_rows.THREAD), np.flatnonzero(commits)
        xids = redo_rows.transaction_ids(batch, places).view(np.uint64)
        for row, xid in zip(places, xids, strict=True):
            commits[row] = start.is_delivered(int(threads[row]), int(scns[row]), int(xid))
        return np.asarray(commits | read_before)

    def _find(self, schema: str, name: str) -> CapturedTable | None:
        assert self.tables is not None
        assert self._at is not None
        assert self._odd is not None
        row = self._at.slice(0, 1)
        table = self.tables.find(schema, name, lambda: self._statement(row, None))
        if table is None:
            self._odd.warn_of_object(schema, name, self._at)
        return table

    def _us(self, batch: pa.RecordBatch) -> int:
        """Return the time of a batch's first row."""
        assert self._effects is not None
        return int(redo_rows.microseconds(batch.slice(0, 1), self._effects.offset_us)[0])

    # -- statements that change tables ----------------------------------------------------------

    def _change_table(self, row: pa.RecordBatch) -> None:
        """Apply a row of redo that is DDL; LogMiner may give it twice."""
        assert self.tables is not None
        schema, name, statement, user = (
            row.column(column)[0].as_py() or ""
            for column in (
                redo_rows.SEG_OWNER,
                redo_rows.TABLE_NAME,
                redo_rows.SQL_REDO,
                redo_rows.USERNAME,
            )
        )
        at = _at(row)
        if at == self._last_statement or not name:
            return
        self._last_statement = at
        if is_truncation(statement, schema):
            if not self._skips_truncates:
                self._truncate(row, schema, name)
        elif at.scn < self.begins_again_below:
            return
        elif not (is_unheard := user.upper() in self._unheard) or not self._is_debezium_compatible:
            # The columns of rows also follow a statement that makes no record.
            # A statement commits by itself.
            self._record_commits(
                redo_rows.numbers(row, redo_rows.THREAD),
                redo_rows.numbers(row, redo_rows.SCN),
                redo_rows.transaction_ids(row),
            )
            reported = replace(self._statement(row, statement), is_reported=not is_unheard)
            self.tables.changed(schema, name, reported)

    def _statement(self, row: pa.RecordBatch, text: str | None) -> TableStatement:
        """Return the statement of a row, the only one of its batch."""
        us = self._us(row)
        if text is not None and self._is_debezium_compatible:
            assert self._effects is not None
            us += self._effects.offset_us
        rs_id, user = (
            row.column(name)[0].as_py() for name in (redo_rows.RS_ID, redo_rows.USERNAME)
        )
        # One of the open transactions is its own.
        is_alone = self.buffer.open_count <= 1
        oldest = None if is_alone else self.buffer.oldest(with_committed=False)
        ssn = int(redo_rows.numbers(row, redo_rows.SSN)[0])
        return TableStatement(
            _at(row),
            us,
            text,
            thread=int(redo_rows.numbers(row, redo_rows.THREAD)[0]),
            sequence=int(redo_rows.numbers(row, redo_rows.SEQUENCE)[0]),
            rs_id=(rs_id or "").strip() or None,
            ssn=ssn if self._row_options.shows_ssn else None,
            user=user,
            last=self._last_delivered(),
            threads=tuple(self._threads[thread] for thread in sorted(self._threads)),
            mined=None if oldest is None else oldest - 1,
        )

    def _last_delivered(self) -> DeliveredTransaction | None:
        commits = self.buffer.commits()
        if len(commits):
            self.taken(int(commits.numbers[-1]))
        return self.delivered

    def taken(self, number: int) -> None:
        """Note the last transaction that was taken from the buffer."""
        last = self.buffer.committed(number)
        user = last.user if self.buffer.shown & write_kernel.SHOWS_USER else None
        self.delivered = DeliveredTransaction(last.xid, last.scn, user)

    def _truncate(self, row: pa.RecordBatch, schema: str, name: str) -> None:
        """Hold a truncate, which is a change of its transaction."""
        assert self._effects is not None
        self._at = row
        table = self._find(schema, name)
        if table is not None:
            self.buffer.hold(self._effects.truncate(row, table.truncates))

    def close(self) -> None:
        """Release all resources; never raises."""
        if self.tables is not None:
            self.tables.close()
        self.buffer.close()


def _with_valid_statements(batch: pa.RecordBatch) -> pa.RecordBatch:
    place = batch.schema.get_field_index(redo_rows.SQL_REDO)
    return batch.set_column(place, redo_rows.SQL_REDO, valid(batch.column(place)))


def _at(batch: pa.RecordBatch) -> At:
    """Return SCN and transaction's id of the first row of a batch."""
    first = batch.slice(0, 1)
    xid = int(redo_rows.transaction_ids(first)[0]) & _HALF
    return At(int(redo_rows.numbers(first, redo_rows.SCN)[0]), xid)


def _buffer_options(config: OracleConfig) -> BufferOptions:
    shown_fields = write_kernel.SHOWS_COMMIT_TIME | write_kernel.SHOWS_START_TIME
    if config.log_mining_buffer_track_username:
        shown_fields |= write_kernel.SHOWS_USER
    return BufferOptions(
        config.headrace_log_mining_buffer_max_bytes,
        config.log_mining_buffer_transaction_events_threshold,
        shown_fields,
    )
