"""The common part of the verbs that run a query: from a configuration file to a supervised
query."""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.cli.compile import start_compiling
from headrace.cli.messages import LogFormat, Messages, MessagesHandler
from headrace.cli.stopping import STOP
from headrace.config.finding import summarized
from headrace.config.formats import OF_SPARK, Properties, read_files
from headrace.config.packing import pack
from headrace.config.properties.connector import ConnectorConfig
from headrace.config.properties.modes import SnapshotMode
from headrace.config.properties.snapshots import SnapshotConfig
from headrace.config.references import resolve
from headrace.connectors.registry import (
    definition_of,
    open_connector,
    parse_configuration,
    require_driver,
)
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from headrace.offsets.offset import OffsetObject
    from headrace.spark.jvm.gateway import DriverJvm
    from headrace.spark.kernels.needed import Kernels
    from headrace.spark.monitoring.observed import ObservedQuery
    from headrace.spark.supervisor import RunLimits, Summary


@dataclass(frozen=True)
class Pipeline:
    """Checked properties. References stay references in `properties`, so no secret is packed."""

    properties: Properties
    config: ConnectorConfig
    spark: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Settings of Spark from the file, with references resolved."""

    def with_overrides(self, overrides: Mapping[str, str]) -> Pipeline:
        """Return the pipeline with other values of some properties."""
        properties = self.properties.with_overrides(overrides)
        return Pipeline(properties, parse_configuration(properties), self.spark)

    def validate(self, checkpoint: Path | None) -> None:
        """Refuse what cannot work before Spark starts; `checkpoint` None: no query is continued.
        Raises HeadraceError."""
        from headrace.converters.configured import ask_registries
        from headrace.spark.checkpoint import refuse_torn, stored_offset

        def stored() -> OffsetObject | None:
            return None if checkpoint is None else stored_offset(checkpoint)

        if checkpoint is not None:
            refuse_torn(checkpoint)
        ask_registries(self.config)
        connector = open_connector(self.config, cores=1, inline=False, orphaned=lambda: False)
        try:
            while True:
                offset = stored()
                try:
                    return connector.validate(offset)
                except HeadraceError:
                    # Processes of a killed run may still finish its micro-batch.
                    if stored() == offset:
                        raise
        finally:
            connector.close()

    def _options(self) -> dict[str, str]:
        """Return the options of our sources. Raises HeadraceError for a schema that cannot be
        sampled."""
        from headrace.spark.query.format_options import with_sampled_schemas

        return pack(with_sampled_schemas(self.properties, self.config))

    def stream(self, spark: SparkSession, checkpoint: Path) -> DataFrame:
        """Return the events of a query with this checkpoint, from the source `headrace`."""
        from headrace.spark.data_source import HeadraceDataSource

        return self.read(spark, HeadraceDataSource, {}, checkpoint)

    def read(
        self,
        spark: SparkSession,
        source: type[DataSource],
        options: Mapping[str, str],
        checkpoint: Path,
    ) -> DataFrame:
        """Return the DataFrame of a sink's own source, with these options besides the connector's,
        for a query with this checkpoint."""
        from headrace.spark.versions.registering import register as register_source
        from headrace.spark.versions.triggers import source_options

        register_source(spark, source)
        reader = spark.readStream.format(source.name())
        of_query = source_options(checkpoint, self.config.headrace_trigger)
        return reader.options(**{**of_query, **options}).options(**self._options()).load()

    def start(self, writer: DataStreamWriter, checkpoint: Path) -> StreamingQuery:
        """Start a query that `writer` describes, with the configuration's name and trigger."""
        from headrace.spark.versions.triggers import start

        writer = writer.option("checkpointLocation", str(checkpoint))
        if self.config.name:
            writer = writer.queryName(self.config.name)
        return start(writer, self.config.headrace_trigger)

    def begins_with_tasks(self, checkpoint: Path) -> bool:
        """Return whether the query begins with a snapshot, which tasks read."""
        from headrace.spark.checkpoint import stored_offset

        stored = stored_offset(checkpoint)
        # An offset with only these members is the first one: nothing has begun.
        if stored is not None and stored.keys() > {"v", "server"}:
            return "snapshot" in stored
        config = self.config
        return not isinstance(config, SnapshotConfig) or (
            config.snapshot_mode not in (SnapshotMode.NO_DATA, SnapshotMode.RECOVERY)
        )

    def kernels(self, of_sink: Kernels) -> Kernels:
        """Return the kernels that the query calls, with those of its sink."""
        from headrace.spark.kernels.needed import query_kernels

        return query_kernels(self.config, of_sink)

    def limits(
        self, *, idle_exit: float | None, seconds: float | None, prints: bool = False
    ) -> RunLimits:
        """Return the supervisor's limits, with the configuration's retries. A query that `prints`
        its events ends with the reader of standard output."""
        from headrace.sinks.closed import is_unread
        from headrace.spark.supervisor import RunLimits

        return RunLimits(
            max_retries=self.config.errors_max_retries,
            retry_wait_ms=self.config.retriable_restart_connector_wait_ms,
            idle_exit=idle_exit,
            seconds=seconds,
            caught_up=definition_of(self.config).caught_up,
            is_unread=(lambda: is_unread(sys.stdout)) if prints else lambda: False,
        )


