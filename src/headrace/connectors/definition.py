"""The description of a connector before it is opened: the contract of `headrace.connectors`.

A package that adds a connector names its definition in an entry point:

    [project.entry-points."headrace.connectors"]
    mydatabase = "my_package.definition:DEFINITION"

Every process of a query imports definitions, so importing one loads neither the database's driver
nor compiled code: methods import what they need.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal, Protocol

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.config.properties.connector import ConnectorConfig
    from headrace.connect.records import Shape
    from headrace.connect.schema import Schema
    from headrace.connectors.connector import Connector
    from headrace.offsets.offset import OffsetObject
    from headrace.signals.sending import SignalTargets
    from headrace.signals.signal import Signal
    from headrace.snapshots.incremental.current_rows import CurrentRows
    from headrace.support.plan import SupportPlan

GROUP = "headrace.connectors"
"""The entry points' group."""


@dataclass(frozen=True)
class Driver:
    """The module that a connector needs besides headrace, and the package that has it."""

    module: str
    requirement: str
    """A requirement for pip, e.g. `headrace[mydatabase]`."""


@dataclass(frozen=True)
class DatabaseMetric:
    """The Prometheus metric of one figure that the database reports, a `member` of DatabaseWatch's
    JSON: a gauge `headrace_NAME`, where NAME is `name` and contains the unit. A figure that is a
    text has one series for each of `states`."""

    member: str
    name: str
    help: str
    states: Sequence[str] = ()


class CheckResult(Protocol):
    """A finding of `headrace check`. `remedy` corrects it (by SQL if possible); it is empty for the
    level `ok`."""

    @property
    def code(self) -> str: ...
    @property
    def level(self) -> Literal["ok", "warning", "error"]: ...
    @property
    def message(self) -> str: ...
    @property
    def remedy(self) -> str: ...


class Workload(Protocol):
    """Changes that a demo makes in its database, in a thread."""

    @property
    def transactions(self) -> int:
        """The number of committed transactions."""
        ...

    @property
    def failure(self) -> Exception | None:
        """The error that ended the thread early."""
        ...

    def start(self) -> None:
        """Begin to change rows."""
        ...

    def stop(self) -> None:
        """End after the current transaction; may be called before `start`, and twice."""
        ...


class DemoDatabase(Protocol):
    """A running server with the demo's tables and their first rows."""

    @property
    def properties(self) -> Mapping[str, str]:
        """The configuration, as a user would write it; topics end in a table's name."""
        ...

    @property
    def tables(self) -> Sequence[str]:
        """The names of the tables."""
        ...

    @property
    def workload(self) -> Workload:
        """The demo's changes; not started yet."""
        ...

    def rows(self, table: str) -> dict[tuple[Any, ...], dict[str, Any]]:
        """The current rows of the table, by key."""
        ...

    def key(self, key: Mapping[str, Any]) -> tuple[Any, ...]:
        """The key of `rows` for an event's key."""
        ...

    def row(self, after: object) -> dict[str, Any]:
        """The row for an event's `after`."""
        ...

    def same_value(self, event: object, stored: object) -> bool:
        """Whether a value of `row` is equal to the one of `rows`."""
        ...


class Demo(Protocol):
    """The demonstration of a connector by `headrace demo`."""

    @property
    def server(self) -> str:
        """The server that is started, e.g. "an embedded MyDatabase"."""
        ...

    def open(self, uri: str | None) -> AbstractContextManager[DemoDatabase]:
        """Create tables on the server of a connection string, or without one on a server that is
        started; at the end remove the tables and stop that server. Raises HeadraceError."""
        ...


