"""The description of a sink before it is opened: the contract of `headrace.sinks`.

A package that adds a sink names its definition in an entry point:

    [project.entry-points."headrace.sinks"]
    mysink = "my_package.definition:DEFINITION"

The command and every source process import definitions, so importing one loads neither the sink's
client nor compiled code: methods import what they need.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headrace.config.suggestions import distance
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from headrace.config.properties.connector import ConnectorConfig
    from headrace.findings import Findings
    from headrace.spark.sinks.comparison import ComparedTable, ComparisonRequest

_NEAR = 0.85
"""The least similarity at which a name counts as a misspelling of another one."""
GROUP = "headrace.sinks"
"""The entry points' group."""

BY_POSITION: Mapping[str, str] = {"headrace.slice.order": "position"}
"""The property of the source for a sink that sorts events by `sequence` itself."""


class Delivery(StrEnum):
    """How many times an event arrives, even if a process is killed."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


@dataclass(frozen=True)
class SinkQuery:
    """The query that a sink belongs to: its configuration, the folder of the sink's own state
    (which may not exist yet), and the query's checkpoint."""

    config: ConnectorConfig
    state: Path
    checkpoint: Path


class EventStream(Protocol):
    """The events of a query on a running Spark."""

    spark: SparkSession

    @abstractmethod
    def events(self) -> DataFrame:
        """Return the events as rows: topic, partition, key, value, headers, sequence."""

    @abstractmethod
    def read(self, source: type[DataSource], options: Mapping[str, str]) -> DataFrame:
        """Return the rows of `source`, a data source of the sink that writes the events where it
        reads them; a row describes what was written. `options` are the sink's own options (those of
        `headrace.spark.query.source_options.SINK_OPTIONS`), and properties that override the
        configuration."""