_PACKAGES = "spark.jars.packages"
_LAST_PORT = 65535


def add_file_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the argument of the configuration's files, which `read_pipeline` reads."""
    parser.add_argument(
        "file",
        nargs="+",
        metavar="FILE",
        help="Debezium configuration, properties or JSON; or two files: a worker of Kafka Connect "
        "and its connector, as for connect-standalone",
    )


def with_state(overrides: Mapping[str, str], folder: str | None) -> dict[str, str]:
    """Return the overrides with a state folder, in which a connector keeps its own state; None: the
    configuration may name one."""
    if folder is None:
        return dict(overrides)
    return {**overrides, "headrace.checkpoint.dir": str(Path(folder).absolute())}


def read_pipeline(
    paths: Sequence[str], overrides: Mapping[str, str], messages: Messages
) -> Pipeline:
    """Read and check the files of `add_file_argument`; `overrides` have precedence. `messages` gets
    the warnings.

    Raises HeadraceError as `read_files` and `parse_configuration` do.
    """
    return check_pipeline(read_files(paths), overrides, messages)


def check_pipeline(
    all_properties: Properties, overrides: Mapping[str, str], messages: Messages
) -> Pipeline:
    """Check properties that were read; see `read_pipeline`."""
    properties, spark = all_properties.with_overrides(overrides).split(OF_SPARK)
    config = parse_configuration(properties)
    # Spark's processes do not know which properties were a worker's, and would warn of those that
    # no connector has again.
    properties = properties.without_those_of_worker(warning.property for warning in config.warnings)
    for warning in summarized(config.warnings):
        messages.warning(str(warning))
    return Pipeline(properties, config, {name: _resolved(name, spark[name]) for name in spark})


def _resolved(name: str, text: str) -> str:
    try:
        return resolve(text).strip()
    except ValueError as error:
        raise HeadraceError(
            "config.unresolved_reference",
            f"{name}: {error}",
            "Provide it to the process that runs headrace, or correct the reference.",
        ) from None