class ConnectorDefinition(Protocol):
    """The description of a connector: how it is named, configured, opened, checked, signalled and
    shown. A definition derives from this class and omits the members that its connector does not
    have."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The short name: a value of `connector.class`, and the entry point's name."""
        ...

    @property
    def classes(self) -> Sequence[str]:
        """Additional values of `connector.class`, in upper or lower case; Debezium's class comes
        first."""
        return ()

    @property
    def driver(self) -> Driver | None:
        """The driver that is needed to open the connector, but not to describe it and parse its
        options."""
        return None

    @property
    def kernels(self) -> Mapping[str, Sequence[str]]:
        """The kernels that the connector's Python calls, by module; all arguments are int64."""
        return {}

    @property
    def worker_modules(self) -> Sequence[str]:
        """Modules that the connector's slices need in Spark's workers, imported before workers are
        forked."""
        return ()

    @property
    def verbs(self) -> Mapping[str, str]:
        """Additional verbs of the command line, with their modules: a module's docstring is the
        help, `add_arguments(parser)` and `run(arguments) -> int` are called."""
        return {}

    @property
    def metrics_plugin(self) -> str:
        """The name in Debezium's metrics: `debezium.PLUGIN:type=connector-metrics`."""
        return self.name

    @property
    def database_metrics(self) -> Sequence[DatabaseMetric]:
        """The metrics of the connector's databases about their log and this reader."""
        return ()

    @property
    def demo(self) -> Demo | None:
        """The connector's demonstration."""
        return None

    @property
    def change_order(self) -> Sequence[str]:
        """Fields of the source block that order the changes of a key, used in this order if
        there is no other one: whole numbers (which may be texts), or texts of one length."""
        return ()

    @abstractmethod
    def configuration(self) -> type[ConnectorConfig]:
        """The class that declares the connector's properties."""
        ...

    @abstractmethod
    def open(
        self,
        config: ConnectorConfig,
        *,
        cores: int,
        inline: bool,
        orphaned: Callable[[], bool],
    ) -> Connector:
        """Return a connector, which connects on first use. `cores` bounds the slices of a range,
        `inline` makes slices carry their bytes, `orphaned` returns whether the process that
        started the connector has ended."""
        ...

    def check(
        self,
        config: ConnectorConfig,  # noqa: ARG002
        stored: OffsetObject | None = None,  # noqa: ARG002
    ) -> Sequence[CheckResult]:
        """Check that the database is ready. The check only reads, and does not raise errors for its
        findings. `stored` is the offset of the checkpoint from which a start would continue;
        `Connector.validate` checks that the offset is still valid in the database."""
        return ()

    def event_shapes(self, config: ConnectorConfig) -> Sequence[Shape]:  # noqa: ARG002
        """The current shapes of the captured tables' change events, one for each table, before any
        transform: read from the database's catalogue if it has one. Raises HeadraceError."""
        raise HeadraceError(
            "connectors.no_event_shapes",
            f"The connector {self.name} does not provide its tables' columns",
            "Declare the columns: .schema(...) of the reader, or schema=... of headrace.table.",
        )

    def table_comments(
        self,
        config: ConnectorConfig,  # noqa: ARG002
    ) -> Mapping[str, str] | None:
        """The current comments of the captured tables (empty: the table has none), by the names of
        `headrace.connect.records.TableOrigin`; None: they are not available. Raises
        HeadraceError."""
        return None

    def sampled_schema(
        self,
        config: ConnectorConfig,  # noqa: ARG002
        topic: str | None = None,  # noqa: ARG002
    ) -> Schema:
        """The common struct of the documents of a captured collection, derived from a sample: of
        the collection whose events have this topic, or a topic that ends in it after a dot; None:
        of the only captured one. Raises HeadraceError."""
        raise HeadraceError(
            "connectors.no_sampled_schema",
            f"The connector {self.name} has no documents from which a schema can be derived",
            "Declare the schema: target.schema of the transform, or schema=... of headrace.table.",
        )

    def insert_signal(
        self,
        config: ConnectorConfig,  # noqa: ARG002
        collection: str,  # noqa: ARG002
        signal: Signal,  # noqa: ARG002
    ) -> None:
        """Write a signal into the signal collection. Raises HeadraceError."""
        raise HeadraceError(
            "connectors.no_signal_collection",
            f"The connector {self.name} has no signal collection",
            "Send the signal by another channel (signal.enabled.channels).",
        )

    def signal_targets(
        self,
        config: ConnectorConfig,  # noqa: ARG002
        collection: str | None,  # noqa: ARG002
    ) -> SignalTargets | None:
        """The collections that a signal may name at present; None: not known. Raises HeadraceError
        if no query would receive a signal from the signal collection `collection` (None: another
        channel)."""
        return None

    def current_rows(self, config: ConnectorConfig) -> CurrentRows:  # noqa: ARG002
        """Return a reader of the current rows of the captured tables, which works beside the stream
        and connects on first use: its rows are compared with those that the stream produced. Raises
        HeadraceError."""
        raise HeadraceError(
            "connectors.no_current_rows",
            f"The connector {self.name} cannot read rows beside its stream, so that its tables "
            "cannot be compared with their replicas",
            "Compare them by a query of your own, while nothing changes.",
        )

    def trial(self, config: ConnectorConfig) -> AbstractContextManager[None]:  # noqa: ARG002
        """A context for a run whose position is not kept: at the end, objects that the run created
        in the database are removed. A warning in the log names objects that remain."""
        return nullcontext()

    def support_plan(self, config: ConnectorConfig) -> SupportPlan:  # noqa: ARG002
        """The queries of `headrace support-bundle` on the database. Raises HeadraceError."""
        raise HeadraceError(
            "connectors.no_support_bundle",
            f"The connector {self.name} has no support bundle",
            "Use `headrace check FILE --json`, which says what the database lacks. Support bundles "
            "are for connectors that were tested on stand-ins only.",
        )

    @abstractmethod
    def caught_up(self, latest: OffsetObject, end: OffsetObject) -> bool:
        """Whether there is so little log between `end` (the end of the delivered records) and
        `latest` (the head of the log, from `Connector.latest`) that it may contain no record:
        `--idle-exit` then ends the query. Either may lack a position."""
        ...