class Sink(Protocol):
    """A sink of one query. It is created before Spark starts."""

    @abstractmethod
    def writer(self, stream: EventStream) -> DataStreamWriter:
        """Return the query's writer; called again at each restart of the query. Raises
        HeadraceError."""

    def open(self) -> None:
        """Open the target. At this time the query's state folder is locked, and Spark has not
        started. Raises HeadraceError."""
        return

    def new_rows(self, progress: Mapping[str, Any]) -> int:
        """Return the number of events of a micro-batch, given Spark's progress of it: Spark's
        count, unless the sink writes where the events are read."""
        return int(progress.get("numInputRows") or 0)

    @property
    def rows(self) -> int | None:
        """The number of events that this run wrote to the target; None: the sum of `new_rows`."""
        return None

    def on_progress(self, progress: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Called with Spark's progress of each micro-batch, after `new_rows`."""
        return

    def start_error(self, error: Exception) -> Exception:
        """Return a translation of `error`, which the start of the query raised."""
        return error

    def stop(self, finished: int) -> None:  # noqa: ARG002
        """Called when the query has ended and Spark is about to stop; tasks of it may still run.
        `finished` is the last micro-batch in its log of commits, -1 before the first. Also called
        if the query never started. Never raises."""
        return

    def close(self) -> None:
        """Called when Spark has stopped, and after an error of `open`. Never raises."""
        return


class SinkDefinition(Protocol):
    """A sink's name, options, and requirements on a query, and the creation of the sink. A
    definition derives from this class and omits the members that its sink does not need."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The value of `headrace.sink.type`, and the name of the sink's folder in the state folder
        of a query. The entry point should have the same name: it is all that is known of a
        definition that cannot be loaded."""

    @property
    @abstractmethod
    def delivery(self) -> Delivery:
        """How often an event arrives with the sink's default options."""

    @property
    def options(self) -> Sequence[str]:
        """Names of its options, without `headrace.sink.`."""
        return ()

    @property
    def overrides(self) -> Mapping[str, str]:
        """Properties of the source that the sink sets; they override the configuration."""
        return {}

    def defaults(self, config: ConnectorConfig) -> Mapping[str, str]:  # noqa: ARG002
        """Return properties of the source that the sink sets if the configuration does not."""
        return {}

    def packages(self, config: ConnectorConfig) -> Sequence[str]:  # noqa: ARG002
        """Return Maven coordinates (`group:artifact:version`) of the jars that the sink needs in
        Spark, without their dependencies. Raises HeadraceError for invalid options."""
        return ()

    def session_settings(self, config: ConnectorConfig) -> Mapping[str, str]:  # noqa: ARG002
        """Return settings of Spark that the sink needs in the command line's sessions; the
        configuration overrides them. Raises HeadraceError for invalid options."""
        return {}

    @property
    def needs_checkpoint(self) -> bool:
        """Whether a query needs a checkpoint; a terminal that shows events does not."""
        return True

    @property
    def shows_events(self) -> bool:
        """Whether events go to the command's standard output, so that the query ends when its
        reader closes it."""
        return False

    @property
    def has_live_line(self) -> bool:
        """Whether the sink shows rate and lag by itself, so that the command does not."""
        return False

    @property
    def writes_small_ranges(self) -> bool:
        """Whether the source process writes small ranges itself, so that Spark's workers do not
        have to start before the first range that has tasks."""
        return False

    @property
    def kernels(self) -> Mapping[str, Sequence[str]]:
        """All kernels that the sink's Python code may call, by module; all their arguments are
        int64."""
        return {}

    def kernels_of(self, config: ConnectorConfig) -> Mapping[str, Sequence[str]]:  # noqa: ARG002
        """Return those of `kernels` that the sink calls with these options."""
        return self.kernels

    @property
    def worker_modules(self) -> Sequence[str]:
        """Modules that its tasks need in Spark's workers, imported before workers are forked."""
        return ()

    def own_options(self, config: ConnectorConfig) -> dict[str, str]:
        """Return the options of the sink as they are written, without `headrace.sink.` and without
        the sink's name, which Debezium Server's properties contain. If an option is written in both
        ways, the one with the name takes precedence."""
        prefix = f"{self.name}."
        options = config.headrace_sink
        named = {name for name in options if name.startswith(prefix)}
        bare = {name: text for name, text in options.items() if name not in named}
        return bare | {name.removeprefix(prefix): options[name] for name in named}

    def unknown_options(self, config: ConnectorConfig) -> list[str]:
        """Return the `own_options` that the sink does not know."""
        return [name for name in self.own_options(config) if name not in self.options]

    def written(self, config: ConnectorConfig, option: str) -> str:
        """Return the property that sets one of `own_options`, as the user wrote it."""
        return f"headrace.sink.{self._prefix(config, option)}{option}"

    def _prefix(self, config: ConnectorConfig, option: str) -> str:
        """Return the sink's name with a dot if the user wrote the option with it."""
        prefix = f"{self.name}."
        return prefix if prefix + option in config.headrace_sink else ""

    def nearest_option(self, name: str) -> str | None:
        """Return the option that is similar to `name`; None without such an option."""
        name = name.lower()
        if near := get_close_matches(name, self.options, n=1, cutoff=_NEAR):
            return near[0]
        return next((option for option in self.options if distance(name, option, 1) <= 1), None)

    def option_warnings(self, config: ConnectorConfig) -> list[HeadraceError]:
        """Return the warnings about options that the sink does not know.

        Raises HeadraceError("spark.unknown_sink_option") for every unknown one if
        headrace.unknown.properties=fail; if that property is not set, for options whose names are
        similar to a known one.
        """
        warnings, errors = list[HeadraceError](), list[HeadraceError]()
        default = not config.is_set("headrace.unknown.properties")
        for name in self.unknown_options(config):
            near = self.nearest_option(name)
            meant = near and f"headrace.sink.{self._prefix(config, name)}{near}"
            guess = "" if meant is None else f"; did you mean {meant}?"
            error = HeadraceError(
                "spark.unknown_sink_option",
                f"{self.written(config, name)}: the sink {self.name} has no such option{guess}",
                "Remove the option, or correct its name: the sink's guide lists the options."
                if meant is None
                else f"Write {meant}.",
            )
            is_error = near if default else config.headrace_unknown_properties == "fail"
            (errors if is_error else warnings).append(error)
        if len(errors) > 1:
            raise HeadraceError(
                errors[0].code,
                "; ".join(problem.message for problem in errors),
                " ".join(dict.fromkeys(problem.remedy for problem in errors)),
                parts=errors,
            )
        if errors:
            raise errors[0]
        return warnings

    @abstractmethod
    def make(self, query: SinkQuery) -> Sink:
        """Create a sink, which does not hold resources yet: it is not closed if the state folder is
        in use, or if the source refuses to start. Raises HeadraceError for invalid or missing
        options, and if a package of the sink is not installed."""

    def resync(
        self,
        config: ConnectorConfig,  # noqa: ARG002
        state: Path,  # noqa: ARG002
        tables: Sequence[str],  # noqa: ARG002
        signal: str,  # noqa: ARG002
    ) -> None:
        """Note that captured tables, by their names in the database, are about to be copied again:
        the signal with the id `signal` will request their rows. `state` is the sink's folder; the
        query may be running. Raises HeadraceError."""
        raise HeadraceError(
            "cli.nothing_to_resync",
            f"The sink {self.name} has no tables that can be copied again",
            "To receive the rows as events again, send the signal execute-snapshot.",
        )

    def require_upkeep(self, config: ConnectorConfig) -> None:  # noqa: ARG002
        """Refuse `maintain` for a sink that needs no upkeep, before Spark starts. Raises
        HeadraceError."""
        raise HeadraceError(
            "cli.nothing_to_maintain",
            f"The sink {self.name} keeps no tables that need upkeep",
            "Do not run headrace maintain for this query.",
        )

    def maintain(self, spark: SparkSession, query: SinkQuery) -> Iterator[str]:  # noqa: ARG002
        """Maintain the tables or files of a query, which may be running; yield lines about them.
        Raises HeadraceError."""
        self.require_upkeep(query.config)
        return iter(())

    def erase(
        self,
        spark: SparkSession,  # noqa: ARG002
        query: SinkQuery,  # noqa: ARG002
        table: str,  # noqa: ARG002
        key: str,  # noqa: ARG002
    ) -> Iterator[str]:
        """Erase the rows of a key, a JSON object of its columns, from a table of a query that is
        not running; yield lines about it. Raises HeadraceError."""
        raise HeadraceError(
            "cli.nothing_to_erase",
            f"The sink {self.name} keeps no tables from which a key can be erased",
            "Erase the records with the target's own tools.",
        )

    @property
    def comparison_overrides(self) -> Mapping[str, str]:
        """The properties that a comparison sets for the source when it reads its rows."""
        return {}

    def require_comparison(self, config: ConnectorConfig) -> None:  # noqa: ARG002
        """Refuse `verify` for a sink without tables, before Spark starts. Raises HeadraceError."""
        raise HeadraceError(
            "cli.nothing_to_verify",
            f"The sink {self.name} keeps no tables that could be compared with their source",
            "Compare replicas: headrace.sink.mode=replica of the sinks iceberg and delta.",
        )

    def compare(
        self,
        spark: SparkSession,  # noqa: ARG002
        query: SinkQuery,
        request: ComparisonRequest,  # noqa: ARG002
    ) -> Iterator[ComparedTable]:
        """Compare the tables of a running query with their source; yield a result for each. Raises
        HeadraceError."""
        self.require_comparison(query.config)
        return iter(())

    def read_version(
        self,
        spark: SparkSession,  # noqa: ARG002
        lake: Mapping[str, str],  # noqa: ARG002
        table: Sequence[str],
        version: str,
    ) -> DataFrame:
        """Return the rows of a version of a table, named by its namespace and its own name. `lake`
        are the options that the sink recorded for readers. Raises HeadraceError."""
        raise HeadraceError(
            "cli.nothing_to_read",
            f"The sink {self.name} keeps no tables, so there is no version {version} of "
            f"{'.'.join(table)}",
            "Read tables of replicas: headrace.sink.mode=replica of the sinks iceberg and delta.",
        )

    def check(self, config: ConnectorConfig) -> Findings:  # noqa: ARG002
        """Check that the target is ready and the options are valid. It only reads, and does not
        raise errors for its findings."""
        from headrace.findings import Findings

        return Findings()

    def check_by_java(self, config: ConnectorConfig, spark: Mapping[str, str]) -> Findings:  # noqa: ARG002
        """Run checks that need a JVM with the jars of Spark's settings; called if `check` found no
        error. Otherwise like `check`."""
        from headrace.findings import Findings

        return Findings()
