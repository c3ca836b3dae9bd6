"""Finds the connector that `connector.class` names, by the definitions that are installed.

Definitions come from the entry points of the group `headrace.connectors`, so that another package
can add a connector.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module, util
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.config.finding import error_of
from headrace.config.formats import Properties, read_mapping, restore_case, unpack
from headrace.config.references import resolve
from headrace.config.suggestions import nearest
from headrace.connectors.definition import CheckResult, ConnectorDefinition
from headrace.connectors.entry_points import load_definitions, values_of
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.config.finding import PropertyFinding
    from headrace.config.properties.connector import ConnectorConfig
    from headrace.connect.records import Shape
    from headrace.connect.schema import Schema
    from headrace.connectors.connector import Connector
    from headrace.offsets.offset import OffsetObject
    from headrace.snapshots.incremental.current_rows import CurrentRows
    from headrace.support.plan import SupportPlan

log = logging.getLogger(__name__)

# pyproject.toml has the same as entry points. They are here, too, because a source tree that was
# installed before an entry point was added does not have it in its metadata, and because reading
# the metadata of every installed package takes tens of milliseconds in each of Spark's processes.
_BUILT_IN = {
    "postgresql": "headrace.connectors.postgresql.definition:DEFINITION",
    "mongodb": "headrace.connectors.mongodb.definition:DEFINITION",
    "db2": "headrace.connectors.db2.definition:DEFINITION",
    "oracle": "headrace.connectors.oracle.definition:DEFINITION",
}


def definitions() -> tuple[ConnectorDefinition, ...]:
    """Return every definition that is installed: headrace's own, then those of other packages by
    name.

    Unusable definitions are left out with a warning; see `load_definitions`.
    """
    return (*built_in(), *_added())


def built_in() -> tuple[ConnectorDefinition, ...]:
    """Headrace's own definitions."""
    return tuple(map(_built_in, _BUILT_IN))


@contextmanager
def warns_of_errors(part: str, definition: ConnectorDefinition) -> Iterator[None]:
    """A context for loading `part` of every installed connector, also of those that are not in use.
    An error of another package's connector becomes a warning; queries of that connector raise it
    when they need the part."""
    try:
        yield
    except Exception as error:
        if definition in built_in():
            raise
        log.warning(
            "%s of the connector %s cannot be used: %s: %s",
            part,
            definition.name,
            type(error).__name__,
            error,
        )


def find_definition(connector_class: str) -> ConnectorDefinition:
    """The definition for a value of `connector.class`, in any case.

    Raises HeadraceError("connectors.not_available") for a connector of Debezium that is not
    installed, ("connectors.unknown") for anything else.
    """
    sought = connector_class.strip().lower()
    for definition in _one_by_one():
        if sought in values_of(definition):
            return definition
    raise _not_found(connector_class)


def _not_found(connector_class: str) -> HeadraceError:
    """Return the error for a value of `connector.class` that no definition has: a connector of
    Debezium that headrace does not have, or an installed one with a misspelled name."""
    installed = ", ".join(map(_shown, definitions()))
    known: dict[str, ConnectorDefinition | None] = dict.fromkeys(_debezium_connectors())
    for definition in definitions():
        for value in values_of(definition):
            known |= dict.fromkeys(_databases_of(value), definition)
    named = _databases_of(connector_class)
    guesses = (
        *(name for name in named if name in known),
        *(nearest(name, known) for name in named),
    )
    database = next(filter(None, guesses), "")
    meant = known.get(database)
    if database and meant is None:
        return HeadraceError(
            "connectors.not_available",
            f"connector.class = {connector_class!r}: Debezium has a connector for {database}, and "
            "headrace has none",
            f"The connectors that are installed: {installed}.",
        )
    near = None
    if meant is not None:
        near = meant.classes[0] if "." in connector_class and meant.classes else meant.name
    return HeadraceError(
        "connectors.unknown",
        f"connector.class = {connector_class!r} is not a connector that is installed"
        + (f"; did you mean {near}?" if near else ""),
        (f"Set connector.class to {near}. " if near else "")
        + f"The connectors that are installed: {installed}. Connectors of other packages are found "
        "by their entry points (headrace.connectors); a source folder on PYTHONPATH needs the "
        "package's metadata.",
    )


def _databases_of(connector_class: str) -> list[str]:
    """Return the names of a database that a value of `connector.class` may contain, in lower case:
    the value itself; for a Java class its package, and its own name without "Connector"."""
    parts = connector_class.strip().lower().split(".")
    return [*parts[-2:-1], parts[-1].removesuffix("connector")]


