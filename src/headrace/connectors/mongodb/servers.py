"""The servers of a connection string."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bson.binary import UuidRepresentation
from bson.codec_options import CodecOptions
from bson.timestamp import Timestamp
from pymongo.client_session import ClientSession
from pymongo.errors import OperationFailure, PyMongoError

from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import Client, diagnose, greet
from headrace.connectors.mongodb.errors import NOT_A_REPLICA_SET, answered, is_atlas, place
from headrace.errors import HeadraceError

_STANDARD: CodecOptions[dict[str, Any]] = CodecOptions(
    uuid_representation=UuidRepresentation.STANDARD
)
_THROUGH_MONGOS = ("Sharded", "LoadBalanced")
IMAGES = (6, 0)
"""The first version in which collections can keep images of documents before and after a change."""


@dataclass(frozen=True)
class ServerFacts:
    """The version and replica set of a server; `replica_set` is None for a sharded cluster."""

    version: tuple[int, int, int]
    replica_set: str | None

    @property
    def version_text(self) -> str:
        return ".".join(map(str, self.version))


def read_server(client: Client, config: MongoConfig) -> ServerFacts:
    """Read the facts of a server. Raises HeadraceError if it has no change streams, or if Debezium
    would refuse the connection string: `mongodb.not_a_replica_set`, `mongodb.replica_set_name`; and
    as `diagnose`."""
    hello = greet(client, config)
    try:
        version = client.admin.command("buildInfo")["versionArray"]
    except PyMongoError as error:
        raise diagnose(error, config) from None
    facts = ServerFacts(tuple(version[:3]), hello.get("setName"))
    if facts.replica_set is None and hello.get("msg") != "isdbgrid":
        raise answered(NOT_A_REPLICA_SET, config, "")
    string = config.mongodb_connection_string
    if facts.replica_set is not None and not string.is_srv and string.replica_set is None:
        raise HeadraceError(
            "mongodb.replica_set_name",
            f"{place(config)} is the replica set {facts.replica_set}, which "
            "mongodb.connection.string does not name",
            f"Add ?replicaSet={facts.replica_set}, or &replicaSet={facts.replica_set} after other "
            "options.",
        )
    return facts


def atlas_facts(config: MongoConfig, server: ServerFacts) -> list[str]:
    """The facts that show that Atlas runs the cluster: the names of its host and of its replica
    set."""
    facts = [f"host {config.mongodb_connection_string.place}"] if is_atlas(config) else []
    name = server.replica_set or ""
    return [*facts, f"replica set {name}"] if name.startswith("atlas-") else facts


def operation_time(client: Client, session: ClientSession | None = None) -> Timestamp:
    """The time of the last operation of the primary, or of any shard. Later reads of the session
    see everything up to then, whichever server they use. Raises the driver's errors."""
    reply = client.admin.command("ping", session=session)
    if client.topology_description.topology_type_name in _THROUGH_MONGOS:
        # A ping reaches no shard, and another mongos may know of later operations.
        reply = client.admin.command("listDatabases", nameOnly=True, session=session)
    time: Timestamp = reply["operationTime"]
    return time


def cluster_identity(client: Client) -> str:
    """The permanent identity of a cluster, the same on all of its servers: the UUID of the
    collection that stores its version. Reading it needs the right to read the database admin; empty
    without."""
    try:
        reply = client.admin.command(
            "listCollections", filter={"name": "system.version"}, codec_options=_STANDARD
        )
    except OperationFailure:
        return ""
    uuids = [document.get("info", {}).get("uuid") for document in reply["cursor"]["firstBatch"]]
    return str(uuids[0]) if uuids and uuids[0] is not None else ""
