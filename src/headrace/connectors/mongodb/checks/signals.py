"""Whether signals can be heard, and the signal collection be written."""

from __future__ import annotations

from headrace.connectors.mongodb.checks.state import Checked
from headrace.connectors.mongodb.errors import grant_roles, role_on
from headrace.connectors.mongodb.signal_collection import create_command


def check_signals(checked: Checked) -> None:
    """Looks at `signal.data.collection`, where it is set and signals come from it."""
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
            f"The signal collection {name} is not there",
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
        checked.ok("signal_collection", f"The signal collection {name} is there")
