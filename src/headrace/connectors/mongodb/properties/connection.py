"""Properties of the connection to MongoDB."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import (
    BOOLEAN,
    JAVA_CLASS,
    PATH,
    SECRET,
    TEXT,
    ValueKind,
    milliseconds,
    one_of,
)
from headrace.config.property import (
    REQUIRED,
    Family,
    Group,
    Property,
    Successor,
    not_needed,
    refused,
)
from headrace.connectors.mongodb.connection_string import (
    ConnectionString,
    parse_connection_string,
    string_of_hosts,
)

CONNECTION_STRING: ValueKind[ConnectionString] = ValueKind(
    "a connection string, mongodb://… or mongodb+srv://…, in which user and password are "
    "percent-encoded, each port is a number and each option is name=value",
    parse_connection_string,
    is_secret=True,
    from_source=ConnectionString.from_source,
)
_IN_THE_STRING = not_needed(
    "mongodb.connection.string names hosts, and the driver finds the others"
)
_RETRIES = not_needed("the driver tries to connect for mongodb.server.selection.timeout.ms")
_STORE = one_of("PKCS12", "PEM", "JKS")


class MongoConnectionConfig(Configuration):
    """The properties `mongodb.*`; the connection string takes precedence over the others."""

    mongodb_connection_string = Property(
        "mongodb.connection.string",
        CONNECTION_STRING,
        REQUIRED,
        Group.CONNECTION,
        "Hosts and options, as for MongoDB's drivers; for a replica set with `replicaSet=`, for a "
        "sharded cluster the mongos. Its options take precedence over the properties below.",
        formerly=("mongodb.uri", "mongodb.url", "connection.string", "connection.uri"),
    )
    mongodb_user = Property(
        "mongodb.user",
        TEXT,
        None,
        Group.CONNECTION,
        "The user, if the connection string names none.",
        formerly=("mongodb.username",),
    )
    mongodb_password = Property(
        "mongodb.password",
        SECRET,
        None,
        Group.CONNECTION,
        "The user's password; a reference such as ${env:NAME} keeps it out of files.",
    )
    mongodb_authsource = Property(
        "mongodb.authsource",
        TEXT,
        "admin",
        Group.CONNECTION,
        "The database in which the user is defined.",
    )
    mongodb_authentication_class = Property(
        "mongodb.authentication.class",
        JAVA_CLASS,
        "io.debezium.connector.mongodb.connection.DefaultMongoDbAuthProvider",
        Group.CONNECTION,
        "Gives the credentials.",
        status=refused(
            "headrace cannot load Java classes; other mechanisms are named in the connection "
            "string (authMechanism)"
        ),
    )
    mongodb_ssl_enabled = Property(
        "mongodb.ssl.enabled",
        BOOLEAN,
        "false",
        Group.CONNECTION,
        "Encrypts connections, unless the connection string says otherwise.",
    )
    mongodb_ssl_invalid_hostname_allowed = Property(
        "mongodb.ssl.invalid.hostname.allowed",
        BOOLEAN,
        "false",
        Group.CONNECTION,
        "Whether the server's certificate may name another host.",
    )
    mongodb_ssl_keystore = Property(
        "mongodb.ssl.keystore",
        PATH,
        None,
        Group.CONNECTION,
        "File with the client's certificate and its private key.",
    )
    mongodb_ssl_keystore_password = Property(
        "mongodb.ssl.keystore.password",
        SECRET,
        None,
        Group.CONNECTION,
        "Password of the file mongodb.ssl.keystore.",
    )
    mongodb_ssl_keystore_type = Property(
        "mongodb.ssl.keystore.type",
        _STORE,
        "PKCS12",
        Group.CONNECTION,
        "Format of the file mongodb.ssl.keystore; PEM needs no additional package.",
        refused_values=("JKS",),
    )
    mongodb_ssl_truststore = Property(
        "mongodb.ssl.truststore",
        PATH,
        None,
        Group.CONNECTION,
        "File with the certificates that sign the server's; by default those of the system.",
    )
    mongodb_ssl_truststore_password = Property(
        "mongodb.ssl.truststore.password",
        SECRET,
        None,
        Group.CONNECTION,
        "Password of the file mongodb.ssl.truststore.",
    )
    mongodb_ssl_truststore_type = Property(
        "mongodb.ssl.truststore.type",
        _STORE,
        "PKCS12",
        Group.CONNECTION,
        "Format of the file mongodb.ssl.truststore.",
        refused_values=("JKS",),
    )
    mongodb_connect_timeout_ms = Property(
        "mongodb.connect.timeout.ms",
        milliseconds(),
        "10000",
        Group.CONNECTION,
        "Limit for opening a connection to a server; 0 is no limit.",
    )
    mongodb_server_selection_timeout_ms = Property(
        "mongodb.server.selection.timeout.ms",
        milliseconds(),
        "30000",
        Group.CONNECTION,
        "Limit for finding a usable server.",
    )
    mongodb_socket_timeout_ms = Property(
        "mongodb.socket.timeout.ms",
        milliseconds(),
        "0",
        Group.CONNECTION,
        "Limit for an answer of the server; 0 is no limit.",
    )
    mongodb_heartbeat_frequency_ms = Property(
        "mongodb.heartbeat.frequency.ms",
        milliseconds(500),
        "10000",
        Group.CONNECTION,
        "How often the driver checks the servers' state; not related to heartbeat records.",
    )
    mongodb_poll_interval_ms = Property(
        "mongodb.poll.interval.ms",
        milliseconds(),
        "30000",
        Group.CONNECTION,
        "How often Debezium looks for members of the cluster.",
        status=not_needed("the driver follows the cluster"),
    )
    mongodb_connection_mode = Property(
        "mongodb.connection.mode",
        one_of("sharded", "replica_set"),
        "sharded",
        Group.CONNECTION,
        "How a sharded cluster was read up to Debezium 2.5.",
        status=refused("a sharded cluster is read as one stream, through its mongos"),
    )
    mongodb_connection_string_shard_params = Property(
        "mongodb.connection.string.shard.params",
        TEXT,
        None,
        Group.CONNECTION,
        "Options for the connections to single shards.",
        status=refused("a sharded cluster is read as one stream, through its mongos"),
    )
    internal_mongodb_allow_offset_invalidation = Property(
        "internal.mongodb.allow.offset.invalidation",
        BOOLEAN,
        "false",
        Group.CONNECTION,
        "Whether Debezium may drop positions of single shards.",
        status=not_needed("there are no positions of single shards"),
    )
    mongodb_hosts = Property(
        "mongodb.hosts",
        TEXT,
        None,
        Group.CONNECTION,
        "Hosts, up to Debezium 2.1.",
        status=_IN_THE_STRING,
        successor=Successor("mongodb.connection.string", string_of_hosts),
    )
    mongodb_name = Property(
        "mongodb.name",
        TEXT,
        None,
        Group.CONNECTION,
        "Name of the server, up to Debezium 1.9.",
        status=not_needed("topic.prefix names the server"),
        successor=Successor("topic.prefix"),
    )
    mongodb_members_auto_discover = Property(
        "mongodb.members.auto.discover",
        BOOLEAN,
        "true",
        Group.CONNECTION,
        "Whether Debezium looks for other members, up to Debezium 2.1.",
        status=_IN_THE_STRING,
    )
    connect_max_attempts = Property(
        "connect.max.attempts",
        TEXT,
        None,
        Group.CONNECTION,
        "Attempts to connect, up to Debezium 2.1.",
        status=_RETRIES,
    )
    connect_backoff = Family(
        "connect.backoff.*",
        TEXT,
        Group.CONNECTION,
        "Pauses between attempts to connect, up to Debezium 2.1.",
        status=_RETRIES,
        case_matters=False,
    )
    source_struct_version = Property(
        "source.struct.version",
        TEXT,
        None,
        Group.VALUES,
        "Form of the source block, up to Debezium 1.9.",
        status=not_needed("event.format.version sets the format of events"),
    )
