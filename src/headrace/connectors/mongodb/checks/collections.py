"""Checks that the captured collections exist, can be read and distinguished, and keep images."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple, cast

from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure

from headrace.config.filters import NameFilter
from headrace.connectors.mongodb.checks.state import Checked, CheckedCollection
from headrace.connectors.mongodb.connection import diagnose
from headrace.connectors.mongodb.errors import grant
from headrace.connectors.mongodb.events import SCHEMA_PARTS
from headrace.connectors.mongodb.properties.modes import FullUpdateType
from headrace.connectors.mongodb.reading.collections import STORED
from headrace.connectors.mongodb.reading.collections import Collection as Place
from headrace.connectors.mongodb.reading.document_images import document_images
from headrace.connectors.mongodb.reading.filters import check_filter, overrides, refused
from headrace.connectors.mongodb.servers import IMAGES
from headrace.connectors.naming import name_adjustment, topic_names
from headrace.debezium.naming.clashes import name_clashes
from headrace.findings import Level, named

_BAD_VALUE = 2


def check_collections(checked: Checked) -> None:
    """Find the captured collections, and check whether each entry of the lists matches one."""
    with checked.asking("Listing the collections"):
        everything = list(all_collections(checked))
    checked.collections = [
        collection
        for collection in everything
        if checked.namespaces.takes(collection.database, collection.name)
        and checked.namespaces.in_scope(collection.database, collection.name)
    ]
    names = [collection.namespace for collection in checked.collections if collection.is_stored]
    if names:
        present = sum(collection.is_stored for collection in everything)
        count = f"{len(names)} of {present} collections are captured"
        checked.ok("collections", f"{count}: {named(names)}")
    else:
        hidden = _hidden(checked)
        checked.warn(
            "no_collections",
            f"No existing collection is captured{hidden.what}",
            f"{hidden.remedy}Check database.include.list, collection.include.list "
            "(database.collection) and capture.target; collections that are created later are "
            "captured.",
        )
    _check_limit(checked, len(names))
    for kind in ("database", "collection"):
        _check_entries(checked, kind, everything)


class _Hidden(NamedTuple):
    """The hint about collections that a listing omits because of the user's rights; empty if it
    omits none."""

    what: str = ""
    remedy: str = ""


def _hidden(checked: Checked) -> _Hidden:
    """Return the hint, because the server lists only collections that the user may read."""
    database, collection = checked.config.target()
    with checked.asking("Reading the user's privileges"):
        if checked.may("find", database or "", collection or ""):
            return _Hidden()
    place = f"all of {database}" if database else "every database"
    return _Hidden(
        f"; the server shows only what the user may read, and the user may not read {place}",
        f"{grant(checked.config)}. If the rights are as intended, the names may be wrong. ",
    )


def all_collections(checked: Checked) -> Iterator[CheckedCollection]:
    """The collections of databases that may be captured, as far as the user may list them."""
    for database in sorted(checked.client.list_database_names()):
        if not checked.namespaces.takes_database(database):
            continue
        listed = checked.client[database].list_collections(authorizedCollections=True)
        for collection in sorted(listed, key=lambda collection: collection["name"]):
            if not collection["name"].startswith("system."):
                images = collection.get("options", {}).get("changeStreamPreAndPostImages", {})
                stored = collection.get("type", STORED) == STORED
                yield CheckedCollection(
                    database, collection["name"], bool(images.get("enabled")), stored
                )


def _check_limit(checked: Checked, count: int) -> None:
    limit = checked.config.guardrail_collections_max
    if limit and count > limit:
        fails = checked.config.guardrail_collections_limit_action == "fail"
        checked.findings.add(
            "mongodb.too_many_collections",
            "error" if fails else "warning",
            f"{count} collections are captured; guardrail.collections.max is {limit}",
            "Narrow collection.include.list, or raise guardrail.collections.max.",
        )


def _check_entries(checked: Checked, kind: str, everything: list[CheckedCollection]) -> None:
    """Warn of include list entries that match no name; `kind` is database or collection."""
    if kind == "database":
        names = {collection.database for collection in everything}
    else:
        names = {collection.namespace for collection in everything}
    for entry in checked.config.names_in(f"{kind}.include.list"):
        if checked.config.namespaces_are_literal:
            matches = entry in names
        else:
            matches = any(map(NameFilter((entry,)).accepts, names))
        if not matches:
            hidden = _hidden(checked)
            meant = None
            if not checked.config.namespaces_are_literal:
                meant = _longer_expression(entry, kind, names)
            guess = (
                f", because it has to match the whole name; did you mean {meant}?" if meant else ""
            )
            checked.warn(
                "unmatched_entry",
                f"{kind}.include.list: {entry} matches no {kind}{guess or hidden.what}",
                f"Write {meant}."
                if meant
                else f"{hidden.remedy}Check the spelling; filters.match.mode says whether entries "
                "are names or regular expressions of the whole name.",
            )


def _longer_expression(entry: str, kind: str, names: set[str]) -> str | None:
    """An expression that extends `entry` and matches existing names, None without one."""
    longer = [f"{entry}.*"]
    if kind == "collection":
        longer.insert(0, f"{entry}[.].*")
    if entry.endswith("*"):
        longer.insert(0, f"{entry[:-1]}.*")
    for expression in longer:
        with suppress(ValueError):
            if any(map(NameFilter((expression,)).accepts, names)):
                return expression
    return None


def check_names(checked: Checked) -> None:
    """Check whether events of all collections can be distinguished."""
    paths = [(collection.database, collection.name) for collection in checked.collections]
    config = checked.config
    topics, names = topic_names(config), name_adjustment(config)
    for clash in name_clashes(paths, topics, names, SCHEMA_PARTS):
        checked.warn("shared_name", str(clash), clash.remedy)


def check_filters(checked: Checked) -> None:
    """Check whether the server accepts the snapshot's filters, which a continuing stream does not
    need. Reads no documents. Raises HeadraceError."""
    level: Level = "warning" if checked.rule.goes_on(checked.stored) else "error"
    filters = overrides(checked.config)
    for collection in _read_collections(checked):
        condition = filters.get(collection.namespace)
        if condition is None:
            continue
        with checked.asking(f"Looking at the filter of {collection.namespace}"):
            try:
                check_filter(checked.client, Place(collection.database, collection.name), condition)
            except OperationFailure as error:
                if error.code != _BAD_VALUE:
                    raise
                why = diagnose(error, checked.config, f"Reading {collection.namespace}").message
                checked.findings.add_error(refused(collection.namespace, why), level)
    captured = {collection.namespace for collection in checked.collections}
    for name in checked.config.snapshot_collection_filter_overrides:
        if name not in captured:
            checked.warn(
                "unmatched_filter",
                f"snapshot.collection.filter.overrides names no captured collection: {name}",
                f"Correct the name, and set snapshot.collection.filter.overrides.{name}.",
            )
        elif name not in filters:
            checked.warn(
                "unmatched_filter",
                f"snapshot.collection.filter.overrides names {name}, but "
                f"snapshot.collection.filter.overrides.{name} is not set",
                "Set it, or remove the name.",
            )


def check_reading(checked: Checked) -> None:
    """Check whether the snapshot can read the collections and views, after `check_filters`."""
    filters = overrides(checked.config)
    for collection in _read_collections(checked):
        raw = filters.get(collection.namespace)
        selection = None if raw is None else RawBSONDocument(raw)
        with checked.asking(f"Reading {collection.namespace}"):
            try:
                # Read raw, as the snapshot does: Python may have no value for an `_id`.
                documents = checked.client[collection.database][collection.name]
                batches = cast("Iterator[bytes]", documents.find_raw_batches(selection, limit=1))
                document_images(b"".join(batches), collection.namespace)
            except OperationFailure as error:
                if error.code != _BAD_VALUE or raw is None:
                    raise  # `check_filters` reports filters
    if checked.collections:
        checked.ok("find", "The captured collections can be read")


def _read_collections(checked: Checked) -> list[CheckedCollection]:
    chosen = checked.config.snapshot_filter()
    return [
        collection for collection in checked.collections if chosen.accepts(collection.namespace)
    ]


def check_images(checked: Checked) -> None:
    """Check whether collections keep the images that `capture.mode` requests."""
    config = checked.config
    before = config.capture_mode.pre_image
    after = (
        config.capture_mode.full_update
        and config.capture_mode_full_update_type is FullUpdateType.POST_IMAGE
    )
    if not before and not after:
        return
    option = "capture.mode" if before else "capture.mode.full.update.type"
    value = config.capture_mode if before else config.capture_mode_full_update_type
    if checked.server.version < IMAGES:
        checked.refuse(
            "no_images",
            f"{option}={value} needs MongoDB 6; this is {checked.server.version_text}",
            "Choose another capture.mode, and capture.mode.full.update.type=lookup.",
        )
        return
    # Signals are inserts, and views have no changes.
    captured = [
        collection
        for collection in checked.collections
        if collection.is_stored and collection.namespace != config.signal_data_collection
    ]
    without = [collection for collection in captured if not collection.images]
    for collection in without:
        checked.warn(
            "no_images",
            f"{collection.namespace} keeps no images: those that {option}={value} requests will "
            "be null",
            f"db.getSiblingDB({json.dumps(collection.database)}).runCommand({{collMod: "
            f"{json.dumps(collection.name)}, changeStreamPreAndPostImages: {{enabled: true}}}})",
        )
    if captured and not without:
        checked.ok("images", "The captured collections keep images of their documents")
