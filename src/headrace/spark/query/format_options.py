"""A configuration, in any format, as options of `format("headrace")`, checked at once."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path

from headrace.config.finding import error_of
from headrace.config.formats import (
    OF_SPARK,
    Properties,
    read_file,
    read_mapping,
    read_packed,
    unpack,
)
from headrace.config.packing import pack
from headrace.config.properties.connector import ConnectorConfig
from headrace.config.property import attribute_name
from headrace.connectors.registry import examine, find_definition, sampled_schema
from headrace.documents.target_schema.ddl import ddl
from headrace.errors import HeadraceError, HeadraceWarning

Configured = Mapping[str, object] | str | os.PathLike[str]

_SCHEMA, _UNKNOWN, _SAMPLED = "target.schema", "target.schema.unknown", "sampled"
_UNRESOLVED = "config.unresolved_reference"
_FUNCTION = "headrace.options"
_QUIET = ("config.ignored", "config.not_needed")
# Set by Spark Connect: then the source runs on the server's host, with the server's environment.
_CONNECT = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")


def options(configuration: Configured | None = None, /, **properties: object) -> dict[str, str]:
    """See headrace.options."""
    parsed = _read(configuration).with_overrides(_keywords(configuration, properties))
    parsed, _ = parsed.split(OF_SPARK)  # the settings belong to the session
    config, problems = examine(parsed)
    if any(name in os.environ for name in _CONNECT):
        problems = [problem for problem in problems if problem.code != _UNRESOLVED]
    if problems:
        raise error_of(problems)
    for warning in config.warnings:
        if warning.code not in _QUIET:
            warnings.warn(str(warning), HeadraceWarning, stacklevel=3)
    return pack(with_sampled_schemas(parsed, config))


def with_sampled_schemas(properties: Properties, config: ConnectorConfig) -> Properties:
    """Return the properties with the schemas that transforms sample from the database, so that
    every process of a query has the same ones. `config` is the parsed configuration. Raises
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
    overrides = {f"transforms.{alias}.{_SCHEMA}": schema for alias in aliases}
    for alias in aliases:
        name = f"transforms.{alias}.{_UNKNOWN}"
        if properties.get(name, "").strip().lower() in ("", "auto"):
            overrides[name] = "fail"
    return properties.with_overrides(overrides)


def read_configuration(configuration: object, function: str) -> Properties:
    """Read a configuration in any format: a dict with the names of Debezium or of Debezium Server,
    a body for Kafka Connect, the result of `headrace.options`, the path of a file, or the text of
    one. `function` is the caller's name for messages. Raises HeadraceError as `read_file` and
    `read_text`, and ("config.invalid") for anything else."""
    match configuration:
        case Mapping():
            packed, bare = unpack(configuration)
            return packed.with_overrides(read_mapping(bare))
        case str():
            return read_packed(configuration)
        case os.PathLike():
            return read_file(Path(configuration))
    raise HeadraceError(
        "config.invalid",
        f"{function} got a {type(configuration).__name__} as configuration",
        "Give it a dict, the path of a file, JSON or properties as text, what headrace.options "
        "returned, or (headrace.options only) keyword arguments.",
    )


def is_configuration(configuration: object) -> bool:
    """Return whether an object is a configuration for `read_configuration`, where it may also be a
    type of Spark, or the DDL of columns. A text that can only be a path is one, whether the file
    exists or not."""
    if not isinstance(configuration, str):
        return isinstance(configuration, Mapping | os.PathLike)
    text = configuration.strip()
    return (
        text.startswith("{")
        or "connector.class" in text
        or _PATH.fullmatch(text) is not None
        or (text != "" and "\n" not in text and _is_file(text))
    )


def _is_file(text: str) -> bool:
    """Return whether a file has this text as its path; False for a text that is too long for a
    path."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


# A word with a slash or a file's suffix: DDL contains these only inside backticks.
_PATH = re.compile(r"[^\s`]*(?:/[^\s`]*|\.(?:properties|json|conf))")


def _read(configuration: Configured | None) -> Properties:
    return Properties() if configuration is None else read_configuration(configuration, _FUNCTION)


def _keywords(configuration: Configured | None, keywords: Mapping[str, object]) -> Properties:
    """Return keyword arguments by the properties' names: `topic_prefix` is topic.prefix."""
    if not keywords:
        return Properties()
    spelled = read_mapping({name.replace("_", "."): value for name, value in keywords.items()})
    chosen = _read(configuration).with_overrides(spelled).get("connector.class", "").strip()
    declared: dict[str, str] = {}
    if chosen:
        names = find_definition(chosen).configuration().properties()
        declared = {attribute_name(name): name for name in names}
    return read_mapping(
        {declared.get(name, name.replace("_", ".")): value for name, value in keywords.items()}
    )
