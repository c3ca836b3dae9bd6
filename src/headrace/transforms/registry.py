"""Finds the transform or predicate that a `type` names.

A type is a class of Debezium or Kafka Connect, its short name (the part after the last dot), the
name of an entry point of the group `headrace.transforms`, or `module:name` of a custom transform.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import import_module, metadata
from typing import Any

from headrace.errors import HeadraceError
from headrace.transforms.transform import Declaration, FunctionTransform, Predicate, Transform

log = logging.getLogger(__name__)

GROUP = "headrace.transforms"
"""The entry point group of other packages: a Declaration, or a function `(records, options)`."""

_KAFKA = "org.apache.kafka.connect.transforms"
_DEBEZIUM = "io.debezium.transforms"
_PACKAGES = (_KAFKA, "io.debezium.")
_OF_DOCUMENTS = "io.debezium.connector.mongodb.transforms"

_TRANSFORMS = {
    f"{_DEBEZIUM}.ByLogicalTableRouter": "debezium.by_logical_table_router:BY_LOGICAL_TABLE",
    f"{_DEBEZIUM}.ToLogicalTopicRouter": "debezium.by_logical_table_router:TO_LOGICAL_TOPIC",
    f"{_DEBEZIUM}.EnforceRecordSize": "debezium.enforce_record_size:DECLARATION",
    f"{_DEBEZIUM}.ExtractNewRecordState": "debezium.extract_new_record_state:DECLARATION",
    f"{_DEBEZIUM}.ExtractChangedRecordState": "debezium.extract_changed_record_state:DECLARATION",
    f"{_DEBEZIUM}.HeaderToValue": "debezium.header_to_value:DECLARATION",
    f"{_DEBEZIUM}.SchemaChangeEventFilter": "debezium.schema_change_event_filter:DECLARATION",
    f"{_DEBEZIUM}.TimezoneConverter": "debezium.timezone_converter:DECLARATION",
    f"{_DEBEZIUM}.outbox.EventRouter": "debezium.outbox.event_router:DECLARATION",
    f"{_DEBEZIUM}.partitions.PartitionRouting": "debezium.partition_routing:DECLARATION",
    f"{_DEBEZIUM}.VectorToJsonConverter": ("debezium.columns.vector_to_json_converter:DECLARATION"),
    f"{_DEBEZIUM}.SwapGeometryCoordinates": (
        "debezium.columns.swap_geometry_coordinates:DECLARATION"
    ),
    f"{_DEBEZIUM}.ExtractSchemaToNewRecord": (
        "debezium.columns.extract_schema_to_new_record:DECLARATION"
    ),
    f"{_DEBEZIUM}.Filter": "debezium.scripting.filter:DECLARATION",
    f"{_DEBEZIUM}.ContentBasedRouter": ("debezium.scripting.content_based_router:DECLARATION"),
    f"{_OF_DOCUMENTS}.ExtractNewDocumentState": "documents.extract_new_document_state:DECLARATION",
    f"{_OF_DOCUMENTS}.outbox.MongoEventRouter": "documents.event_router:DECLARATION",
    f"{_KAFKA}.InsertField$Key": "kafka.insert_field:OF_KEY",
    f"{_KAFKA}.InsertField$Value": "kafka.insert_field:OF_VALUE",
    f"{_KAFKA}.MaskField$Key": "kafka.mask_field:OF_KEY",
    f"{_KAFKA}.MaskField$Value": "kafka.mask_field:OF_VALUE",
    f"{_KAFKA}.SetSchemaMetadata$Key": "kafka.set_schema_metadata:OF_KEY",
    f"{_KAFKA}.SetSchemaMetadata$Value": "kafka.set_schema_metadata:OF_VALUE",
    f"{_KAFKA}.HoistField$Key": "kafka.hoist_field:OF_KEY",
    f"{_KAFKA}.HoistField$Value": "kafka.hoist_field:OF_VALUE",
    f"{_KAFKA}.ExtractField$Key": "kafka.extract_field:OF_KEY",
    f"{_KAFKA}.ExtractField$Value": "kafka.extract_field:OF_VALUE",
    f"{_KAFKA}.TimestampRouter": "kafka.times.timestamp_router:DECLARATION",
    f"{_KAFKA}.TimestampConverter$Key": "kafka.times.timestamp_converter:OF_KEY",
    f"{_KAFKA}.TimestampConverter$Value": "kafka.times.timestamp_converter:OF_VALUE",
    f"{_KAFKA}.ValueToKey": "kafka.value_to_key:DECLARATION",
    f"{_KAFKA}.Flatten$Key": "kafka.flatten:OF_KEY",
    f"{_KAFKA}.Flatten$Value": "kafka.flatten:OF_VALUE",
    f"{_KAFKA}.Filter": "kafka.filter:DECLARATION",
    f"{_KAFKA}.Cast$Key": "kafka.casting.cast:OF_KEY",
    f"{_KAFKA}.Cast$Value": "kafka.casting.cast:OF_VALUE",
    f"{_KAFKA}.DropHeaders": "kafka.headers.drop_headers:DECLARATION",
    f"{_KAFKA}.InsertHeader": "kafka.headers.insert_header:DECLARATION",
    f"{_KAFKA}.HeaderFrom$Key": "kafka.headers.header_from:OF_KEY",
    f"{_KAFKA}.HeaderFrom$Value": "kafka.headers.header_from:OF_VALUE",
    f"{_KAFKA}.RegexRouter": "kafka.regex_router:DECLARATION",
    f"{_KAFKA}.ReplaceField$Key": "kafka.replace_field:OF_KEY",
    f"{_KAFKA}.ReplaceField$Value": "kafka.replace_field:OF_VALUE",
}
"""Transforms by Java class; the modules are below headrace.transforms."""

_PREDICATES = {
    f"{_KAFKA}.predicates.HasHeaderKey": "predicates:HAS_HEADER_KEY",
    f"{_KAFKA}.predicates.RecordIsTombstone": "predicates:RECORD_IS_TOMBSTONE",
    f"{_KAFKA}.predicates.TopicNameMatches": "predicates:TOPIC_NAME_MATCHES",
}

_SHORT = {f"{_KAFKA}.Filter": "KafkaFilter"}
"""Short names that are not the last part of the class name."""


def short_name(java_class: str) -> str:
    """Return the short name of a class, for example `InsertField$Value`."""
    return _SHORT.get(java_class, java_class.rpartition(".")[2])


def find_transform(name: str) -> Declaration[Transform]:
    """Return the transform of a type.

    Raises HeadraceError("transforms.unknown") if no transform has this name, and
    ("transforms.not_importable") for a user's own transform that cannot be loaded.
    """
    return _find(name, _TRANSFORMS, "transform")


def find_predicate(name: str) -> Declaration[Predicate]:
    """Return the predicate of a type. Raises HeadraceError as `find_transform`."""
    return _find(name, _PREDICATES, "predicate")


def transforms() -> Iterator[tuple[str, Declaration[Transform]]]:
    """The built-in transforms with their Java classes, in the order of their short names."""
    for java_class in sorted(_TRANSFORMS, key=short_name):
        yield java_class, _built_in(_TRANSFORMS[java_class])


def added_transforms() -> Iterator[tuple[str, Declaration[Transform]]]:
    """Yield the transforms of other packages by the names of their entry points. One that cannot be
    loaded is left out with a warning."""
    for name, place in _added().items():
        try:
            yield name, _declaration(name, place)
        except HeadraceError as error:
            log.warning("%s", error)


def predicates() -> Iterator[tuple[str, Declaration[Predicate]]]:
    """Yield the predicates, in the form of `transforms`."""
    for java_class in sorted(_PREDICATES, key=short_name):
        yield java_class, _built_in(_PREDICATES[java_class])


def _find(name: str, built_in: Mapping[str, str], kind: str) -> Declaration[Any]:
    by_name = {short_name(java_class): place for java_class, place in built_in.items()}
    by_name.update(built_in)
    added = _added() if kind == "transform" else {}
    if name in by_name:
        return _built_in(by_name[name])
    if name in added:
        return _declaration(name, added[name])
    module, colon, attribute = name.partition(":")
    if colon and module and attribute:
        return _declaration(name, name)
    near = _near(name, built_in, added)
    listed = "`headrace describe transforms` lists all."
    if near:
        raise HeadraceError(
            "transforms.unknown",
            f"{name!r} is not a {kind}; did you mean {near[0]}?",
            f"Write {near[0]}, or name your own in Python as module:name; {listed}",
        )
    if _is_java_class(name):
        raise HeadraceError(
            "transforms.java_class",
            f"{name!r} is a Java class, and headrace cannot load {kind}s in Java",
            "Write it in Python and name it as module:name (docs/adding-a-transform.md shows how); "
            f"{listed}",
        )
    raise HeadraceError(
        "transforms.unknown",
        f"{name!r} is not a {kind}",
        f"Name one of headrace, or your own in Python as module:name; {listed}",
    )


def _is_java_class(name: str) -> bool:
    """Whether a name has the form of a qualified Java class."""
    return re.fullmatch(r"[a-z_]\w*(\.\w+)*\.[A-Z][\w$]*", name) is not None


def _near(name: str, built_in: Mapping[str, str], added: Collection[str]) -> list[str]:
    """Return the short name that `name` most likely means, as a list of at most one."""
    if _is_java_class(name) and not name.startswith(_PACKAGES):
        # Custom classes have such names, too; a misspelled package differs in a letter or two.
        return [*map(short_name, difflib.get_close_matches(name, built_in, n=1, cutoff=0.95))]
    known = [*map(short_name, built_in), *added]
    return difflib.get_close_matches(name.rpartition(".")[2], known, n=1)


@cache
def _built_in(place: str) -> Declaration[Any]:
    module, _, attribute = place.partition(":")
    declaration: Declaration[Any] = getattr(
        import_module(f"headrace.transforms.{module}"), attribute
    )
    return declaration


@cache
def _added() -> dict[str, str]:
    """Return the places (`module:name`) of other packages' transforms, by the names of their entry
    points. One whose name another transform has is left out with a warning."""
    taken = {*map(short_name, _TRANSFORMS), *_TRANSFORMS}
    added: dict[str, str] = {}
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name):
        if entry.name in taken or entry.name in added:
            log.warning(
                "The transform %s (%s)%s is left out: there is a transform %s already",
                entry.name,
                entry.value,
                "" if entry.dist is None else f" of the package {entry.dist.name}",
                entry.name,
            )
        else:
            added[entry.name] = entry.value
    return added


@cache
def _declaration(name: str, place: str) -> Declaration[Any]:
    """Load the declaration at `module:name`."""
    module, _, attribute = place.partition(":")
    try:
        loaded: Any = import_module(module)
        for part in attribute.split("."):
            loaded = getattr(loaded, part)
    except Exception as error:  # noqa: BLE001 - any exception of the custom module
        raise HeadraceError(
            "transforms.not_importable",
            f"{place} cannot be loaded: {type(error).__name__}: {error}",
            "Name a module that Python finds, and a name in it. PYTHONPATH=. lets Python look "
            "into the current folder; on a cluster install the module as a package, for executors "
            "too.",
        ) from None
    if isinstance(loaded, Declaration):
        return loaded
    if not callable(loaded):
        raise HeadraceError(
            "transforms.not_importable",
            f"{place} is a {type(loaded).__name__}, neither a function nor a Declaration",
            "Name a function (records, options) or a headrace.transforms.transform.Declaration.",
        )
    from headrace.transforms.own import OwnOptions

    def make(options: OwnOptions) -> FunctionTransform:
        return FunctionTransform(loaded, options.given())

    return Declaration(name, (loaded.__doc__ or "").strip(), OwnOptions, make)
