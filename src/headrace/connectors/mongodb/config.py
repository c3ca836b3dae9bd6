"""The MongoDB connector's properties. Names and defaults are Debezium's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from headrace.config.finding import PropertyFinding
from headrace.config.kinds import COMMA_LIST, TEXT, choice, integer
from headrace.config.properties.compatibility import TableIdentityConfig
from headrace.config.properties.connector import ConnectorConfig
from headrace.config.properties.modes import FailureHandlingMode
from headrace.config.properties.without_history import WithoutHistoryConfig
from headrace.config.property import Family, Group, Property, not_needed, refused
from headrace.config.regex import compile_java_regex, split_regex_list
from headrace.connectors.mongodb.properties.capture import MongoCaptureConfig
from headrace.connectors.mongodb.properties.connection import MongoConnectionConfig
from headrace.connectors.mongodb.properties.json_texts import sendable
from headrace.connectors.mongodb.properties.modes import (
    CaptureScope,
    MatchMode,
    OversizeHandling,
)
from headrace.debezium.naming.names import NameAdjustmentMode
from headrace.debezium.naming.topics import TOPIC_NAMING_CLASSES, TopicNamingStrategy

_LISTS = (
    "database.include.list",
    "database.exclude.list",
    "collection.include.list",
    "collection.exclude.list",
)
# In Debezium's Default… strategies, the database of a collection takes the schema's place.
_WITH_DATABASE = {
    name.replace("Schema", "Default"): strategy
    for short, strategy in TOPIC_NAMING_CLASSES.items()
    for name in (short, strategy)
    if short.startswith("Schema")
}
_NAME = re.compile(r"[\w-]+")
# A literal database name, or one in a regular expression, before a literal or escaped dot.
_DATABASE = re.compile(r"([\w-]+)(?:\.|\\\.|\[\.\])")
_COLLECTION = re.compile(r"[^.]+\..+", re.DOTALL)
_NAMES = (
    "Correct it: the name of a database has 63 bytes at most and none of "
    """the signs / \\ . " $ and space, that of a collection no $, and no dot at its ends."""
)
_LONGEST_DATABASE = 63
_NO_DATABASE = re.compile(r'[/\\. "$\0]')
_NO_COLLECTION = re.compile(r"[$\0]|\.\.|^\.|\.$|^$")