@dataclass(frozen=True)
class Session:
    """A Spark session of a verb, and its JVM."""

    spark: SparkSession
    jvm: DriverJvm

    def close(self) -> None:
        """Stop Spark, and wait for the end of the JVM. If the JVM is gone, nothing is left to stop,
        and its error is reported elsewhere."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        self.jvm.mute()
        with contextlib.suppress(Py4JError, OSError):
            self.spark.stop()
        self.jvm.close()


def open_session(
    verb: str,
    messages: Messages,
    *,
    kernels: Kernels,
    master: str | None,
    idle_exit: float | None,
    debug: bool,
    tasks: bool = True,
    user_settings: Mapping[str, str] | None = None,
) -> Session:
    """Open a Spark session for a verb; Spark's own log is silent unless `debug`. The `kernels` that
    it will call are compiled while Spark starts. If `tasks` is false, the processes that run tasks
    start with the first task. `user_settings` are the user's settings of Spark, which have
    precedence.

    Raises KeyboardInterrupt if a signal came meanwhile; no JVM is left then.
    """
    from headrace.spark.jvm.gateway import DriverJvm
    from headrace.spark.session import build_session, warm_up

    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "20",
    }
    if debug:
        settings["spark.log.level"] = "WARN"
    if idle_exit is not None:
        # Reports a source without new data in time.
        wait = max(100, min(1000, int(idle_exit * 500)))
        settings["spark.sql.streaming.noDataProgressEventInterval"] = str(wait)
    arguments: dict[str, Any] = {"settings": settings | dict(user_settings or {})}
    if master is not None:
        arguments["master"] = master
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    STOP.listen()
    jvm = DriverJvm(messages.foreign, messages.note)
    STOP.on_repeat = jvm.terminate
    messages.phase("starting Spark")
    compiling = start_compiling(kernels, messages)
    try:
        spark = build_session(f"headrace {verb}", jvm=jvm, go_on=STOP.check, **arguments)
        session = Session(spark, jvm)
        if compiling is not None:
            # Otherwise every process would compile the same kernels.
            while not compiling.is_over(0.1):
                STOP.check()
            compiling.require_success()
        STOP.check()
    except BaseException:
        if compiling is not None:
            compiling.kill()
        jvm.terminate()
        jvm.close()
        raise
    if tasks:
        warm_up(spark)
    return session


def supervise(
    session: Session,
    start: Callable[[], StreamingQuery],
    limits: RunLimits,
    messages: Messages,
    *,
    on_progress: Callable[[dict[str, Any]], None] | None = None,
    rows_of: Callable[[Mapping[str, Any]], int] | None = None,
    observed: ObservedQuery | None = None,
) -> Summary:
    """Run the query to its end; its phases, failures and restarts go to `messages` and to
    `observed`. See Supervisor."""
    from headrace.cli.progress import Progress
    from headrace.spark.monitoring.observed import ObservedQuery
    from headrace.spark.supervisor import Supervisor

    phases = Progress(messages, rows_of)
    observed = observed or ObservedQuery()

    def restarts(failure: HeadraceError, wait: float) -> None:
        observed.failed(failure, is_tried_again=True)
        again = f"{failure.message}; retrying in {wait:g} s"
        messages.warning(again, failure.code, retriable=failure.retriable)

    def started() -> StreamingQuery:
        query = start()
        observed.started(str(query.id), query.name, query)
        return query

    def progressed(progress: dict[str, Any]) -> None:
        observed.progressed(progress, phases.last)
        phases.update(progress)
        if on_progress is not None:
            on_progress(progress)

    supervisor = Supervisor(
        session.spark,
        started,
        limits,
        on_progress=progressed,
        on_idle=observed.idle,
        on_restart=restarts,
        on_stop=session.jvm.mute,
        on_repeat=session.jvm.terminate,
        rows_of=phases.count,
        is_stopped=lambda: STOP.requested,
    )
    try:
        return supervisor.run()
    finally:
        STOP.note_query_ended()
        messages.end()


@contextmanager
def trial(pipeline: Pipeline, *, is_trial: bool) -> Iterator[None]:
    """Run without a checkpoint inside the block: the database keeps nothing for the run."""
    if not is_trial:
        yield
        return
    definition = definition_of(pipeline.config)
    require_driver(definition)
    with definition.trial(pipeline.config):
        yield


def positive_seconds(text: str) -> float:
    """Parse an argument in seconds, more than zero."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of every verb that runs a query."""
    parser.add_argument(
        "--seconds",
        type=positive_seconds,
        help="stop this many seconds after the source began to read rows or the log, or first "
        "failed",
    )
    parser.add_argument(
        "--idle-exit",
        type=positive_seconds,
        metavar="SECONDS",
        help="stop when the log was read to its end and no event except heartbeats came for this "
        "time",
    )
    parser.add_argument(
        "--metrics-port",
        type=_port,
        metavar="PORT",
        help="serve /metrics for Prometheus, /healthz and /readyz on this port (0: any free one)",
    )
    parser.add_argument(
        "--metrics-address",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the interface of --metrics-port; 0.0.0.0: all (default: 127.0.0.1, this host only)",
    )
    add_session_arguments(parser)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number (0 to {_LAST_PORT})")
    return int(text)


def add_session_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of every verb that starts Spark."""
    parser.add_argument("--master", help="Spark master (default: local, all cores)")
    parser.add_argument(
        "--packages",
        action="append",
        default=[],
        metavar="GROUP:ARTIFACT:VERSION",
        help="Maven packages for Spark, as for spark-submit; may be repeated",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        type=_setting,
        metavar="spark.NAME=VALUE",
        help="a setting of Spark; may be repeated, and overrides lines spark.* of the file",
    )
    add_message_arguments(parser)


def _setting(text: str) -> tuple[str, str]:
    """Parse an argument that is a setting of Spark."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip().startswith(OF_SPARK):
        raise argparse.ArgumentTypeError(f"{text.partition('=')[0]!r} is not spark.NAME=VALUE")
    return name.strip(), value.strip()


def spark_settings(pipeline: Pipeline, arguments: argparse.Namespace) -> dict[str, str]:
    """Return the settings of Spark from the file, `--conf` and `--packages`; packages of all three
    are combined."""
    settings = {**pipeline.spark, **dict(arguments.conf)}
    named = [pipeline.spark.get(_PACKAGES, ""), *(v for n, v in arguments.conf if n == _PACKAGES)]
    packages = ",".join((*named, *arguments.packages)).split(",")
    packages = [package.strip() for package in packages if package.strip()]
    if packages:
        settings[_PACKAGES] = ",".join(dict.fromkeys(packages))
    return settings


def add_message_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of a verb's messages on standard error."""
    parser.add_argument("--quiet", action="store_true", help="print only warnings and errors")
    parser.add_argument(
        "--log-format",
        type=LogFormat,
        choices=list(LogFormat),
        default=LogFormat.TEXT,
        metavar="FORMAT",
        help="the format of messages on standard error: text or json (default: text)",
    )


def open_messages(arguments: argparse.Namespace, *, live: bool = True) -> Messages:
    """Return the messages for the arguments; this process's log is written as messages, too."""
    messages = Messages(quiet=arguments.quiet, log_format=arguments.log_format, live=live)
    MessagesHandler(messages).open()
    return messages
