"""Finds the sink named by `headrace.sink.type`: an installed definition, or a format of Spark.

Definitions come from the entry points of the group `headrace.sinks`, so that another package can
add a sink.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from headrace.config.suggestions import distance, nearest
from headrace.connectors.entry_points import are_texts, load_entries
from headrace.errors import HeadraceError
from headrace.spark.sinks.definition import GROUP, SinkDefinition
from headrace.spark.sinks.formats import FormatDefinition

log = logging.getLogger(__name__)

# The same names are entry points in pyproject.toml; see headrace.connectors.registry.
_BUILT_IN = {
    "console": "headrace.sinks.console.definition:DEFINITION",
    "delta": "headrace.sinks.delta.definition:DEFINITION",
    "event-log": "headrace.sinks.event_log.definition:DEFINITION",
    "file": "headrace.sinks.file.definition:DEFINITION",
    "iceberg": "headrace.sinks.iceberg.definition:DEFINITION",
    "kafka": "headrace.sinks.kafka.definition:DEFINITION",
}
_NOT_SUPPORTED = ("http", "kinesis", "pubsub", "pulsar")
"""Sinks of Debezium Server for which Spark has no format."""
_OF_SPARK = (
    *("avro", "csv", "hudi", "json", "memory", "noop", "orc", "parquet"),
    *("rate", "socket", "text", "xml"),
)
"""Formats of Spark and of usual packages; Spark finds others by itself."""
_NAME = re.compile(r"[A-Za-z][\w-]*")
_OF_FOLDERS = ("checkpoint", "owner", "sink")
"""The other names in the state folder of a query, which no sink may have."""
_WORDS = ", ".join(map(repr, _OF_FOLDERS[:-1])) + f" or {_OF_FOLDERS[-1]!r}"
_SHORT = 4
"""Shorter names, in letters, get no suggestions of similar names."""


def built_in() -> tuple[SinkDefinition, ...]:
    """Return headrace's own definitions."""
    return tuple(map(_built_in, _BUILT_IN))


def sinks() -> tuple[SinkDefinition, ...]:
    """Return every installed definition: headrace's own, then those of other packages by name. An
    unusable one is left out with a warning."""
    return (*built_in(), *_added())


def find_sink(name: str) -> SinkDefinition:
    """Return the definition for a value of `headrace.sink.type`; that of a format of Spark if no
    sink has the name. Raises HeadraceError("cli.sink_left_out") for a sink of another package whose
    definition cannot be used, ("cli.sink_not_supported") for a sink that neither Spark nor headrace
    has, ("cli.sink_misspelled") for a name that is similar to a sink's."""
    if name in _BUILT_IN:
        return _built_in(name)
    for definition in _added():
        if definition.name == name:
            return definition
    fault = _examined().faults.get(name)
    if fault is not None:
        raise HeadraceError(
            "cli.sink_left_out",
            f"The sink {name} of another package cannot be used: {fault}",
            "Correct or reinstall the package of the sink; pip check names missing packages.",
        )
    if name in _NOT_SUPPORTED:
        raise HeadraceError(
            "cli.sink_not_supported",
            f"The sink {name} is not in this version",
            f"Use {', '.join(_names())}, or a format name of Spark.",
        )
    near = _near(name)
    if near:
        first, meant = near[0], " or ".join(near)
        others = ", ".join(sink for sink in _names() if sink not in near)
        raise HeadraceError(
            "cli.sink_misspelled",
            f"There is no sink {name}; did you mean {meant}?",
            f"Set headrace.sink.type to {first}. Other sinks are {others}, and formats of Spark; "
            f"a format of another package that is called {name} is named by its Java class.",
        )
    return FormatDefinition(name, nearest(name, (*_names(), *_OF_SPARK)))


def _near(name: str) -> Sequence[str]:
    """Return the sinks with almost the same name, ours first: in another case, or with one letter
    added, missing, wrong or swapped. Spark's formats have no case."""
    lowered = name.lower()
    if lowered in _OF_SPARK or "." in name:
        return ()
    if lowered in _names():
        return (lowered,)
    if len(name) < _SHORT:
        return ()
    return [sink for sink in (*_names(), *_OF_SPARK) if distance(lowered, sink, 1) <= 1]


def _names() -> Sequence[str]:
    return [definition.name for definition in sinks()]


@cache
def _built_in(name: str) -> SinkDefinition:
    module, _, attribute = _BUILT_IN[name].partition(":")
    definition: SinkDefinition = getattr(import_module(module), attribute)
    return definition


def _added() -> Sequence[SinkDefinition]:
    """Return the definitions of other packages, by name."""
    return _examined().definitions


class _Examined(NamedTuple):
    """The usable definitions of other packages, and the faults of the others by the names of their
    entry points."""

    definitions: Sequence[SinkDefinition]
    faults: Mapping[str, str]


@cache
def _examined() -> _Examined:
    added: dict[str, SinkDefinition] = {}
    left_out: dict[str, str] = {}

    def faults(definition: object) -> Iterator[str]:
        yield from _faults(definition)
        name = getattr(definition, "name", "")
        if name in _BUILT_IN or name in added:
            yield f"there is a sink {name} already"

    for _, definition in load_entries(GROUP, "sink", _BUILT_IN, faults, left_out):
        added[definition.name] = definition
    return _Examined(tuple(added.values()), left_out)


def _faults(definition: Any) -> Iterator[str]:
    """Yield the reasons why an object is not a valid definition. Exceptions that its
    properties raise are passed on."""
    if SinkDefinition not in type(definition).__mro__:
        yield f"{definition!r} is not a SinkDefinition: name an instance of a class derived from it"
        return
    name: object = definition.name
    if not isinstance(name, str) or _NAME.fullmatch(name) is None or name in _OF_FOLDERS:
        yield (
            f"its name is {name!r}; a name begins with a letter, has only letters, digits, '_' and "
            f"'-', and is not {_WORDS}"
        )
    for attribute in ("options", "worker_modules"):
        if not are_texts(getattr(definition, attribute)):
            yield f"{attribute} is not a sequence of strings"
    kernels: object = definition.kernels
    if not isinstance(kernels, Mapping) or not all(map(are_texts, kernels.values())):
        yield "kernels is not a mapping of modules to sequences of names"


def import_worker_modules() -> None:
    """Import the modules that tasks of all sinks need. An error of another package's module is a
    warning: its own queries raise the error when they need the module."""
    for definition in sinks():
        for module in definition.worker_modules:
            try:
                import_module(module)
            except Exception as error:
                if definition.name in _BUILT_IN:
                    raise
                log.warning(
                    "The module %s of the sink %s cannot be used: %s: %s",
                    module,
                    definition.name,
                    type(error).__name__,
                    error,
                )


def forget_added() -> None:
    """Forget other packages' definitions, because the installed packages have changed."""
    _examined.cache_clear()