class NamedDefinition(ConnectorDefinition):
    """A definition whose parts are named like entry points (`package.module:object`), and are
    imported at their first use. An empty name: the connector does not have the part."""

    configuration_class: str
    """The name of a ConnectorConfig. Functions are called with an instance of it, `demo_class`
    without arguments."""
    open_function: str
    check_function = ""
    shapes_function = ""
    comments_function = ""
    schema_function = ""
    signal_function = ""
    targets_function = ""
    rows_function = ""
    trial_function = ""
    support_function = ""
    demo_class = ""

    @property
    def demo(self) -> Demo | None:
        """See ConnectorDefinition. Raises HeadraceError("connectors.demo_not_installed")."""
        if not self.demo_class:
            return None
        try:
            demo: Demo = resolve_name(self.demo_class)()
        except ModuleNotFoundError as error:
            raise HeadraceError(
                "connectors.demo_not_installed",
                f"The demo of the connector {self.name} is not installed: {error}",
                f"pip install 'headrace[demo-{self.name}]'; from a checkout: pip install "
                f"'.[demo-{self.name}]' ./demo",
            ) from error
        return demo

    def configuration(self) -> type[ConnectorConfig]:
        """The properties of Debezium's connector, and headrace's own."""
        configuration: type[ConnectorConfig] = resolve_name(self.configuration_class)
        return configuration

    def open(
        self,
        config: ConnectorConfig,
        *,
        cores: int,
        inline: bool,
        orphaned: Callable[[], bool],
    ) -> Connector:
        """See ConnectorDefinition."""
        function: Callable[..., Connector] = resolve_name(self.open_function)
        return function(config, cores=cores, inline=inline, orphaned=orphaned)

    def check(
        self, config: ConnectorConfig, stored: OffsetObject | None = None
    ) -> Sequence[CheckResult]:
        """See ConnectorDefinition."""
        if not self.check_function:
            return super().check(config, stored)
        arguments = (config,) if stored is None else (config, stored)
        results: Sequence[CheckResult] = resolve_name(self.check_function)(*arguments)
        return results

    def event_shapes(self, config: ConnectorConfig) -> Sequence[Shape]:
        """See ConnectorDefinition."""
        if not self.shapes_function:
            return super().event_shapes(config)
        shapes: Sequence[Shape] = resolve_name(self.shapes_function)(config)
        return shapes

    def table_comments(self, config: ConnectorConfig) -> Mapping[str, str] | None:
        """See ConnectorDefinition."""
        if not self.comments_function:
            return super().table_comments(config)
        comments: Mapping[str, str] = resolve_name(self.comments_function)(config)
        return comments

    def sampled_schema(self, config: ConnectorConfig, topic: str | None = None) -> Schema:
        """See ConnectorDefinition."""
        if not self.schema_function:
            return super().sampled_schema(config, topic)
        schema: Schema = resolve_name(self.schema_function)(config, topic)
        return schema

    def insert_signal(self, config: ConnectorConfig, collection: str, signal: Signal) -> None:
        """See ConnectorDefinition."""
        if not self.signal_function:
            super().insert_signal(config, collection, signal)
            return
        resolve_name(self.signal_function)(config, collection, signal)

    def signal_targets(
        self, config: ConnectorConfig, collection: str | None
    ) -> SignalTargets | None:
        """See ConnectorDefinition."""
        if not self.targets_function:
            return super().signal_targets(config, collection)
        targets: SignalTargets = resolve_name(self.targets_function)(config, collection)
        return targets

    def current_rows(self, config: ConnectorConfig) -> CurrentRows:
        """See ConnectorDefinition."""
        if not self.rows_function:
            return super().current_rows(config)
        rows: CurrentRows = resolve_name(self.rows_function)(config)
        return rows

    def trial(self, config: ConnectorConfig) -> AbstractContextManager[None]:
        """See ConnectorDefinition."""
        if not self.trial_function:
            return super().trial(config)
        context: AbstractContextManager[None] = resolve_name(self.trial_function)(config)
        return context

    def support_plan(self, config: ConnectorConfig) -> SupportPlan:
        """See ConnectorDefinition."""
        if not self.support_function:
            return super().support_plan(config)
        plan: SupportPlan = resolve_name(self.support_function)(config)
        return plan
