"""A replica: a table of the lake to which micro-batches are applied."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from zlib import crc32

from headrace.errors import HeadraceError
from headrace.sinks.replicas import refusals
from headrace.sinks.replicas.applying.deleted_rows import (
    change_deletes,
    deletes_change,
    with_deleted_column,
)
from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.changes.schemas import of_json
from headrace.sinks.replicas.comments import SourceComments
from headrace.sinks.replicas.evolution import OF_COLUMNS, change_of_columns, steps_of
from headrace.sinks.replicas.lake import (
    BATCH,
    CONFLICT,
    KEY,
    NAME_NOT_TAKEN,
    OWN,
    QUERY,
    SOURCE,
    Column,
    ColumnChange,
    Lake,
    LakeTable,
    TableChange,
    TableName,
    TableSchema,
    Transaction,
)
from headrace.sinks.replicas.maintaining import merge_small_files
from headrace.sinks.replicas.options import Deletes, Existing, ReplicaOptions, Truncates
from headrace.sinks.replicas.outcomes import Figures, MicroBatch, Outcome, Work, files_of
from headrace.sinks.replicas.runners import Runner
from headrace.sinks.replicas.source_columns import (
    after,
    is_replaced,
    lacking,
    marks_deletes,
    property_of,
    table_of,
    with_ids,
    without_ids,
)

log = logging.getLogger(__name__)
OTHER_KEEPER, OLDER_CHECKPOINT = "replicas.other_keeper", "replicas.older_checkpoint"
FENCES = (OTHER_KEEPER, OLDER_CHECKPOINT)
"""Codes of errors with which a query does not start: another query, or somebody else, keeps the
table, or it has more than the checkpoint of its query."""
_MOST_TRIES = 5


class Replica:
    """A table that stays equal to its source. For one thread at a time."""

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
        self._is_soft = options.deletes is Deletes.SOFT
        self.figures = Figures()

    def prepare(self, schema: TableSchema, query: str, planned: int | None = None) -> bool:
        """Create the table if it is missing; returns whether it was. Refuse one that this query
        cannot keep. `query` is empty before its first micro-batch; `planned` is the last one that
        it has planned (None: this one). Raises HeadraceError."""
        self._require_key(schema)
        if not self._options.is_incomplete:
            refusals.require_whole(schema)
        table = self._found(schema)
        is_new = table is None
        if table is None:
            wanted = self._comments.added_to(schema)
            if self._is_soft:
                wanted = with_deleted_column(self.name, wanted)
            properties = {KEY: json.dumps(list(wanted.key)), **_source(wanted)}
            table = self._lake.create(self.name, wanted, properties)
        else:
            self._require_source(table.properties().get(SOURCE, ""), [schema])
            if self._options.existing is not Existing.REPLACE:
                self._require_own(table, query)
        if planned is not None:
            self._require_planned(table.properties(), query, planned)
        self._lake.announce(self.name)
        self._table = table
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
    ) -> Outcome:
        """Apply a micro-batch's changes to the table, unless it has them. `folder` has the files of
        the parts. `is_copied`: the table is being copied again, so that rows are still missing;
        `may_empty`: no row was copied yet. Raises HeadraceError."""
        self.has_other_deletes &= is_copied
        self._require_source("", [of_json(part.schema) for part in parts if part.schema])
        newest = max((part for part in parts if part.schema), key=attrgetter("last"), default=None)
        if self._table is None:
            if newest is not None:
                self.prepare(of_json(newest.schema), batch.query)
            elif (table := self._lake.table(self.name)) is None:
                return Outcome()  # a TRUNCATE of a table that never had a row here
            else:
                self._table = table
        assert self._table is not None
        schema = self._table.schema()
        if newest is not None:
            schema = self._comments.added_to(of_json(newest.schema))
        for attempt in range(1, _MOST_TRIES + 1):
            work = Work(parts, folder, schema, f"{batch.name}-{attempt}", is_copied, may_empty)
            try:
                return self._attempt(batch, work)
            except HeadraceError as error:
                if error.code == CONFLICT:
                    with suppress(HeadraceError, OSError):
                        begun = self._table.begin(ColumnChange())
                        begun.storage.sweep(f"{work.name}-", begun.files)
                if error.code != CONFLICT or attempt == _MOST_TRIES:
                    raise
                log.info("%s: somebody else has committed meanwhile; once more", self.name)
        raise AssertionError

    def last_batch(self, query: str) -> int | None:
        """Return the number of the query's last micro-batch in the table; None: it has none of this
        query. Raises HeadraceError."""
        table = self._table or self._lake.table(self.name)
        properties = {} if table is None else table.properties()
        return int(properties.get(BATCH, -1)) if properties.get(QUERY) == query else None

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
                self.empty(batch)

    def empty(self, batch: MicroBatch) -> None:
        """Remove every row, before a micro-batch: the table is copied again, or was another
        query's. Raises HeadraceError."""
        table = self._table
        if table is None:
            table = self._table = self._lake.table(self.name)
        if table is None:
            return
        transaction = table.begin(ColumnChange())
        source = without_ids(table.properties().get(SOURCE, ""))
        before = {**batch.properties, BATCH: str(batch.number - 1), SOURCE: source}
        transaction.commit(TableChange(removed=list(transaction.files)), before)

    def files(self) -> list[str]:
        """Return the paths of the live data files; empty if there is no table. Raises
        HeadraceError."""
        if self._table is None:
            self._table = self._lake.table(self.name)
        if self._table is None:
            return []
        return [file.path for file in self._table.begin(ColumnChange()).files]

    def remove(self, paths: Collection[str], own: str) -> None:
        """Remove data files that remain from before the table was copied again; names of files that
        the copy wrote contain `own`. Raises HeadraceError("replicas.copy_incomplete") if somebody
        else has written files since then, which may contain rows of them, and errors of commits."""
        if self._table is None:
            self._table = self._lake.table(self.name)
        if self._table is None or not paths:
            return
        for attempt in range(1, _MOST_TRIES + 1):
            self._table.refresh()
            transaction = self._table.begin(ColumnChange())
            removed = [file for file in transaction.files if file.path in paths]
            later = {file.path.rpartition("/")[2] for file in transaction.files} - {
                path.rpartition("/")[2] for path in paths
            }
            if others := sorted(name for name in later if own not in name):
                raise refusals.merged_meanwhile(self.name, others)
            if not removed:
                return
            try:
                transaction.commit(TableChange(removed=removed), _own(self._table))
            except HeadraceError as error:
                if error.code != CONFLICT or attempt == _MOST_TRIES:
                    raise

    def _attempt(self, batch: MicroBatch, work: Work) -> Outcome:
        from headrace.sinks.replicas.applying.batches import Batch, apply_batch

        table, parts = self._table, work.parts
        assert table is not None
        table.refresh()
        properties = table.properties()
        if QUERY in properties and properties[QUERY] != batch.query:
            if self._options.existing is not Existing.REPLACE:
                self._require_own(table, batch.query)
            self.empty(batch)
            properties = table.properties()
        if QUERY in properties and int(properties.get(BATCH, -1)) >= batch.number:
            return Outcome(is_repeated=True)
        # A copy that begins replaces all changes by others.
        is_own = table.version() == self._own_version or work.may_empty
        if not is_own and (foreign := table.foreign_changes()):
            raise refusals.changed_by_others(self.name, foreign)
        if not work.is_copied and deletes_change(table, is_soft=self._is_soft):
            before = replace(batch, number=int(properties.get(BATCH, -1)))
            names = before.upkeep_name, f"{files_of(batch.query)}deletes-"
            change_deletes(table, names, self._runner, _own(table), is_soft=self._is_soft)
            properties = table.properties()
            # Without a change from the source, the columns are those of the table.
            work = work if work.schema.source else replace(work, schema=table.schema())
        source = properties.get(SOURCE, "")
        is_soft = marks_deletes(source) if work.is_copied else self._is_soft
        self._require_source(source, [work.schema])
        if not work.may_empty and (gone := lacking(table.schema(), source)):
            raise refusals.columns_gone(self.name, gone)
        former = with_ids(table.schema(), source, work.schema)
        if QUERY in properties and is_replaced(former, work.schema):
            if not work.is_copied:
                raise refusals.table_replaced(self.name)
            self.empty(batch)
        # An earlier table of the source may have had the name.
        parts = [p for p in parts if not (p.schema and is_replaced(of_json(p.schema), work.schema))]
        truncated = max((part.truncated for part in parts), default="")
        if truncated and self._options.truncates is Truncates.FAIL:
            raise refusals.truncated(self.name)
        self._require_key(work.schema)
        wanted = with_deleted_column(self.name, work.schema) if is_soft else work.schema
        renamed = self._renamed(parts, work.schema)
        try:
            transaction = self._begin(table, wanted, work)
        except HeadraceError as error:
            if not work.may_empty or error.code not in OF_COLUMNS:
                raise
            # Raise for what even an empty table does not take before its rows are removed.
            change_of_columns(self.name, former, wanted, self._options.ambiguous, is_empty=True)
            self.empty(batch)
            transaction = self._begin(table, wanted, work)
        if not self._own_version:
            self._sweep(transaction, batch, int(properties.get(BATCH, -1)))
        made, applied = apply_batch(
            transaction,
            Batch(
                parts,
                work.folder,
                transaction.storage.schema,
                work.name,
                str(self.name),
                soft_deletes=is_soft,
                defaults=self._older_values(parts, renamed, wanted),
                renamed=renamed,
                is_copied=work.is_copied,
                foreign=frozenset(c.name for c in former.columns if c.is_foreign),
            ),
            self._runner,
        )
        marked = {**batch.properties, KEY: json.dumps(list(wanted.key))}
        marked |= _source(wanted, table)
        transaction.commit(made, marked)
        self._own_version = table.version()
        self._count_files(transaction, made)
        outcome = Outcome(
            sum(part.rows for part in parts),
            applied.upserted,
            applied.deleted,
            applied.bytes,
            applied.files,
            max((part.source_ms for part in parts), default=0),
            left_out=applied.left_out,
        )
        self.figures.add(outcome)
        if not work.is_copied:  # merged files would be neither older nor newer than the copy
            self._look_after(table, int(properties.get(BATCH, -1)), batch)
        return outcome

    def _sweep(self, transaction: Transaction, batch: MicroBatch, before: int) -> None:
        """Delete files of this micro-batch, or of the upkeep after the one `before` it, that a
        killed run may have left. The upkeep was not committed if no live file has its name; after
        merges by others this is not known."""
        transaction.storage.sweep(f"{batch.name}-", transaction.files)
        upkeep = replace(batch, number=before).upkeep_name
        names = [file.path.rpartition("/")[2] for file in transaction.files]
        is_known = not any(upkeep in name or not batch.is_of_query(name) for name in names)
        if is_known:
            transaction.storage.sweep(upkeep)

    def _look_after(self, table: LakeTable, before: int, batch: MicroBatch) -> None:
        """Run the upkeep from time to time; its errors do not fail the micro-batch, which is
        committed. Numbers of micro-batches determine when, because a run may have only one; they
        differ between tables. `before` is the number of the previous micro-batch in the table."""
        every, turn = self._options.compact_commits, crc32(str(self.name).encode())
        if (batch.number + turn) // every == (before + turn) // every:
            return
        try:
            merge_small_files(table, self._runner, name=batch.upkeep_name, only_small=True)
            table.expire(self._replaced_before())
        except Exception as error:  # noqa: BLE001 - a table is correct without its upkeep
            what = f"{type(error).__name__}: {error}"
            log.warning("The upkeep of %s failed, and is tried again later: %s", self.name, what)

    def _count_files(self, transaction: Transaction, change: TableChange) -> None:
        gone = {file.path for file in change.removed}
        vectors = {file.path for file in transaction.files if file.vector is not None}
        vectors |= {file.path for file, _, _ in change.vectors}
        self.figures.files = len(transaction.files) - len(gone) + len(change.added)
        self.figures.vectors = len(vectors - gone)

    def _begin(self, table: LakeTable, wanted: TableSchema, work: Work) -> Transaction:
        """Begin a transaction after which the table has the wanted columns. Raises
        HeadraceError."""
        transaction = table.begin(ColumnChange())
        is_empty = not any(file.rows > file.deleted for file in transaction.files)
        current = with_ids(table.schema(), table.properties().get(SOURCE, ""), wanted)
        change = change_of_columns(
            self.name, current, wanted, self._options.ambiguous, is_empty=is_empty
        )
        if not change:
            return transaction
        *first, last = steps_of(change, current)
        for step in first:
            begun = table.begin(step)
            current = after(current, step)
            removed = list(begun.files) if is_empty else []
            begun.commit(TableChange(removed=removed), _keeper(table, current))
        fills = last.added and not is_empty and not work.is_copied
        if fills and self._fill(table, last, work.name, after(current, last)):
            last = ColumnChange()
        return table.begin(last)

    def _fill(self, table: LakeTable, change: ColumnChange, name: str, late: TableSchema) -> bool:
        """Fill existing rows with the values of new columns for older rows, and commit the change;
        returns False without a commit if these are null. Raises HeadraceError."""
        from headrace.sinks.replicas.files.compacting import fill

        for column in change.added:
            if not column.is_known:
                raise refusals.default_unknown(self.name, column)
        defaults = _defaults(change.added)
        if not defaults:
            return False
        transaction = table.begin(change)
        made = fill(transaction, f"{name}-fill", self._runner, defaults)
        transaction.commit(made, _keeper(table, late))
        return True

    def _older_values(
        self,
        parts: Sequence[Part],
        renamed: Mapping[str, Mapping[str, str]],
        wanted: TableSchema,
    ) -> dict[str, object]:
        """Return the values of columns that some parts lack because they are older. Raises
        HeadraceError("replicas.default_unknown")."""
        lacking: set[str] = set()
        for part in parts:
            if part.path:
                now = renamed.get(part.path, {})
                had = {now.get(name, name) for name in of_json(part.schema).names}
                lacking |= {name for name in wanted.names if name not in had}
        columns = [column for column in wanted.columns if column.name in lacking]
        for column in columns:
            if not column.is_known:
                raise refusals.default_unknown(self.name, column)
        return _defaults(columns)

    def _renamed(self, parts: Sequence[Part], newest: TableSchema) -> dict[str, Mapping[str, str]]:
        """Return new names of columns by former ones, by the paths of parts with former ones."""
        renamed: dict[str, Mapping[str, str]] = {}
        for part in parts:
            had = of_json(part.schema) if part.path else newest
            if _ids(had) != _ids(newest):
                change = change_of_columns(self.name, had, newest, self._options.ambiguous)
                # A dropped column's name may be another column's now.
                gone = {name: f"{OWN}dropped_{name}" for name in change.dropped}
                if change.renamed or gone:
                    renamed[part.path] = {**gone, **change.renamed}
        return renamed

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
        if not schema.key:
            raise refusals.no_key(self.name)

    def _require_planned(self, properties: Mapping[str, str], query: str, planned: int) -> None:
        """Refuse a checkpoint that is older than the table: micro-batches with numbers that the
        table has already would be skipped, although they contain other changes."""
        number = int(properties.get(BATCH, -1))
        if query and properties.get(QUERY) == query and number > planned:
            raise HeadraceError(
                OLDER_CHECKPOINT,
                f"The table {self.name} has micro-batch {number} of this query, and its checkpoint "
                f"has planned {planned} at most: it is older than the table, from a backup perhaps",
                "Go on with the newest checkpoint, or begin with a new one and "
                "headrace.sink.existing=replace: the rows are then copied again.",
            )

    def _require_own(self, table: LakeTable, query: str) -> None:
        """Refuse a table that another query, or somebody else, keeps."""
        properties: Mapping[str, str] = table.properties()
        keeper = properties.get(QUERY)
        if (keeper is None and KEY in properties) or (query and keeper == query):
            return
        whose = "was not made by headrace" if keeper is None else "belongs to another query"
        raise HeadraceError(
            OTHER_KEEPER,
            f"The table {self.name} exists and {whose}",
            "Go on with that query's checkpoint, name another namespace or prefix, or set "
            "headrace.sink.existing=replace: the table's rows are then replaced by those that the "
            "source has.",
        )

    def _require_source(self, source: str, schemas: Sequence[TableSchema]) -> None:
        """Refuse a second table of the source, unless transforms may merge tables. `source` is the
        property SOURCE of the replica."""
        if self._options.merges:
            return
        sources = {each.source for each in schemas} | {table_of(source)}
        names = sorted(filter(None, sources))
        if len(names) > 1:
            raise refusals.shared_name(self.name, names)


def _keeper(table: LakeTable, late: TableSchema) -> dict[str, str]:
    """Return the properties that mark a commit within a micro-batch as the query's own, and those
    of the columns after it."""
    return _own(table) | _source(late, table)


def _own(table: LakeTable) -> dict[str, str]:
    """Return the properties that mark a commit within a micro-batch as the query's own."""
    properties = table.properties()
    return {name: properties[name] for name in (QUERY, BATCH) if name in properties}


def _source(schema: TableSchema, table: LakeTable | None = None) -> dict[str, str]:
    former = "" if table is None else table.properties().get(SOURCE, "")
    made = property_of(schema, former)
    return {SOURCE: made} if made else {}


def _ids(schema: TableSchema) -> list[tuple[str, str]]:
    return [(column.name, column.id) for column in schema.columns]


def _defaults(columns: Sequence[Column]) -> dict[str, object]:
    return {column.name: column.default for column in columns if column.default is not None}