@cache
def _debezium_connectors() -> frozenset[str]:
    """The short names of Debezium's connectors, whether headrace has them or not."""
    return frozenset(Path(__file__).with_name("debezium_connectors.txt").read_text().split())


def _shown(definition: ConnectorDefinition) -> str:
    return f"{definition.name} ({definition.classes[0]})" if definition.classes else definition.name


def definition_of(config: ConnectorConfig) -> ConnectorDefinition:
    """The definition of a parsed configuration."""
    return find_definition(str(config.connector_class))


def has_driver(definition: ConnectorDefinition) -> bool:
    """Whether the database's driver is installed, so that the connector can be opened."""
    if definition.driver is None:
        return True
    try:
        return util.find_spec(definition.driver.module) is not None
    except Exception:  # noqa: BLE001 - the package around the module is missing, or raises
        return False


def require_driver(definition: ConnectorDefinition) -> None:
    """Raise HeadraceError("connectors.no_driver") if the driver is not installed."""
    driver = definition.driver
    if driver is not None and not has_driver(definition):
        raise HeadraceError(
            "connectors.no_driver",
            f"The {definition.name} connector needs the package {driver.module}, which is not "
            "installed",
            f"pip install '{driver.requirement}'",
        )


def open_connector(
    config: ConnectorConfig, *, cores: int, inline: bool, orphaned: Callable[[], bool]
) -> Connector:
    """Return the connector of a parsed configuration. It connects on first use.

    `cores` bounds the slices of a range, `inline` makes slices carry their bytes, `orphaned`
    returns whether the process that it works for has ended. Raises
    HeadraceError("connectors.no_driver").
    """
    definition = definition_of(config)
    require_driver(definition)
    return definition.open(config, cores=cores, inline=inline, orphaned=orphaned)


def check(config: ConnectorConfig, stored: OffsetObject | None = None) -> Sequence[CheckResult]:
    """Check that the database of a parsed configuration is ready; see ConnectorDefinition.check.

    Raises HeadraceError("connectors.no_driver").
    """
    definition = definition_of(config)
    require_driver(definition)
    return definition.check(config) if stored is None else definition.check(config, stored)


def event_shapes(config: ConnectorConfig) -> Sequence[Shape]:
    """Return the current shapes of the captured tables' change events, before any transform.

    Raises HeadraceError.
    """
    definition = definition_of(config)
    require_driver(definition)
    return definition.event_shapes(config)


def current_rows(config: ConnectorConfig) -> CurrentRows:
    """Return a reader of the current rows of the captured tables; see ConnectorDefinition.

    Raises HeadraceError.
    """
    definition = definition_of(config)
    require_driver(definition)
    return definition.current_rows(config)


def table_comments(config: ConnectorConfig) -> Mapping[str, str] | None:
    """The comments of the captured tables; see ConnectorDefinition.

    Raises HeadraceError.
    """
    definition = definition_of(config)
    require_driver(definition)
    return definition.table_comments(config)


def sampled_schema(config: ConnectorConfig, topic: str | None = None) -> Schema:
    """Return the common schema of the documents of a captured collection; see ConnectorDefinition.

    Raises HeadraceError.
    """
    definition = definition_of(config)
    require_driver(definition)
    return definition.sampled_schema(config, topic)


def support_plan(config: ConnectorConfig, *, to_be_sent: bool = True) -> SupportPlan:
    """Return the queries of the connector's support bundle; they are only listed, unless
    `to_be_sent`. Raises HeadraceError, also if they are to be sent and the driver is missing."""
    definition = definition_of(config)
    if to_be_sent:
        require_driver(definition)
    return definition.support_plan(config)


def captured_tables(config: ConnectorConfig, expression: str) -> list[str]:
    """Return the names of the captured tables that an expression of a signal matches now. Raises
    HeadraceError, also if the database does not answer."""
    from headrace.signals.sending import captured_names

    definition = definition_of(config)
    require_driver(definition)
    targets = definition.signal_targets(config, None)
    return [expression] if targets is None else captured_names(expression, targets)


