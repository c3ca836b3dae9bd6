"""The definitions that other packages provide, each examined before it is used."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any

from headrace.connectors.definition import GROUP, ConnectorDefinition

log = logging.getLogger(__name__)

_NAME = re.compile(r"[\w.-]+")
_METHODS = ("configuration", "open", "check", "insert_signal", "caught_up")


def values_of(definition: ConnectorDefinition) -> tuple[str, ...]:
    """The values of `connector.class` that choose a definition, in lower case."""
    return tuple(value.lower() for value in (definition.name, *definition.classes))


def load_entries(
    group: str,
    kind: str,
    skipped: Mapping[str, str],
    faults_of: Callable[[object], Iterable[str]],
    left_out: dict[str, str] | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield the objects of a group's entry points, sorted by name, each after the text that names
    its entry in messages. Entries in `skipped` (name and object) are left out.

    An entry that cannot be loaded, or in whose object `faults_of` finds a fault, is left out, with
    a warning that names entry and distribution: a query that does not use it does not need it.
    `kind` is the warning's word for such an object. `left_out` gets the faults by the names of such
    entries.
    """
    for entry in sorted(metadata.entry_points(group=group), key=lambda entry: entry.name):
        if skipped.get(entry.name) == entry.value:
            continue
        try:
            loaded = entry.load()
            fault = next(iter(faults_of(loaded)), "")
        except Exception as error:  # noqa: BLE001 - what a package of others raises
            fault = f"{type(error).__name__}: {error}"
        if fault:
            if left_out is not None:
                left_out[entry.name] = fault
            log.warning("The %s %s is left out: %s", kind, _shown(entry), fault)
        else:
            yield _shown(entry), loaded


def load_definitions(
    installed: Sequence[ConnectorDefinition], skipped: Mapping[str, str]
) -> list[ConnectorDefinition]:
    """Return the connector definitions that other packages provide; see `load_entries`.

    A definition with the name of another one is left out, too. A class that another definition has
    already stays with that one, with a warning.
    """
    owners = {value: known.name for known in installed for value in values_of(known)}

    def faults_of(definition: Any) -> Iterator[str]:
        yield from faults(definition)
        value = values_of(definition)[0]
        if value in owners:
            yield f"the connector {owners[value]} has that name"

    added = []
    for entry, definition in load_entries(GROUP, "connector", skipped, faults_of):
        for value in values_of(definition):
            if owners.setdefault(value, definition.name) != definition.name:
                log.warning(
                    "The connector %s is not chosen by connector.class=%s, which the connector %s "
                    "has",
                    entry,
                    value,
                    owners[value],
                )
        added.append(definition)
    return added


def faults(definition: object) -> Iterator[str]:
    """Yield the reasons why an object is not a valid definition. Exceptions that its
    properties raise are passed on."""
    if isinstance(definition, type):
        yield f"{definition.__name__} is a class: name an instance of it"
    missing = object()
    name = getattr(definition, "name", missing)
    if name is missing:
        yield f"{definition!r} is not a connector definition: it has no name"
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        yield f"its name is {name!r}: give it letters, digits, '_', '.' and '-'"
    for method in _METHODS:
        if not callable(getattr(definition, method, None)):
            yield f"it has no method {method}: derive it from ConnectorDefinition"
    for attribute in ("classes", "worker_modules"):
        if not are_texts(getattr(definition, attribute, missing)):
            yield f"{attribute} is not a sequence of strings"
    kernels = getattr(definition, "kernels", missing)
    if not isinstance(kernels, Mapping) or not all(map(are_texts, kernels.values())):
        yield "kernels is not a mapping of modules to sequences of names"
    verbs = getattr(definition, "verbs", missing)
    if not isinstance(verbs, Mapping) or not are_texts((*verbs, *verbs.values())):
        yield "verbs is not a mapping of verbs to modules"
    driver = getattr(definition, "driver", missing)
    named = (getattr(driver, "module", None), getattr(driver, "requirement", None))
    if driver is not None and not are_texts(named):
        yield "driver is neither None nor a Driver"


def are_texts(values: object) -> bool:
    """Whether `values` is a sequence of texts."""
    return (
        isinstance(values, Sequence)
        and not isinstance(values, str)
        and all(isinstance(value, str) for value in values)
    )


def _shown(entry: metadata.EntryPoint) -> str:
    distribution = "" if entry.dist is None else f" of the package {entry.dist.name}"
    return f"{entry.name} ({entry.value}){distribution}"
