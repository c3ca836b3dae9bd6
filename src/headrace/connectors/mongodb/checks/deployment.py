"""Checks that a deployment is ready for this connector: findings with remedies, no changes."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pymongo

from headrace.connectors.mongodb.checks.collections import (
    check_collections,
    check_filters,
    check_images,
    check_names,
    check_reading,
)
from headrace.connectors.mongodb.checks.oplog import check_oplog
from headrace.connectors.mongodb.checks.signals import check_signals
from headrace.connectors.mongodb.checks.state import Checked
from headrace.connectors.mongodb.checks.stream import check_stream
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import Client, connect
from headrace.connectors.mongodb.servers import atlas_facts, read_server
from headrace.findings import Findings, Preconditions
from headrace.offsets.offset import OffsetObject
from headrace.signals.checks import check_channels


def check(config: MongoConfig, stored: OffsetObject | None = None) -> Findings:
    """Check servers, user, collections, images and oplog; never raises for what it finds. `stored`
    is the offset that a checkpoint holds.

    It only reads, so the user of the connector suffices.
    """
    findings = Findings()
    findings.guard(lambda: _look(config, findings, stored, is_start=False))
    return findings


def require(config: MongoConfig, stored: OffsetObject | None) -> None:
    """Run the checks of `check` before a start opens anything, except for reading documents, which
    may take long and is left to the snapshot. Raises HeadraceError for the first error."""
    _look(config, Preconditions(), stored, is_start=True)


def _look(
    config: MongoConfig, findings: Findings, stored: OffsetObject | None, *, is_start: bool
) -> None:
    with connect(config) as client:
        with _limited(config.connection_validation_timeout_ms, client):
            server = read_server(client, config)
        kind = "a sharded cluster" if server.replica_set is None else (
            f"the replica set {server.replica_set}")  # fmt: skip
        findings.add("mongodb.version", "ok", f"MongoDB {server.version_text}, {kind}, answers")
        if facts := atlas_facts(config, server):
            findings.add("mongodb.managed", "ok", f"The cluster is Atlas's ({', '.join(facts)})")
        checked = Checked(config, client, findings, server, stored=stored)
        _check_deployment(checked, is_start=is_start)


def _limited(limit_ms: int, client: Client) -> AbstractContextManager[None]:
    """Limit commands in the context to `limit_ms` (0: no limit). `pymongo.timeout` replaces
    mongodb.server.selection.timeout.ms, which applies if it is shorter."""
    limits = (limit_ms / 1000, client.options.server_selection_timeout)
    return pymongo.timeout(min((limit for limit in limits if limit), default=None))


def _check_deployment(checked: Checked, *, is_start: bool) -> None:
    rule = checked.rule
    parts = [
        lambda: check_collections(checked),
        lambda: check_names(checked),
    ]
    if rule.ever_reads:
        parts.append(lambda: check_filters(checked))
        if not is_start:
            parts.append(lambda: check_reading(checked))
    if rule.streams:
        if not is_start:  # the watch of the oplog warns
            parts.append(lambda: check_oplog(checked))
        parts += [
            lambda: check_stream(checked),
            lambda: check_images(checked),
            lambda: check_signals(checked),
            lambda: check_channels(checked.config, checked.findings),
        ]
    else:
        checked.ok("documents_only", "Documents are read, changes are not")
    for part in parts:
        checked.findings.guard(part)
        if checked.findings[-1].code == "mongodb.authentication":
            return  # all other parts would report the same
