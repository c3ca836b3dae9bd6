"""Checks that signals can be read, and that the signal collection can be written."""

from __future__ import annotations

from headrace.connectors.mongodb.checks.collections import all_collections
from headrace.connectors.mongodb.checks.state import Checked
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import connect
from headrace.connectors.mongodb.errors import grant_roles, role_on
from headrace.connectors.mongodb.servers import read_server
from headrace.connectors.mongodb.signal_collection import create_command
from headrace.findings import Preconditions
from headrace.signals.sending import SignalTargets


def check_signals(checked: Checked) -> None:
    """Check `signal.data.collection`, if it is set and a source of signals."""
    config = checked.config
    name = config.signal_data_collection
    if name is None or "source" not in config.signal_enabled_channels:
        return
    database, _, collection = name.partition(".")
    if not checked.namespaces.in_scope(database, collection):
        checked.refuse(
            "signal_scope",
            f"The signal collection {name} lies outside of the change stream "
            f"(capture.scope={config.capture_scope}, capture.target={config.capture_target})",
            "Choose a signal collection inside, or capture.scope=deployment.",
        )
        return
    with checked.asking("Looking for the signal collection"):
        exists = collection in checked.client[database].list_collection_names()
        allowed = config.read_only or checked.may("insert", database, collection)
    if not exists:
        checked.warn(
            "signal_collection",
            f"The signal collection {name} does not exist",
            create_command(name),
        )
    elif not allowed:
        checked.warn(
            "signal_privilege",
            f"The user may not write into the signal collection {name}, so that incremental "
            "snapshots have no watermarks",
            f"{grant_roles(config, role_on(database, 'readWrite'))}; or read.only=true.",
        )
    else:
        checked.ok("signal_collection", f"The signal collection {name} exists")


def signal_targets(config: MongoConfig, name: str | None) -> SignalTargets:
    """See ConnectorDefinition.signal_targets; `name` is the signal collection. Raises
    HeadraceError("mongodb.signal_scope"), and errors of `read_server`. Whether the collection
    exists is checked when the signal is written."""
    with connect(config) as client:
        checked = Checked(config, client, Preconditions(), read_server(client, config))
        if name is not None:
            check_signals(checked)
        with checked.asking("Listing the collections"):
            everything = [
                collection for collection in all_collections(checked) if collection.is_stored
            ]
    captured = [
        collection.namespace
        for collection in everything
        if checked.namespaces.takes(collection.database, collection.name)
        and checked.namespaces.in_scope(collection.database, collection.name)
    ]
    return SignalTargets([collection.namespace for collection in everything], captured)
