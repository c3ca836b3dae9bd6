"""A replica: a table of the lake to which micro-batches are applied."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from uuid import uuid4
from zlib import crc32

from headrace.errors import HeadraceError
from headrace.sinks.replicas import refusals
from headrace.sinks.replicas.applying.deleted_rows import (
    change_deletes,
    deletes_change,
    with_deleted_column,
)
from headrace.sinks.replicas.applying.other_runs import OtherRuns, sweep_left_files
from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.changes.schemas import of_json
from headrace.sinks.replicas.columns.following import (
    FollowedColumns,
    own_properties,
    source_property,
)
from headrace.sinks.replicas.comments import SourceComments
from headrace.sinks.replicas.evolution import OF_COLUMNS
from headrace.sinks.replicas.lake import (
    BATCH,
    CONFLICT,
    KEY,
    MODE,
    NAME_NOT_TAKEN,
    PLACE,
    QUERY,
    SOURCE,
    UPKEEP,
    ColumnChange,
    DataFile,
    Lake,
    LakeTable,
    TableChange,
    TableName,
    TableSchema,
    Transaction,
)
from headrace.sinks.replicas.maintaining import merge_small_files
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.modes.own_columns import with_own_columns, without_own_columns
from headrace.sinks.replicas.options import Deletes, ReplicaOptions, Truncates
from headrace.sinks.replicas.outcomes import Figures, MicroBatch, Outcome, Work, files_of
from headrace.sinks.replicas.runners import Runner
from headrace.sinks.replicas.source_columns import (
    is_replaced,
    lacking,
    marks_deletes,
    table_of,
    without_ids,
)

log = logging.getLogger(__name__)
FENCES = (
    refusals.OTHER_KEEPER,
    refusals.OLDER_CHECKPOINT,
    refusals.OTHER_MODE,
    refusals.TABLE_GONE,
)
"""Codes of errors with which a query does not start: another query, or somebody else, keeps the
table, it has more than the checkpoint of its query, or another mode, or it is gone."""
_MAX_TRIES = 5


class Replica:
    """A table that follows its source in one of the modes. For one thread at a time."""

    def __init__(
        self,
        lake: Lake,
        name: TableName,
        options: ReplicaOptions,
        runner: Runner,
        comments: SourceComments,
        replaced_before: Callable[[], datetime] | None = None,
    ) -> None:
        """`replaced_before` returns when a snapshot that expires was replaced at the latest; None:
        the options say it."""
        self.name, self._replaced_before = name, replaced_before or options.replaced_before
        self._lake, self._options, self._runner, self._comments = lake, options, runner, comments
        self._table: LakeTable | None = None
        self._own_version = self._proved_version = ""
        self.has_other_deletes = False
        """Whether the existing table was kept with the other kind of deletes until now."""
        self._mode = options.modes.default
        self._other_runs = OtherRuns(name)
        self.figures = Figures()

    @property
    def _is_soft(self) -> bool:
        return self._options.deletes is Deletes.SOFT and self._mode is Mode.REPLICA

    @property
    def _columns(self) -> FollowedColumns:
        return FollowedColumns(self.name, self._mode, self._options.ambiguous, self._runner)

    def prepare(
        self,
        schema: TableSchema,
        query: str,
        planned: int | None = None,
        committed: int | None = None,
        *,
        takes_over: bool = False,
    ) -> bool:
        """Create the table if it is missing; returns whether it was. Refuse one that this query
        cannot keep. `query` is empty before its first micro-batch; `planned` is the last one that
        it has planned (None: this one), `committed` the last one that it has committed to the table
        (None: none); `takes_over`: the table may be another query's. Raises HeadraceError."""
        if not self._options.is_incomplete:
            refusals.require_whole(schema)
        table = self._found(schema)
        if committed is not None:
            properties = {} if table is None else table.properties()
            if properties.get(QUERY, query) == query:
                refusals.require_committed(self.name, properties.get(BATCH), committed)
        is_new = table is None
        self._require_mode([schema], table)
        self._require_key(schema)
        if table is None:
            table_schema = self._comments.added_to(schema)
            if self._is_soft:
                table_schema = with_deleted_column(self.name, table_schema)
            table_schema = with_own_columns(self.name, table_schema, self._mode)
            properties = {KEY: json.dumps(list(table_schema.key)), **source_property(table_schema)}
            if self._mode is not Mode.REPLICA:
                properties[MODE] = self._mode.value
            table = self._lake.create(self.name, table_schema, properties)
        else:
            self._require_source(table.properties().get(SOURCE, ""), [schema])
            if not takes_over:
                self._require_own(table, query)
        if planned is not None:
            self._require_planned(table.properties(), query, planned)
        self._lake.announce(self.name)
        self._table = table
        self._other_runs.begin(table.properties())
        self.has_other_deletes = not is_new and deletes_change(table, is_soft=self._is_soft)
        return is_new

    def apply(
        self,
        batch: MicroBatch,
        parts: Sequence[Part],
        folder: Path,
        *,
        is_copied: bool = False,
        may_empty: bool = False,
        count_left_out: Callable[[int], None] | None = None,
    ) -> Outcome:
        """Apply a micro-batch's changes to the table, unless it has them. `folder` has the files of
        the parts. `is_copied`: the table is being copied again, so that rows are still missing;
        `may_empty`: no row was copied yet. `count_left_out` is called before the commit, with the
        number of rows that are left out. Raises HeadraceError."""
        self.has_other_deletes &= is_copied
        schemas = [of_json(part.schema) for part in parts if part.schema]
        self._require_source("", schemas)
        newest = max((part for part in parts if part.schema), key=attrgetter("last"), default=None)
        if self._table is None and newest is not None:
            self.prepare(of_json(newest.schema), batch.query)
        elif self._opened() is None:
            return Outcome()  # a TRUNCATE of a table that never had a row here
        assert self._table is not None
        self._require_mode(schemas, self._table)
        schema = without_own_columns(self._table.schema(), self._mode)
        if newest is not None:
            schema = self._comments.added_to(of_json(newest.schema))
        for attempt in range(1, _MAX_TRIES + 1):
            name = batch.attempt_name(attempt)
            work = Work(parts, folder, schema, name, is_copied, may_empty)
            try:
                return self._attempt(batch, work, count_left_out)
            except HeadraceError as error:
                if error.code == CONFLICT:
                    with suppress(HeadraceError, OSError):
                        begun = self._table.begin(ColumnChange())
                        begun.storage.sweep(f"{work.name}-", begun.files)
                if error.code != CONFLICT or attempt == _MAX_TRIES:
                    raise
                log.info("%s: somebody else has committed meanwhile; once more", self.name)
        raise AssertionError

    def last_batch(self, query: str) -> int | None:
        """Return the number of the query's last micro-batch in the table; None: it has none of this
        query. Raises HeadraceError."""
        table = self._table or self._lake.table(self.name)
        properties = {} if table is None else table.properties()
        return int(properties.get(BATCH, -1)) if properties.get(QUERY) == query else None

    def committed(self, query: str) -> int | None:
        """Return the number of the query's last micro-batch in the table, as it was last seen;
        None: it has none of this query."""
        return None if self._table is None else self.last_batch(query)

    def version(self, *, refreshes: bool = False) -> str | None:
        """Return the version of the table; None: there is no table. `refreshes`: read its state
        again. Raises HeadraceError, also if others have changed rows."""
        if self._table is None:
            return None
        if refreshes:
            self._table.refresh()
        version = self._table.version()
        if version not in (self._own_version, self._proved_version):
            if foreign := self._table.foreign_changes():
                raise refusals.changed_by_others(self.name, foreign)
            self._proved_version = version
        return version

    def take_over(self, batch: MicroBatch) -> None:
        """Remove every row, before a micro-batch, if the table was another query's. Raises
        HeadraceError."""
        if self._table is not None:
            self._table.refresh()
            if self._table.properties().get(QUERY, batch.query) != batch.query:
                self.empty(batch.before)  # which a staged first copy may be

    def empty(self, batch: MicroBatch) -> None:
        """Remove every row, before a micro-batch: the table is copied again, or was another
        query's. Raises HeadraceError."""
        table = self._opened()
        if table is None:
            return
        transaction = table.begin(ColumnChange())
        source = without_ids(table.properties().get(SOURCE, ""))
        before = {**batch.properties, BATCH: str(batch.number - 1), SOURCE: source}
        if PLACE in table.properties():
            before[PLACE] = ""  # another query's sequences cannot be compared with the own ones
        transaction.commit(TableChange(removed=list(transaction.files)), before)

    def files(self) -> list[str]:
        """Return the paths of the live data files; empty if there is no table. Raises
        HeadraceError."""
        table = self._opened()
        return [] if table is None else [file.path for file in table.begin(ColumnChange()).files]

    def remove(self, paths: Collection[str], copy_name: str) -> None:
        """Remove data files that remain from before the table was copied again; names of files that
        the copy wrote contain `copy_name`. A history keeps their rows, and closes the current
        versions in them, which the source no longer has; a change log keeps its files. Raises
        HeadraceError("replicas.copy_incomplete") if somebody else has written files since then,
        which may contain rows of them, and errors of commits."""
        table = self._opened()
        if table is None or not paths:
            return
        self._require_mode([], table)
        if self._mode is Mode.APPEND:
            return
        for attempt in range(1, _MAX_TRIES + 1):
            table.refresh()
            transaction = table.begin(ColumnChange())
            removed = [file for file in transaction.files if file.path in paths]
            later = {file.path.rpartition("/")[2] for file in transaction.files} - {
                path.rpartition("/")[2] for path in paths
            }
            if others := sorted(name for name in later if copy_name not in name):
                raise refusals.merged_meanwhile(self.name, others)
            if foreign := table.foreign_changes():
                raise refusals.changed_by_others(self.name, foreign)
            if self._mode is Mode.HISTORY:
                name = f"{copy_name}closed-{uuid4().hex[:8]}"
                place = table.properties().get(PLACE, "")
                change = self._closing(transaction, removed, name, place)
            else:
                change = TableChange(removed=removed)
            if not (change.removed or change.vectors):
                return
            try:
                transaction.commit(change, own_properties(table))
            except HeadraceError as error:
                if error.code != CONFLICT or attempt == _MAX_TRIES:
                    raise

    def _closing(
        self, transaction: Transaction, files: Sequence[DataFile], name: str, place: str
    ) -> TableChange:
        """Return the change that closes the current versions in files, at a place and now."""
        from headrace.sinks.replicas.applying.closing import CloseStep, close_versions

        end = place, int(datetime.now(UTC).timestamp() * 1_000_000)
        steps = [CloseStep(transaction.storage, [file], name, end) for file in files]
        closings = self._runner.run(close_versions, steps)
        return TableChange(
            [file for closed in closings for file in closed.files],
            [vector for closed in closings for vector in closed.vectors],
            [file for closed in closings for file in closed.removed],
        )

    def _attempt(
        self, batch: MicroBatch, work: Work, count_left_out: Callable[[int], None] | None
    ) -> Outcome:
        from headrace.sinks.replicas.applying.batches import Batch, apply_batch

        table, parts = self._table, work.parts
        assert table is not None
        table.refresh()
        properties = table.properties()
        if QUERY in properties:
            self._require_own(table, batch.query)
            self._other_runs.require_none(properties, batch)
        if QUERY in properties and int(properties.get(BATCH, -1)) >= batch.number:
            return Outcome(is_repeated=True)
        # A copy that begins replaces all changes by others.
        is_own = table.version() == self._own_version or work.may_empty
        if not is_own and (foreign := table.foreign_changes()):
            raise refusals.changed_by_others(self.name, foreign)
        if not work.is_copied and deletes_change(table, is_soft=self._is_soft):
            before = replace(batch, number=int(properties.get(BATCH, -1)))
            names = before.upkeep_name, f"{files_of(batch.query)}deletes-"
            kept_properties = own_properties(table) | {UPKEEP: str(before.number)}
            change_deletes(table, names, self._runner, kept_properties, is_soft=self._is_soft)
            properties = table.properties()
            # Without a change from the source, the columns are those of the table.
            work = work if work.schema.source else replace(work, schema=table.schema())
        source = properties.get(SOURCE, "")
        is_soft = marks_deletes(source) if work.is_copied else self._is_soft
        self._require_source(source, [work.schema])
        if not work.may_empty and (gone := lacking(table.schema(), source)):
            raise refusals.columns_gone(self.name, gone)
        columns = self._columns
        former = columns.current(table, work.schema)
        if self._mode is not Mode.APPEND:
            if QUERY in properties and is_replaced(former, work.schema):
                if not work.is_copied:
                    raise refusals.table_replaced(self.name)
                if not self._mode.keeps_rows:
                    self.empty(batch)
            parts = [part for part in parts if not _is_of_another(part, work.schema)]
        truncated = max((part.truncated for part in parts), default="")
        if truncated and self._options.truncates is Truncates.FAIL:
            raise refusals.truncated(self.name)
        self._require_key(work.schema)
        source_schema = with_deleted_column(self.name, work.schema) if is_soft else work.schema
        whole = with_own_columns(self.name, source_schema, self._mode)
        renamed = columns.renamed(parts, work.schema)
        try:
            transaction = columns.begin(table, source_schema, work)
        except HeadraceError as error:
            is_emptied = work.may_empty and not self._mode.keeps_rows
            if not is_emptied or error.code not in OF_COLUMNS:
                raise
            # Raise for what even an empty table does not take before its rows are removed.
            columns.require(former, source_schema)
            self.empty(batch)
            transaction = columns.begin(table, source_schema, work)
        table_change, applied = apply_batch(
            transaction,
            Batch(
                parts,
                work.folder,
                without_own_columns(transaction.storage.schema, self._mode),
                work.name,
                str(self.name),
                self._mode,
                soft_deletes=is_soft,
                defaults=columns.older_values(parts, renamed, work.schema),
                renamed=renamed,
                is_copied=work.is_copied,
                foreign=frozenset(c.name for c in former.columns if c.is_foreign),
            ),
            self._runner,
        )
        marked = {**batch.properties, KEY: json.dumps(list(whole.key))}
        marked |= source_property(whole, table)
        if self._mode is Mode.HISTORY:
            marked[PLACE] = max((properties.get(PLACE, ""), *(part.last for part in work.parts)))
        if count_left_out is not None:
            count_left_out(applied.left_out)
        is_first, self._own_version = (
            not self._own_version,
            transaction.commit(table_change, marked),
        )
        if is_first:
            sweep_left_files(table, batch, properties, transaction.files)
        self._count_files(transaction, table_change)
        outcome = Outcome(
            sum(part.rows for part in parts),
            applied.upserted,
            applied.deleted,
            applied.bytes,
            applied.files,
            max((part.source_ms for part in parts), default=0),
        )
        self.figures.add(outcome)
        if not work.is_copied:  # merged files would be neither older nor newer than the copy
            self._look_after(table, int(properties.get(BATCH, -1)), batch)
        return outcome

    def _look_after(self, table: LakeTable, before: int, batch: MicroBatch) -> None:
        """Run the upkeep from time to time; its errors do not fail the micro-batch, which is
        committed. Numbers of micro-batches determine when, because a run may have only one; they
        differ between tables. `before` is the number of the previous micro-batch in the table."""
        every, turn = self._options.compact_commits, crc32(str(self.name).encode())
        if (batch.number + turn) // every == (before + turn) // every:
            return
        try:
            merge_small_files(
                table,
                self._runner,
                name=batch.upkeep_name,
                only_small=True,
                properties={UPKEEP: str(batch.number)},
            )
            table.expire(self._replaced_before())
        except Exception as error:  # noqa: BLE001 - a table is correct without its upkeep
            reason = f"{type(error).__name__}: {error}"
            log.warning("The upkeep of %s failed, and is tried again later: %s", self.name, reason)

    def _count_files(self, transaction: Transaction, change: TableChange) -> None:
        gone = {file.path for file in change.removed}
        vectors = {file.path for file in transaction.files if file.vector is not None}
        vectors |= {file.path for file, _, _ in change.vectors}
        self.figures.files = len(transaction.files) - len(gone) + len(change.added)
        self.figures.vectors = len(vectors - gone)

    def _opened(self) -> LakeTable | None:
        """Return the table, which this run may see for the first time; None: it does not exist."""
        if self._table is None and (table := self._lake.table(self.name)) is not None:
            self._table = table
            self._other_runs.begin(table.properties())
        return self._table

    def _found(self, schema: TableSchema) -> LakeTable | None:
        """Return the table in the lake, or None. Raises HeadraceError; if the name is not allowed,
        the message names the source's table."""
        try:
            return self._lake.table(self.name)
        except HeadraceError as error:
            if error.code != NAME_NOT_TAKEN or not schema.source:
                raise
            message = f"The replica of {schema.source}: {error.message}"
            raise HeadraceError(NAME_NOT_TAKEN, message, error.remedy) from None

    def _require_key(self, schema: TableSchema) -> None:
        if not schema.key and self._mode is not Mode.APPEND:
            raise refusals.no_key(self.name)

    def _require_planned(self, properties: Mapping[str, str], query: str, planned: int) -> None:
        """Refuse a checkpoint that is older than the table: micro-batches with numbers that the
        table has already would be skipped, although they contain other changes."""
        number = int(properties.get(BATCH, -1))
        if query and properties.get(QUERY) == query and number > planned:
            raise refusals.older_checkpoint(self.name, number, planned)

    def _require_own(self, table: LakeTable, query: str) -> None:
        """Refuse a table that another query, or somebody else, keeps."""
        properties: Mapping[str, str] = table.properties()
        keeper = properties.get(QUERY)
        if (keeper is None and KEY in properties) or (query and keeper == query):
            return
        raise refusals.other_keeper(self.name, is_query=keeper is not None)

    def _require_mode(self, schemas: Sequence[TableSchema], table: LakeTable | None) -> None:
        """Set the mode of the table, that of the source's tables. Refuse an existing table with
        another one, and tables of the source with different ones."""
        known = Mode.REPLICA if table is None else Mode(table.properties().get(MODE, Mode.REPLICA))
        modes = {schema.source: self._options.modes.mode(schema.source) for schema in schemas}
        if table is None:
            known = next(iter(modes.values()), known)
        for source, mode in modes.items():
            if mode is not known:
                raise refusals.other_mode(self.name, known, source, mode)
        self._mode = known

    def _require_source(self, source: str, schemas: Sequence[TableSchema]) -> None:
        """Refuse a second table of the source, unless transforms may merge tables. `source` is the
        property SOURCE of the replica."""
        if self._options.merges:
            return
        sources = {schema.source for schema in schemas} | {table_of(source)}
        names = sorted(filter(None, sources))
        if len(names) > 1:
            raise refusals.shared_name(self.name, names)


def _is_of_another(part: Part, newest: TableSchema) -> bool:
    """Return whether a part is from an earlier table with the same name at the source."""
    return bool(part.schema) and is_replaced(of_json(part.schema), newest)
