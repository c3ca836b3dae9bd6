"""Definition of a sink of replicas in headrace's registry: one for each table format."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.suggestions import distance
from headrace.connectors.registry import event_shapes
from headrace.errors import HeadraceError
from headrace.findings import Findings, counted
from headrace.sinks.replicas import refusals
from headrace.sinks.replicas.changes.declared_documents import DeclaredDocuments
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.modes.mode import MODE, Mode
from headrace.sinks.replicas.options import (
    OPTIONS,
    RESYNC,
    ReplicaOptions,
    mode_of,
    require_complete,
    require_documents,
    require_envelope,
)
from headrace.spark.jvm.jars import JARS_NOT_FOUND, find_jars, may_have_jar
from headrace.spark.sinks.definition import Delivery, Sink, SinkDefinition, SinkQuery
from headrace.spark.sinks.formats import FormatSink, not_found

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connect.records import Shape
    from headrace.sinks.replicas.lake import LakeFormat, TableSchema
    from headrace.spark.sinks.comparison import ComparedTable, ComparisonRequest

log = logging.getLogger(__name__)
_COMMENTS = "include.schema.comments"
_DEFAULTS: Mapping[str, str] = {
    "skipped.operations": "none",
    "headrace.trigger": "5 seconds",
    "headrace.case.twins": "take",
    _COMMENTS: "true",
    "headrace.table.identity": "id",
}


class ReplicaDefinition(SinkDefinition):
    """Tables that stay equal to their source (`headrace.sink.mode=replica`), or keep its changes
    (`append`, `history`); without a mode, or with `events`, Spark's format of the same name, which
    appends events."""

    delivery = Delivery.EXACTLY_ONCE
    worker_modules = (
        "headrace.sinks.replicas.applying.batches",
        "headrace.sinks.replicas.changes.parts_source",
    )

    @abstractmethod
    def format(self) -> LakeFormat:
        """The table format."""

    @property
    def options(self) -> Sequence[str]:
        """See SinkDefinition."""
        return (*OPTIONS, *self.format().options)

    @property
    def kernels(self) -> Mapping[str, Sequence[str]]:
        """See SinkDefinition: kernels make the columns of documents."""
        from headrace.spark.kernels.needed import document_kernels

        return document_kernels()

    def kernels_of(self, config: ConnectorConfig) -> Mapping[str, Sequence[str]]:
        """See SinkDefinition: a query needs them if documents are declared."""
        options = self.own_options(config)
        typed = self.mode(config) is not Mode.EVENTS and DeclaredDocuments.of(options)
        return self.kernels if typed else {}

    def mode(self, config: ConnectorConfig) -> Mode:
        """Return the mode of the sink. Raises HeadraceError("replicas.option_invalid")."""
        return mode_of(self.own_options(config)) or Mode.EVENTS

    def unknown_options(self, config: ConnectorConfig) -> list[str]:
        """See SinkDefinition. Options of Spark's format are not checked, except for misspellings of
        the mode."""
        if self.mode(config) is Mode.EVENTS:
            options = self.own_options(config)
            return [n for n in options if MODE not in options and distance(n.lower(), MODE, 1) <= 1]
        families = tuple(name[:-1] for name in self.options if name.endswith(".*"))
        return [name for name in super().unknown_options(config) if not name.startswith(families)]

    def defaults(self, config: ConnectorConfig) -> Mapping[str, str]:
        """Return the defaults of a replica: every operation of its source, TRUNCATE included, and
        the comments of its columns; fewer commits, which are expensive; a table whose columns no
        replica can have stops alone; and a table that replaces another one is distinguished from
        it."""
        if self.mode(config) is Mode.EVENTS:
            return {}
        return {name: text for name, text in _DEFAULTS.items() if config.supports(name)}

    def packages(self, config: ConnectorConfig) -> Sequence[str]:
        """See SinkDefinition."""
        if self.mode(config) is Mode.EVENTS:
            return ()
        return self.format().packages(self.own_options(config))

    def session_settings(self, config: ConnectorConfig) -> Mapping[str, str]:
        """See SinkDefinition."""
        if self.mode(config) is Mode.EVENTS:
            return {}
        return self.format().session_settings(self.own_options(config))

    def make(self, query: SinkQuery) -> Sink:
        """See SinkDefinition. Raises HeadraceError as the checks of the options do."""
        options = self.own_options(query.config)
        if self.mode(query.config) is Mode.EVENTS:
            if MODE not in options:
                log.warning("%s", self._no_mode())
            of_format = {name: text for name, text in options.items() if name != MODE}
            return FormatSink(self.name, of_format, instead=_instead(options))
        from headrace.sinks.replicas.files.bitmaps import require_bitmaps
        from headrace.sinks.replicas.sink import ReplicaSink

        require_bitmaps()
        checked = self._checked(query.config)
        for error in checked.documents.overlapping():
            log.warning("%s", error)
        return ReplicaSink(self.format(), options, checked, query)

    def resync(
        self, config: ConnectorConfig, state: Path, tables: Sequence[str], signal: str
    ) -> None:
        """See SinkDefinition."""
        if self.mode(config) is Mode.EVENTS:
            super().resync(config, state, tables, signal)
        from headrace.sinks.replicas.captured import replicas_of
        from headrace.sinks.replicas.state.failures import using_state
        from headrace.sinks.replicas.state.resyncing import Resync

        replicas = replicas_of(config, self._checked(config), tables)
        with using_state(state):
            for name, sources in replicas.items():
                Resync(state / RESYNC, name, signal, tables=sources).write()

    def require_upkeep(self, config: ConnectorConfig) -> None:
        """See SinkDefinition."""
        if self.mode(config) is Mode.EVENTS:
            super().require_upkeep(config)

    def maintain(self, spark: SparkSession, query: SinkQuery) -> Iterator[str]:
        """See SinkDefinition."""
        from headrace.sinks.replicas.cuts.cut_log import replaced_before
        from headrace.sinks.replicas.maintaining import maintain, noted_tables
        from headrace.sinks.replicas.runners import SparkRunner
        from headrace.sinks.replicas.state.failures import using_state
        from headrace.sinks.replicas.state.resyncing import resyncs

        options = self._checked(query.config)
        lake = self.format().open(spark, self.own_options(query.config))
        try:
            runner = SparkRunner(spark.sparkContext)
            names = (
                name
                for name in noted_tables(query.state)
                if all(name != copy.name for copy in resyncs(query.state / RESYNC))
            )  # lazily: a copy may be requested while earlier tables are maintained
            with using_state(query.state):
                before = replaced_before(query.state, options)
                for upkeep in maintain(lake, query.state, names, runner, before):
                    if upkeep.merged:
                        yield (
                            f"{upkeep.name}: {counted(upkeep.merged, 'file')} "
                            f"merged into {upkeep.made}"
                        )
                    else:
                        yield f"{upkeep.name}: no files to merge"
        finally:
            lake.close()

    def erase(self, spark: SparkSession, query: SinkQuery, table: str, key: str) -> Iterator[str]:
        """See SinkDefinition. `table` is the name in the lake."""
        from headrace.sinks.replicas.cuts.cut_log import release_cuts
        from headrace.sinks.replicas.maintaining import erase_from
        from headrace.sinks.replicas.runners import SparkRunner
        from headrace.sinks.replicas.state.failures import using_state

        self.require_upkeep(query.config)
        lake = self.format().open(spark, self.own_options(query.config))
        try:
            runner, release = SparkRunner(spark.sparkContext), partial(release_cuts, query.state)
            with using_state(query.state):
                yield from erase_from(lake, query.state, table, key, runner, release)
        finally:
            lake.close()

    @property
    def comparison_overrides(self) -> Mapping[str, str]:
        """See SinkDefinition: the overrides with which changes are read from the log."""
        from headrace.sinks.replicas.changes.parts_source import OVERRIDES

        return OVERRIDES

    def require_comparison(self, config: ConnectorConfig) -> None:
        """See SinkDefinition."""
        if self.mode(config) is Mode.EVENTS:
            super().require_comparison(config)

    def compare(
        self, spark: SparkSession, query: SinkQuery, request: ComparisonRequest
    ) -> Iterator[ComparedTable]:
        """See SinkDefinition."""
        from headrace.connectors.registry import current_rows
        from headrace.sinks.replicas.verifying.verification import compare_replicas

        options = self._checked(query.config)
        with closing(current_rows(query.config)) as current:
            lake = self.format().open(spark, self.own_options(query.config))
            try:
                yield from compare_replicas(lake, options, query, current, request)
            finally:
                lake.close()

    def read_version(
        self, spark: SparkSession, lake: Mapping[str, str], table: Sequence[str], version: str
    ) -> DataFrame:
        """See SinkDefinition."""
        *namespace, name = table
        return self.format().read_version(spark, lake, TableName(tuple(namespace), name), version)

    def check(self, config: ConnectorConfig) -> Findings:
        """See SinkDefinition."""
        findings = Findings()

        def look() -> None:
            if self.mode(config) is Mode.EVENTS:
                if MODE not in self.own_options(config):
                    findings.add_error(self._no_mode(), "warning")
                return
            options, checked = self.own_options(config), self._checked(config)
            for error in checked.documents.overlapping():
                findings.add_error(error, "warning")
            findings.add("replicas.options", "ok", f"The options of the sink {self.name} are valid")
            for part in (self._check_storage, self._check_jars):
                findings.guard(partial(part, options, findings))
            findings.guard(partial(self._check_tables, config, checked, findings))

        findings.guard(look)
        return findings

    def check_by_java(self, config: ConnectorConfig, spark: Mapping[str, str]) -> Findings:
        """See SinkDefinition: checks the catalog, or that Spark has the format that appends events,
        as far as the file says (`headrace run --packages`)."""
        findings = Findings()
        if self.mode(config) is Mode.EVENTS:
            options = self.own_options(config)
            if not may_have_jar(spark, self.name):
                missing = not_found(self.name, instead=_instead(options))
                findings.add_error(missing, "warning" if MODE in options else "error")
            return findings
        try:
            if proved := self.format().prove_catalog(self.own_options(config), spark):
                findings.add("replicas.catalog", "ok", proved)
        except HeadraceError as error:
            is_known = not error.code.endswith("_not_checked")
            findings.add_error(error, "error" if is_known else "warning")
        return findings

    def _check_storage(self, options: Mapping[str, str], findings: Findings) -> None:
        if proved := self.format().prove(options):
            findings.add("replicas.storage", "ok", proved)

    def _check_jars(self, options: Mapping[str, str], findings: Findings) -> None:
        if any(finding.code == JARS_NOT_FOUND for finding in findings):
            return
        find_jars(self.format().packages(options), options.get("jars"))

    def _check_tables(
        self, config: ConnectorConfig, checked: ReplicaOptions, findings: Findings
    ) -> None:
        try:
            shapes = event_shapes(config)
        except HeadraceError as error:
            if error.code == "connectors.no_event_shapes":
                raise
            return  # the checks of the connector report the reason
        require = partial(self.format().require, self.own_options(config))
        for refused in _refused_tables(config, checked, shapes, require):
            findings.add_error(refused)

    def _checked(self, config: ConnectorConfig) -> ReplicaOptions:
        options = self.own_options(config)
        checked = replace(ReplicaOptions.of(options), merges=bool(config.transforms))
        require_envelope(config)
        require_complete(config, checked)
        require_documents(config, checked)
        self.format().check(options)
        return checked

    def _no_mode(self) -> HeadraceError:
        return HeadraceError(
            "replicas.no_mode",
            f"headrace.sink.type={self.name} without headrace.sink.mode appends events by Spark's "
            f"format {self.name}",
            "Set headrace.sink.mode=replica for tables that stay equal to their source, or events "
            "for what happens now.",
        )


def _instead(options: Mapping[str, str]) -> str:
    """Return the remedy for a format that Spark does not find, if no mode was chosen."""
    if MODE in options:
        return ""
    return "Set headrace.sink.mode=replica for tables that stay equal to their source"


def _refused_tables(
    config: ConnectorConfig,
    options: ReplicaOptions,
    shapes: Sequence[Shape],
    require: Callable[[TableName, TableSchema], None],
) -> Iterator[HeadraceError]:
    """Yield the errors with which the first start would refuse tables. `shapes` are the tables'
    shapes before any transform. `require` checks a new table for the table format, and raises
    HeadraceError. Raises HeadraceError as the transforms do."""
    from headrace.sinks.replicas.captured import captured_schema, captured_shapes
    from headrace.sinks.replicas.modes.own_columns import with_own_columns

    sources: dict[TableName, str] = {}
    for captured in captured_shapes(config, options, shapes):
        name = captured.replica
        try:
            schema = captured_schema(config, options, captured)
            mode = options.modes.mode(schema.source)
            if not schema.key and mode is not Mode.APPEND:
                raise refusals.no_key(name)
            schema = with_own_columns(name, schema, mode)
            source = sources.setdefault(name, schema.source)
            if source != schema.source and not options.merges:
                raise refusals.shared_name(name, sorted((source, schema.source)))
            if not options.is_incomplete:
                refusals.require_whole(schema)
            require(name, schema)
        except HeadraceError as error:
            yield error