def send_signal(
    config: ConnectorConfig,
    kind: str,
    data: str | Mapping[str, object] = "{}",
    *,
    name: str | None = None,
    channel: str | None = None,
    before: Callable[[], None] | None = None,
) -> str:
    """Send a signal to the connector that runs with this configuration, and return the signal's id.

    `channel` is source, kafka or file; None takes the first that is configured. Raises
    HeadraceError, before anything is written, if no query could carry out the signal. `before` is
    called after these checks, when the signal is about to be sent.
    """
    from headrace.signals.sending import channel_of, check_targets, make_signal, send
    from headrace.signals.signal import Signal

    signal = make_signal(kind, data, name)
    definition = definition_of(config)
    way = channel_of(config, channel)
    if has_driver(definition):
        collection = config.signal_table() if way == "source" else None
        try:
            targets = definition.signal_targets(config, collection)
        except HeadraceError as error:
            if way == "source" or not error.retriable:
                raise
            log.warning("the signal is not checked: %s", error)
        else:
            if targets is not None:
                check_targets(signal, targets)

    def insert(collection: str, signal: Signal) -> None:
        require_driver(definition)
        definition.insert_signal(config, collection, signal)

    if before is not None:
        before()
    send(config, signal, way, insert)
    return signal.id


def parse_configuration(properties: Mapping[str, str]) -> ConnectorConfig:
    """Check properties with Debezium's names (as `config.source` reads them, or a dict).

    Raises HeadraceError("config.invalid"), ("config.not_supported"), ("connectors.…").
    """
    parsed = properties if isinstance(properties, Properties) else read_mapping(properties)
    return _parse(find_definition(_connector_class(parsed)), parsed)


def parse_options(options: Mapping[str, str]) -> ConnectorConfig:
    """Check PySpark options: `headrace.config`, and bare options, which override it.

    Bare options may have lost their case; Debezium's names are found without it. Raises like
    `parse_configuration`, and for a name whose case is lost and matters.
    """
    packed, bare = unpack(options)
    names = {name.lower(): text for name, text in bare.items()}
    written = names.get("connector.class") or names.get("debezium.source.connector.class")
    chosen = packed.with_overrides({"connector.class": written}) if written else packed
    definition = find_definition(_connector_class(chosen))
    declarations = definition.configuration()
    families = declarations.families().values()
    restored = restore_case(bare, declarations.properties(), families, packed)
    return _parse(definition, packed.with_overrides(restored))


def examine(
    properties: Mapping[str, str],
) -> tuple[ConnectorConfig, list[PropertyFinding]]:
    """Check properties like `parse_configuration`, but return the findings; an invalid property has
    its default. Raises HeadraceError only if no connector is named."""
    parsed = properties if isinstance(properties, Properties) else read_mapping(properties)
    return _examine(find_definition(_connector_class(parsed)), parsed)


def _parse(definition: ConnectorDefinition, properties: Properties) -> ConnectorConfig:
    config, problems = _examine(definition, properties)
    if problems:
        raise error_of(problems)
    return config


def _examine(
    definition: ConnectorDefinition, properties: Properties
) -> tuple[ConnectorConfig, list[PropertyFinding]]:
    canonical = {"connector.class": definition.name}
    declarations = definition.configuration()
    config, problems = declarations.examine(properties.with_overrides(canonical))
    warnings: Sequence[PropertyFinding] = ()
    if config.transforms or config.predicates:
        # Transforms load compiled code, which most queries do without in this process.
        from headrace.transforms.reading import examine_chain

        examined = examine_chain(config)
        problems += examined.problems
        warnings = examined.warnings
    return config.with_warnings(warnings), problems


def _connector_class(properties: Mapping[str, str]) -> str:
    text = properties.get("connector.class", "").strip()
    try:
        text = resolve(text)
    except ValueError as error:
        raise HeadraceError(
            "config.unresolved_reference", f"connector.class: {error}", "Correct the reference."
        ) from None
    if not text:
        installed = ", ".join(
            (*definition.classes, definition.name)[0] for definition in definitions()
        )
        raise HeadraceError(
            "config.missing",
            "connector.class is missing",
            f"Set connector.class to one of: {installed}.",
        )
    return text


def _one_by_one() -> Iterator[ConnectorDefinition]:
    """Yield the definitions like `definitions`, but read metadata only if the caller takes none of
    headrace's own."""
    yield from built_in()
    yield from _added()


@cache
def _built_in(name: str) -> ConnectorDefinition:
    module, _, attribute = _BUILT_IN[name].partition(":")
    definition: ConnectorDefinition = getattr(import_module(module), attribute)
    return definition


@cache
def _added() -> tuple[ConnectorDefinition, ...]:
    """The definitions of other packages, by name."""
    return tuple(load_definitions(built_in(), _BUILT_IN))


def forget_added() -> None:
    """Look for other packages' definitions again: the installed packages have changed."""
    _added.cache_clear()
