"""The aggregation pipeline of the change stream, as Debezium's connector builds it."""

from __future__ import annotations

import re
from typing import Any

from bson.regex import Regex

from headrace.config.properties.modes import TableIdentity
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.extended_json import read_shell_json
from headrace.connectors.mongodb.properties.modes import OversizeHandling, PipelineOrder

Stage = dict[str, Any]

_OPERATIONS = {"c": ("insert",), "u": ("update", "replace"), "d": ("delete",)}
"""The change stream's operation types that are skipped with an operation; `t` has none."""

_DEFINITIONS = ("drop", "rename")
"""Operations on collections themselves. A renamed collection may become a captured one."""
_REFERENCE = re.compile(r"\\(?:[1-9]|k|g)")


def change_stream_pipeline(config: MongoConfig) -> list[Stage]:
    """The stages after `$changeStream`. If the lists are expressions, the server's filter accepts
    more than is captured: `namespaces.Namespaces` decides."""
    filters = _filter_stages(config)
    users: list[Stage] = read_shell_json(config.cursor_pipeline)
    match config.cursor_pipeline_order:
        case PipelineOrder.INTERNAL_FIRST:
            stages = [*filters, *users]
        case PipelineOrder.USER_FIRST:
            stages = [*users, *filters]
        case PipelineOrder.USER_ONLY:
            stages = users
    if config.cursor_oversize_handling_mode is OversizeHandling.SKIP:
        stages = [_size_stage(config.cursor_oversize_skip_threshold), *stages]
    if config.cursor_oversize_handling_mode is OversizeHandling.SPLIT:
        stages = [*stages, {"$changeStreamSplitLargeEvent": {}}]
    return stages


def _size_stage(limit: int) -> Stage:
    sizes = ("$fullDocument", "$fullDocumentBeforeChange")
    return {
        "$match": {"$and": [{"$expr": {"$lte": [{"$bsonSize": size}, limit]}} for size in sizes]}
    }


def _filter_stages(config: MongoConfig) -> list[Stage]:
    literal = config.namespaces_are_literal
    operations = [
        operation
        for letter, operations in _OPERATIONS.items()
        if letter not in config.skipped_operations
        for operation in operations
    ]
    order = ("insert", "update", "replace", "delete")
    kind = "operationType" if literal else "event.operationType"
    conditions = [{kind: {"$in": sorted(operations, key=order.index)}}]
    names = _literal_condition(config) if literal else _expression_condition(config)
    if names is not None:
        conditions.insert(0, names)
    matching: Stage = {"$match": {"$and": conditions}}
    if config.headrace_table_identity is TableIdentity.ID:
        matching = {"$match": {"$or": [{"$and": conditions}, {kind: {"$in": list(_DEFINITIONS)}}]}}
    if literal:
        return [matching]
    root = {"namespace": {"$concat": ["$ns.db", ".", "$ns.coll"]}, "event": "$$ROOT"}
    return [
        {"$replaceRoot": {"newRoot": root}},
        matching,
        {"$replaceRoot": {"newRoot": "$event"}},
    ]


def _literal_condition(config: MongoConfig) -> Stage | None:
    conditions: list[Stage] = []
    for operator, way in (("$in", "include"), ("$nin", "exclude")):
        databases = config.names_in(f"database.{way}.list")
        if databases:
            conditions.append({"ns.db": {operator: list(databases)}})
    for operator, way in (("$in", "include"), ("$nin", "exclude")):
        collections = config.names_in(f"collection.{way}.list")
        if collections:
            conditions.append({"ns": {operator: [_namespace(name) for name in collections]}})
    signals = config.signal_data_collection
    return _with_signals(conditions, None if signals is None else {"ns": _namespace(signals)})


def _expression_condition(config: MongoConfig) -> Stage | None:
    conditions: list[Stage] = []
    for kind, field in (("database", "event.ns.db"), ("collection", "namespace")):
        include = config.names_in(f"{kind}.include.list")
        exclude = config.names_in(f"{kind}.exclude.list")
        if include:
            conditions.append(_any_of(field, include))
        elif exclude:
            conditions.append({field: Regex(f"(?!{'|'.join(exclude)})", "i")})
    signals = config.signal_data_collection
    return _with_signals(conditions, None if signals is None else {"namespace": signals})


def _any_of(field: str, expressions: tuple[str, ...]) -> Stage:
    # Joined expressions would number their groups together, which breaks references.
    if any(_REFERENCE.search(expression) for expression in expressions):
        return {"$or": [{field: Regex(expression, "i")} for expression in expressions]}
    return {field: Regex("|".join(expressions), "i")}


def _with_signals(conditions: list[Stage], signals: Stage | None) -> Stage | None:
    if not conditions:
        return None
    names = conditions[0] if len(conditions) == 1 else {"$and": conditions}
    return names if signals is None else {"$or": [names, signals]}


def _namespace(name: str) -> Stage:
    database, _, collection = name.partition(".")
    return {"db": database, "coll": collection}
