"""A configuration, however it is written, as options of `format("headrace")`, checked at once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

from headrace.config.finding import error_of
from headrace.config.packing import pack
from headrace.config.properties.connector import ConnectorConfig
from headrace.config.property import attribute_name
from headrace.config.source import OF_SPARK, Properties, read_file, read_mapping, read_packed
from headrace.connectors.registry import examine, find_definition, sampled_schema
from headrace.documents.target_schema.ddl import ddl
from headrace.errors import HeadraceError, HeadraceWarning

Configured = Mapping[str, object] | str | os.PathLike[str]

_SCHEMA, _UNKNOWN, _SAMPLED = "target.schema", "target.schema.unknown", "sampled"
_UNRESOLVED = "config.unresolved_reference"
_QUIET = ("config.ignored", "config.not_needed")
# Set by Spark Connect: the source then runs where the server is, with the server's environment.
_CONNECT = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")


def options(configuration: Configured | None = None, /, **properties: object) -> dict[str, str]:
    """See headrace.options."""
    given = _read(configuration).with_overrides(_keywords(configuration, properties))
    given, _ = given.split(OF_SPARK)  # the session has its settings
    config, problems = examine(given)
    if any(name in os.environ for name in _CONNECT):
        problems = [problem for problem in problems if problem.code != _UNRESOLVED]
    if problems:
        raise error_of(problems)
    for warning in config.warnings:
        if warning.code not in _QUIET:
            warnings.warn(str(warning), HeadraceWarning, stacklevel=3)
    return pack(with_sampled_schemas(given, config))


def with_sampled_schemas(properties: Properties, config: ConnectorConfig) -> Properties:
    """The properties with the schemas that transforms let the connector find out, so that every
    process of a query has the same ones. `config` is what the properties say. Raises
    HeadraceError that names the property."""
    aliases = [
        member.variables[0]
        for member in config.transforms_options
        if member.variables[1] == _SCHEMA
        and member.value.strip().lower() == _SAMPLED
        and member.variables[0] in (config.transforms or ())
    ]
    if not aliases:
        return properties
    try:
        schema = ddl(sampled_schema(config))
    except HeadraceError as error:
        message = f"transforms.{aliases[0]}.{_SCHEMA}={_SAMPLED}: {error.message}"
        raise HeadraceError(error.code, message, error.remedy, retriable=error.retriable) from None
    made = {f"transforms.{alias}.{_SCHEMA}": schema for alias in aliases}
    for alias in aliases:
        name = f"transforms.{alias}.{_UNKNOWN}"
        if properties.get(name, "").strip().lower() in ("", "auto"):
            made[name] = "fail"
    return properties.with_overrides(made)


def _read(configuration: Configured | None) -> Properties:
    match configuration:
        case None:
            return Properties()
        case Mapping():
            return read_mapping(configuration)
        case str():
            return read_packed(configuration)
        case os.PathLike():
            return read_file(Path(configuration))
    raise HeadraceError(
        "config.invalid",
        f"headrace.options got a {type(configuration).__name__}",
        "Give it a dict, the path of a file, JSON or properties as text, or keyword arguments.",
    )


def _keywords(configuration: Configured | None, given: Mapping[str, object]) -> Properties:
    """Keyword arguments by the properties' names: `topic_prefix` is topic.prefix."""
    if not given:
        return Properties()
    spelled = read_mapping({name.replace("_", "."): value for name, value in given.items()})
    chosen = _read(configuration).with_overrides(spelled).get("connector.class", "").strip()
    declared: dict[str, str] = {}
    if chosen:
        names = find_definition(chosen).configuration().properties()
        declared = {attribute_name(name): name for name in names}
    return read_mapping(
        {declared.get(name, name.replace("_", ".")): value for name, value in given.items()}
    )
