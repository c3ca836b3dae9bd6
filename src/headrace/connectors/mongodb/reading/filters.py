"""Filters of collections, as `find` takes them: of the configuration, and of signals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bson.raw_bson import RawBSONDocument

from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import Client
from headrace.connectors.mongodb.extended_json import read_document
from headrace.connectors.mongodb.reading.collections import Collection
from headrace.connectors.mongodb.shell_json import parse_shell_json
from headrace.errors import HeadraceError

PROPERTY = "snapshot.collection.filter.overrides"
_RUNS_CODE = ("$where", "$function", "$accumulator")
_LONGEST = 100_000


def filter_bytes(text: str) -> bytes:
    """The BSON of a filter that is written as JSON, as MongoDB's shell or Java driver take it.
    Raises ValueError with a sentence."""
    if len(text) > _LONGEST:
        raise ValueError(f"a filter has at most {_LONGEST} characters")
    try:
        return read_document(text)
    except ValueError as error:
        raise ValueError(f"the filter cannot be used: {error}") from None


def signal_filter(text: str) -> bytes:
    """As `filter_bytes`. Whoever may write a signal may not run code on the server."""
    raw = filter_bytes(text)
    for name in _names(parse_shell_json(text)):
        if name in _RUNS_CODE:
            raise ValueError(f"{name} is not allowed in a filter")
    return raw


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield name
            yield from _names(member)
    elif isinstance(value, list):
        for member in value:
            yield from _names(member)


def overrides(config: MongoConfig) -> dict[str, bytes]:
    """Filters by `database.collection`. Raises HeadraceError("mongodb.filter")."""
    filters = {}
    for name, text in config.snapshot_filters().items():
        try:
            filters[name] = filter_bytes(text)
        except ValueError as problem:
            raise refused(name, str(problem)) from None
    return filters


def check_filter(client: Client, collection: Collection, condition: bytes) -> None:
    """Raises OperationFailure when the server does not take a filter."""
    find = {"find": collection.short_name, "filter": RawBSONDocument(condition)}
    client[collection.database].command("explain", find, verbosity="queryPlanner")


def refused(name: str, why: str) -> HeadraceError:
    """The error for the filter of a collection that cannot be used."""
    return HeadraceError(
        "mongodb.filter",
        f"{PROPERTY}.{name}: {why}",
        'Write a filter as find takes it, in JSON: {"status": "open"}.',
    )
