"""Finds the connector that `connector.class` names. Connector folders are imported on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from headrace.config.connector import ConnectorConfig
from headrace.config.references import resolve
from headrace.config.source import Properties, read_mapping, restore_case, unpack
from headrace.connectors.connector import Connector
from headrace.errors import HeadraceError

_CONNECTORS = {
    "postgresql": (
        ("io.debezium.connector.postgresql.PostgresConnector", "postgres"),
        ("headrace.connectors.postgresql.config", "PostgresConfig"),
    )
}
_LATER: dict[str, tuple[str, ...]] = {
    "mongodb": ("io.debezium.connector.mongodb.MongoDbConnector", "mongo"),
    "oracle": ("io.debezium.connector.oracle.OracleConnector",),
    "db2": ("io.debezium.connector.db2.Db2Connector",),
}


def connector_names() -> tuple[str, ...]:
    """Short names of the connectors that are there."""
    return tuple(_CONNECTORS)


def find_declarations(connector_class: str) -> type[ConnectorConfig]:
    """The configuration class for a value of `connector.class`, in any case.

    Raises HeadraceError("connectors.not_available") or ("connectors.unknown").
    """
    wanted = connector_class.strip().lower()
    for short, (others, (module, name)) in _CONNECTORS.items():
        if wanted in (short, *(other.lower() for other in others)):
            declarations: type[ConnectorConfig] = getattr(import_module(module), name)
            return declarations
    known = ", ".join(f"{short} ({others[0]})" for short, (others, _) in _CONNECTORS.items())
    for short, names in _LATER.items():
        if wanted in (short, *(other.lower() for other in names)):
            raise HeadraceError(
                "connectors.not_available",
                f"connector.class = {connector_class!r}: the {short} connector is not in this "
                "version",
                f"The connectors of this version are: {known}.",
            )
    raise HeadraceError(
        "connectors.unknown",
        f"connector.class = {connector_class!r} is not a connector",
        f"The connectors are: {known}.",
    )


def open_connector(
    config: ConnectorConfig, *, cores: int, inline: bool, orphaned: Callable[[], bool]
) -> Connector:
    """The connector of a parsed configuration. It connects on first use.

    `cores` bounds the slices of a range, `inline` makes slices carry their bytes, `orphaned`
    tells that the process it works for is gone.
    """
    folder = f"headrace.connectors.{short_name(type(config))}"
    opened: Connector = import_module(f"{folder}.connector").open_connector(
        config, cores=cores, inline=inline, orphaned=orphaned
    )
    return opened


def send_signal(
    config: ConnectorConfig,
    kind: str,
    data: str | Mapping[str, object] = "{}",
    *,
    name: str | None = None,
    channel: str | None = None,
) -> str:
    """Asks the connector that runs with this configuration; returns the signal's id.

    `channel` is source, kafka or file; None takes the first that there is. Raises HeadraceError.
    """
    from headrace.signals.sending import make_signal, send

    signal = make_signal(kind, data, name)
    folder = f"headrace.connectors.{short_name(type(config))}"
    insert = import_module(f"{folder}.signal_table").insert_signal
    send(config, signal, channel, lambda table, found: insert(config, table, found))
    return signal.id


def short_name(declarations: type[ConnectorConfig]) -> str:
    """The connector's short name, which `config.connector_class` holds after parsing."""
    for short, (_, (module, name)) in _CONNECTORS.items():
        if (module, name) == (declarations.__module__, declarations.__name__):
            return short
    raise LookupError(declarations.__name__)


def parse_configuration(properties: Mapping[str, str]) -> ConnectorConfig:
    """Checks properties with Debezium's names (as `config.source` reads them, or a dict).

    Raises HeadraceError("config.invalid"), ("config.not_supported"), ("connectors.…").
    """
    given = properties if isinstance(properties, Properties) else read_mapping(properties)
    return _parse(find_declarations(_connector_class(given)), given)


def parse_options(options: Mapping[str, str]) -> ConnectorConfig:
    """Checks PySpark options: `headrace.config`, and bare options, which override it.

    Bare options may have lost their case; Debezium's names are found without it. Raises as
    `parse_configuration`, and for a name whose case is lost and matters.
    """
    packed, bare = unpack(options)
    names = {name.lower(): text for name, text in bare.items()}
    written = names.get("connector.class") or names.get("debezium.source.connector.class")
    chosen = packed.with_overrides({"connector.class": written}) if written else packed
    declarations = find_declarations(_connector_class(chosen))
    restored = restore_case(bare, declarations, packed)
    return _parse(declarations, packed.with_overrides(restored))


def _parse(declarations: type[ConnectorConfig], properties: Properties) -> ConnectorConfig:
    canonical = {"connector.class": short_name(declarations)}
    return declarations.parse(properties.with_overrides(canonical))


def _connector_class(properties: Mapping[str, str]) -> str:
    text = properties.get("connector.class", "").strip()
    try:
        text = resolve(text)
    except ValueError as error:
        raise HeadraceError(
            "config.unresolved_reference", f"connector.class: {error}", "Correct the reference."
        ) from None
    if not text:
        known = ", ".join(others[0] for others, _ in _CONNECTORS.values())
        raise HeadraceError(
            "config.missing",
            "connector.class is missing",
            f"Set connector.class to one of: {known}.",
        )
    return text
