"""The common state of the checks of a deployment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import pymongo
from pymongo.errors import PyMongoError

from headrace.connectors.mongodb.capture.namespaces import Namespaces
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import Client, diagnose
from headrace.connectors.mongodb.servers import ServerFacts
from headrace.findings import ConnectorChecks, Findings
from headrace.offsets.offset import OffsetObject
from headrace.snapshots.modes import SnapshotRule


class CheckedCollection(NamedTuple):
    """A captured collection; `images`: it keeps images of documents before and after changes. Views
    and time series are not `is_stored`: they are read, and have no changes."""

    database: str
    name: str
    images: bool
    is_stored: bool = True

    @property
    def namespace(self) -> str:
        return f"{self.database}.{self.name}"


@dataclass
class Checked(ConnectorChecks):
    """The deployment that is checked, for a start from the offset `stored` (None: without one).
    `collections` are the captured ones."""

    connector = "mongodb"

    config: MongoConfig
    client: Client
    findings: Findings
    server: ServerFacts
    collections: list[CheckedCollection] = field(default_factory=list)
    stored: OffsetObject | None = None

    def __post_init__(self) -> None:
        self.rule = SnapshotRule.of(self.config)
        self.namespaces = Namespaces(self.config)

    @contextmanager
    def asking(self, doing: str) -> Iterator[None]:
        """Limit commands to connection.validation.timeout.ms, and translate errors; `doing` names
        the attempt. Raises HeadraceError."""
        limit = self.config.connection_validation_timeout_ms
        try:
            with pymongo.timeout(limit / 1000 if limit else None):
                yield
        except PyMongoError as error:
            raise diagnose(error, self.config, doing) from None

    def may(self, action: str, database: str = "", collection: str = "") -> bool:
        """Whether the user may perform `action`, "insert" for example, on a collection; without
        names, on all collections. Raises PyMongoError."""
        login = self._login
        if not login["authenticatedUsers"]:
            return True  # a server without access control
        return any(
            action in privilege["actions"] and _covers(privilege["resource"], database, collection)
            for privilege in login["authenticatedUserPrivileges"]
        )

    @cached_property
    def _login(self) -> dict[str, Any]:
        status = self.client.admin.command("connectionStatus", showPrivileges=True)
        return dict(status["authInfo"])


def _covers(resource: dict[str, Any], database: str, collection: str) -> bool:
    if resource.get("anyResource"):
        return True
    return resource.get("db") in ("", database) and resource.get("collection") in ("", collection)