class MongoConfig(
    MongoConnectionConfig,
    MongoCaptureConfig,
    WithoutHistoryConfig,
    TableIdentityConfig,
    ConnectorConfig,
):
    """Debezium's MongoDB connector, version 3.x."""

    cloud_event_identity: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "name"),
        ("ts", "ts_ms"),
        ("ord", "ord"),
    )

    password_property: ClassVar[str] = "mongodb.password"  # noqa: S105 - its name

    exclusive: ClassVar[tuple[tuple[str, str], ...]] = MongoCaptureConfig.exclusive

    topic_naming_strategy = Property(
        "topic.naming.strategy",
        choice(TopicNamingStrategy, aliases={**TOPIC_NAMING_CLASSES, **_WITH_DATABASE}),
        "io.debezium.schema.DefaultTopicNamingStrategy",
        Group.TOPICS,
        "How topics are named: `<prefix>.<database>.<collection>`, by each of them.",
    )
    snapshot_fetch_size = Property(
        "snapshot.fetch.size",
        integer(0),
        "0",
        Group.SNAPSHOT,
        "Documents per batch of a snapshot's cursors; 0 is the server's default.",
    )
    snapshot_collection_filter_overrides = Property(
        "snapshot.collection.filter.overrides",
        COMMA_LIST,
        "",
        Group.SNAPSHOT,
        "Collections (database.collection) of which the snapshot reads a part.",
    )
    snapshot_collection_filter_overrides_options = Family(
        "snapshot.collection.filter.overrides.COLLECTION",
        TEXT,
        Group.SNAPSHOT,
        "The filter, in JSON as for `find`, of a collection of "
        "snapshot.collection.filter.overrides.",
        pattern=r"snapshot\.collection\.filter\.overrides\.(.+)",
        alias_of=("snapshot.collection.filter.overrides",),
    )
    signal_data_collection = Property(
        "signal.data.collection",
        TEXT,
        None,
        Group.SIGNALS,
        "The signal collection, `database.collection`.",
    )

    post_processors = Property(
        "post.processors",
        COMMA_LIST,
        "",
        Group.VALUES,
        "Aliases of post-processors.",
        status=refused("they apply to columns of tables"),
    )
    field_name_adjustment_mode = Property(
        "field.name.adjustment.mode",
        choice(NameAdjustmentMode),
        "none",
        Group.VALUES,
        "Adjusts field names to Avro.",
        status=not_needed("documents are texts, in which names do not change"),
    )
    event_converting_failure_handling_mode = Property(
        "event.converting.failure.handling.mode",
        choice(FailureHandlingMode),
        "warn",
        Group.VALUES,
        "The result of a value that cannot be converted.",
        status=not_needed("Extended JSON has a text for every value"),
    )

    @property
    def namespaces_are_literal(self) -> bool:
        """Whether the lists of databases and collections hold names, not expressions."""
        return self.filters_match_mode is MatchMode.LITERAL

    def names_in(self, name: str) -> tuple[str, ...]:
        r"""The entries of one of the four lists, e.g. of "database.include.list": names, in which
        `\,` is a literal comma, or regular expressions."""
        text = {
            "database.include.list": self.database_include_list,
            "database.exclude.list": self.database_exclude_list,
            "collection.include.list": self.collection_include_list,
            "collection.exclude.list": self.collection_exclude_list,
        }[name]
        if self.namespaces_are_literal:
            parts = re.split(r"(?<!\\),", text)
            return tuple(part.replace("\\,", ",").strip() for part in parts if part.strip())
        return tuple(split_regex_list(text))

    def target(self) -> tuple[str | None, str | None]:
        """The database and collection that the change stream is opened on; None: all of them."""
        if self.capture_scope is CaptureScope.DEPLOYMENT or self.capture_target is None:
            return None, None
        database, _, collection = self.capture_target.partition(".")
        return database, collection if self.capture_scope is CaptureScope.COLLECTION else None

    def only_database(self) -> str | None:
        """The database of all captured collections, if the include lists name exactly one."""
        entries = self.names_in("database.include.list")
        names = {entry if _NAME.fullmatch(entry) else None for entry in entries}
        if not entries:
            heads = map(_DATABASE.match, self.names_in("collection.include.list"))
            names = {head and head[1] for head in heads}
        return names.pop() if len(names) == 1 else None

    def snapshot_filters(self) -> dict[str, str]:
        """The filters of snapshot.collection.filter.overrides by `database.collection`, in the JSON
        of MongoDB's shell."""
        filters = {
            member.variables[0]: member.value
            for member in self.snapshot_collection_filter_overrides_options
        }
        listed = self.snapshot_collection_filter_overrides
        return {name: filters[name] for name in listed if name in filters}

    @property
    def without_documents(self) -> str:
        mode = self.capture_mode
        return "" if mode.full_update else f"capture.mode={mode}"

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        yield from self._check_snapshot_filters()
        yield from self._check_lists()
        yield from self._check_scope()
        yield from self._check_stores()
        yield from self._check_signal_collection()
        yield from self._check_format()
        if (
            self.cursor_oversize_handling_mode is OversizeHandling.SKIP
            and self.cursor_oversize_skip_threshold == 0
        ):
            yield PropertyFinding(
                "config.missing",
                "cursor.oversize.skip.threshold",
                "cursor.oversize.handling.mode=skip needs cursor.oversize.skip.threshold, a number "
                "of bytes above 0",
                "Set it to the size of the largest document that is to come, 8000000 for example.",
            )

    def _check_snapshot_filters(self) -> Iterator[PropertyFinding]:
        for member in self.snapshot_collection_filter_overrides_options:
            name = f"snapshot.collection.filter.overrides.{member.variables[0]}"
            try:
                problem = ""
                if not isinstance(sendable(member.value), dict):
                    problem = "it is not a document"
            except ValueError as error:
                problem = str(error)
            if problem:
                yield PropertyFinding(
                    "config.impossible_value",
                    name,
                    f"{name}: expected a filter as find takes it, in JSON ({problem})",
                    'Write a document, for example {"region": "EU"}.',
                )

    def _check_lists(self) -> Iterator[PropertyFinding]:
        for name in _LISTS:
            for entry in self.names_in(name):
                if self.namespaces_are_literal:
                    problem = _bad_literal(name, entry)
                else:
                    problem = _bad_expression(entry)
                if problem:
                    yield PropertyFinding(
                        "config.impossible_value",
                        name,
                        f"{name}: {problem}",
                        "Write names separated by commas; filters.match.mode says whether they are "
                        "regular expressions.",
                    )

    def _check_scope(self) -> Iterator[PropertyFinding]:
        scope, target = self.capture_scope, self.capture_target
        if scope is CaptureScope.DEPLOYMENT:
            return
        form = "database" if scope is CaptureScope.DATABASE else "database.collection"
        if target is None:
            yield PropertyFinding(
                "config.missing",
                "capture.target",
                f"capture.scope={scope} needs capture.target",
                f"Set capture.target to the {form} whose changes are captured.",
            )
        elif scope is CaptureScope.COLLECTION and not _COLLECTION.fullmatch(target):
            yield PropertyFinding(
                "config.impossible_value",
                "capture.target",
                f"capture.target = {target!r}: capture.scope=collection expects "
                "database.collection",
                "Write database and collection with a dot between them.",
            )
        elif not _is_name(target, scope):
            yield PropertyFinding(
                "config.impossible_value",
                "capture.target",
                f"capture.target = {target!r}: MongoDB does not allow this name for a {scope}",
                _NAMES,
            )

    def _check_stores(self) -> Iterator[PropertyFinding]:
        stores = (
            ("mongodb.ssl.keystore", self.mongodb_ssl_keystore_type),
            ("mongodb.ssl.truststore", self.mongodb_ssl_truststore_type),
        )
        for name, kind in stores:
            if kind == "JKS":
                yield PropertyFinding(
                    "config.not_supported",
                    f"{name}.type",
                    f"{name}.type = 'JKS' is not supported: only Java reads that format",
                    "keytool -importkeystore -srckeystore FILE -destkeystore FILE.p12 "
                    f"-deststoretype PKCS12; and set {name} to FILE.p12.",
                )

    def _check_signal_collection(self) -> Iterator[PropertyFinding]:
        name = self.signal_data_collection
        if name is None:
            return
        if not _COLLECTION.fullmatch(name):
            yield PropertyFinding(
                "config.impossible_value",
                "signal.data.collection",
                f"signal.data.collection = {name!r}: expected database.collection",
                "Write database and collection with a dot between them.",
            )
        elif not _is_name(name, CaptureScope.COLLECTION):
            yield PropertyFinding(
                "config.impossible_value",
                "signal.data.collection",
                f"signal.data.collection = {name!r}: MongoDB does not allow this name for a "
                f"collection",
                _NAMES,
            )

    def _check_format(self) -> Iterator[PropertyFinding]:
        string = self.mongodb_connection_string
        if self.event_format_version != "2.5" or string is None or string.is_srv:
            return
        if string.replica_set is None:
            yield PropertyFinding(
                "config.missing",
                "mongodb.connection.string",
                "event.format.version=2.5 needs replicaSet= in mongodb.connection.string: the "
                "events of that version name the replica set",
                "Add ?replicaSet=NAME (rs.status().set in mongosh), or &replicaSet=NAME.",
            )


def _is_name(target: str, scope: CaptureScope) -> bool:
    """Whether a database, or a collection, may have this name."""
    database, _, collection = target.partition(".")
    if scope is CaptureScope.DATABASE:
        database, collection = target, "any"
    if not database or len(database.encode()) > _LONGEST_DATABASE or _NO_DATABASE.search(database):
        return False
    return not _NO_COLLECTION.search(collection)


def _bad_expression(entry: str) -> str:
    try:
        compile_java_regex(entry)
    except ValueError as error:
        return str(error)
    return ""


def _bad_literal(name: str, entry: str) -> str:
    if name.startswith("collection.") and not _COLLECTION.fullmatch(entry):
        return f"{entry!r} is not of the form database.collection"
    return ""
