"""Filters of collections for `find`: those of the configuration, and those of signals."""

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
    """Convert a filter in JSON, as MongoDB's shell or Java driver accept it, to BSON. Raises
    ValueError with a sentence."""
    if len(text) > _LONGEST:
        raise ValueError(f"a filter has at most {_LONGEST} characters")
    try:
        return read_document(text)
    except ValueError as error:
        raise ValueError(f"the filter cannot be used: {error}") from None


def signal_filter(text: str) -> bytes:
    """Convert a signal's filter as `filter_bytes` does, but refuse operators that run code on the
    server, which a writer of signals may not do. Raises ValueError."""
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
    """The configured filters by `database.collection`. Raises HeadraceError("mongodb.filter")."""
    filters = {}
    for name, text in config.snapshot_filters().items():
        try:
            filters[name] = filter_bytes(text)
        except ValueError as problem:
            raise refused(name, str(problem)) from None
    return filters


def check_filter(client: Client, collection: Collection, condition: bytes) -> None:
    """Let the server plan a query with a filter. Raises OperationFailure if it refuses the
    filter."""
    find = {"find": collection.short_name, "filter": RawBSONDocument(condition)}
    client[collection.database].command("explain", find, verbosity="queryPlanner")


def refused(name: str, why: str) -> HeadraceError:
    """The error of a collection's filter that cannot be used."""
    return HeadraceError(
        "mongodb.filter",
        f"{PROPERTY}.{name}: {why}",
        'Write a filter as find takes it, in JSON: {"status": "open"}.',
    )
