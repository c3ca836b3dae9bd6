"""The common objects of one run of the connector."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from pymongo.errors import PyMongoError

from headrace.config.properties.modes import TableIdentity
from headrace.connect.encoding import Encoding
from headrace.connect.slices import Plan
from headrace.connectors.mongodb.capture.namespaces import Namespaces
from headrace.connectors.mongodb.capture.pipeline import change_stream_pipeline
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import Client, connect, diagnose
from headrace.connectors.mongodb.events import SCHEMA_PARTS, CollectionFacts, MongoSource
from headrace.connectors.mongodb.properties.fields import rules_of
from headrace.connectors.mongodb.properties.modes import FullUpdateType, JsonMode, KeyFormat
from headrace.connectors.mongodb.servers import operation_time
from headrace.connectors.mongodb.streaming.cursor import ChangeStream, ChangeStreamCursor, OneServer
from headrace.connectors.mongodb.streaming.progress import StreamProgress
from headrace.connectors.naming import topic_names
from headrace.connectors.record_options import event_settings
from headrace.connectors.waiting import Waiting
from headrace.debezium.naming.clashes import name_clashes
from headrace.debezium.naming.topics import TopicNames
from headrace.documents.fields import FieldRules
from headrace.errors import HeadraceError
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.facts import EventSettings

log = logging.getLogger(__name__)

_LONGEST_AWAIT_MS = 1000

# The dialects of before and after, and of updatedFields.
_DIALECTS = {
    JsonMode.LEGACY: (Encoding.EXTENDED_JSON_LEGACY, Encoding.EXTENDED_JSON_RELAXED_SPACED),
    JsonMode.STRICT: (Encoding.EXTENDED_JSON_STRICT, Encoding.EXTENDED_JSON_STRICT),
    JsonMode.EXTENDED: (Encoding.EXTENDED_JSON_CANONICAL, Encoding.EXTENDED_JSON_CANONICAL),
    JsonMode.RELAXED: (Encoding.EXTENDED_JSON_RELAXED, Encoding.EXTENDED_JSON_RELAXED),
}
_KEY_DIALECTS = {
    KeyFormat.RELAXED: Encoding.EXTENDED_JSON_RELAXED,
    KeyFormat.SEED_V1: Encoding.EXTENDED_JSON_MANUAL,
}


@dataclass(frozen=True)
class Run:
    """The compiled configuration of a run. `inline`: slices carry their bytes."""

    config: MongoConfig
    plan: Plan
    waiting: Waiting
    inline: bool
    settings: EventSettings
    namespaces: Namespaces
    topics: TopicNames
    named: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """The collections that have had events, by the prefix of their schemas' names."""

    @staticmethod
    def of(config: MongoConfig, plan: Plan, waiting: Waiting, *, inline: bool) -> Run:
        """Compile a configuration. Raises HeadraceError."""
        settings = event_settings(EventSettings, config, mongo_source(config))
        return Run(config, plan, waiting, inline, settings, Namespaces(config), topic_names(config))

    @property
    def key_rendering(self) -> KeyRendering:
        """The rendering of keys."""
        return KeyRendering.of(self.settings, self.config)

    def captures(self, database: str, collection: str) -> bool:
        """Whether the events of a collection are captured."""
        return self.namespaces.takes(database, collection)

    @property
    def identifies(self) -> bool:
        """Whether collections are distinguished by their UUIDs (headrace.table.identity)."""
        return self.config.headrace_table_identity is TableIdentity.ID

    def facts(self, database: str, collection: str, own_id: str = "") -> CollectionFacts:
        """The facts of a captured collection, with its UUID if UUIDs distinguish collections.
        Warns, once, if its events cannot be distinguished from another collection's."""
        path, topics, names = (database, collection), self.topics, self.settings.names
        topic = topics.data(*path)
        others = self.named.setdefault(names.schema(topic), [])
        if path not in others:
            for clash in name_clashes([*others[:1], path], topics, names, SCHEMA_PARTS):
                log.warning("%s. %s", clash, clash.remedy)
            others.append(path)
        is_old = not self.settings.format.precise_times
        replica_set = self.config.mongodb_connection_string.replica_set if is_old else None
        return CollectionFacts(
            topic,
            database,
            collection,
            replica_set=replica_set or "",
            own_id=own_id if self.identifies else "",
        )

    def fields(self, database: str, collection: str) -> FieldRules:
        """The field rules for the documents of a collection: excludes before renames."""
        config = self.config
        rules = (*config.field_exclude_list, *config.field_renames)
        return rules_of(rules, database, collection)

    def client(self) -> Client:
        """Return a new client, which the caller closes."""
        return connect(self.config)

    def cursor(self, progress: StreamProgress | None = None) -> ChangeStreamCursor:
        """See `stream_cursor`."""
        return stream_cursor(self.config, progress)

    def log_end(self, client: Client) -> int:
        """The place after the last operation; see `servers.operation_time`."""
        time = operation_time(client)
        return ((time.time << 32 | time.inc) + 1) << 64

    def translate(self, error: PyMongoError, doing: str = "") -> HeadraceError:
        """The HeadraceError of a driver's error; `doing` is the attempt."""
        return diagnose(error, self.config, doing)


def mongo_source(config: MongoConfig) -> MongoSource:
    """The source block and the dialects of a configuration."""
    documents, updated_fields = _DIALECTS[config.json_serialization_mode]
    return MongoSource(
        config.mongodb_connection_string.replica_set or "",
        documents,
        updated_fields,
        _KEY_DIALECTS[config.key_json_format],
    )


def stream_cursor(
    config: MongoConfig, progress: StreamProgress | None = None
) -> ChangeStreamCursor:
    """Return a change stream as configured, not opened yet, which reports to `progress`."""

    def pinned(server: OneServer) -> Client:
        return connect(config, server_selector=server)

    return ChangeStreamCursor(pinned, change_stream(config), progress)


def change_stream(config: MongoConfig) -> ChangeStream:
    """The target, pipeline and options of the configured change stream."""
    mode, options = config.capture_mode, {}
    if mode.full_update:
        looks_up = config.capture_mode_full_update_type is FullUpdateType.LOOKUP
        options["fullDocument"] = "updateLookup" if looks_up else "whenAvailable"
    if mode.pre_image:
        options["fullDocumentBeforeChange"] = "whenAvailable"
    database, collection = config.target()
    return ChangeStream(
        database,
        collection,
        change_stream_pipeline(config),
        options,
        config.cursor_max_await_time_ms or _LONGEST_AWAIT_MS,
    )
