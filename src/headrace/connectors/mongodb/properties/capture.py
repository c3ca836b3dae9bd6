"""Properties: captured collections, the change stream, and the form of documents."""

from __future__ import annotations

from typing import ClassVar

from headrace.config.configuration import Configuration
from headrace.config.kinds import (
    LONG_MAX,
    TEXT,
    ValueKind,
    choice,
    duration,
    integer,
    milliseconds,
)
from headrace.config.property import Group, Property
from headrace.connectors.mongodb.properties.fields import (
    FieldRule,
    parse_excluded_fields,
    parse_renamed_fields,
)
from headrace.connectors.mongodb.properties.modes import (
    CaptureMode,
    CaptureScope,
    FullUpdateType,
    JsonMode,
    KeyFormat,
    MatchMode,
    OversizeHandling,
    PipelineOrder,
)
from headrace.connectors.mongodb.properties.stages import parse_stages
from headrace.documents.target_schema.sampling import SampleConflict

_EXCLUDED: ValueKind[tuple[FieldRule, ...]] = ValueKind(
    "database.collection.field,database.collection.field.nested", parse_excluded_fields
)
_RENAMED: ValueKind[tuple[FieldRule, ...]] = ValueKind(
    "database.collection.field:name,database.collection.field.nested:name", parse_renamed_fields
)
_PIPELINE: ValueKind[str] = ValueKind("a JSON array of aggregation stages", parse_stages)


class MongoCaptureConfig(Configuration):
    """Properties of collections, fields and operations, and of the change stream's cursor."""

    exclusive: ClassVar[tuple[tuple[str, str], ...]] = (
        ("database.include.list", "database.exclude.list"),
        ("collection.include.list", "collection.exclude.list"),
    )

    database_include_list = Property(
        "database.include.list",
        TEXT,
        "",
        Group.CAPTURED,
        "Databases, in the form that filters.match.mode sets; if it is empty, every database "
        "except admin, local and config, which are never captured.",
        formerly=("database.whitelist",),
    )
    database_exclude_list = Property(
        "database.exclude.list",
        TEXT,
        "",
        Group.CAPTURED,
        "Databases that are left out.",
        formerly=("database.blacklist",),
    )
    collection_include_list = Property(
        "collection.include.list",
        TEXT,
        "",
        Group.CAPTURED,
        "Collections, `database.collection`; if it is empty, every collection.",
        formerly=("collection.whitelist",),
    )
    collection_exclude_list = Property(
        "collection.exclude.list",
        TEXT,
        "",
        Group.CAPTURED,
        "Collections, `database.collection`, that are left out.",
        formerly=("collection.blacklist",),
    )
    filters_match_mode = Property(
        "filters.match.mode",
        choice(MatchMode),
        "regex",
        Group.CAPTURED,
        "How database.include.list, database.exclude.list, collection.include.list and "
        "collection.exclude.list are read: as regular expressions that match the whole name in "
        "any case, or as the names themselves, which costs the server far less.",
    )
    field_exclude_list = Property(
        "field.exclude.list",
        _EXCLUDED,
        "",
        Group.CAPTURED,
        "Fields that events leave out; `*` in database and collection matches any characters. "
        "Keys contain these fields.",
        formerly=("field.blacklist",),
    )
    field_renames = Property(
        "field.renames",
        _RENAMED,
        "",
        Group.CAPTURED,
        "Fields with another name in events: the last name of the path is replaced.",
    )
    capture_mode = Property(
        "capture.mode",
        choice(CaptureMode),
        "change_streams_update_full",
        Group.CAPTURED,
        "The content of changes: `update_full` has the document after an update, `pre_image` the "
        "one before a change.",
    )
    capture_mode_full_update_type = Property(
        "capture.mode.full.update.type",
        choice(FullUpdateType),
        "lookup",
        Group.CAPTURED,
        "Where the document of an update comes from: `lookup` reads its current state, "
        "`post_image` is the state after the change (MongoDB 6, collections that keep images).",
    )
    capture_scope = Property(
        "capture.scope",
        choice(CaptureScope),
        "deployment",
        Group.CAPTURED,
        "The scope of the change stream: all databases, one database, or one collection.",
    )
    capture_target = Property(
        "capture.target",
        TEXT,
        None,
        Group.CAPTURED,
        "With capture.scope: the database, or the collection as `database.collection`.",
    )
    capture_start_op_time = Property(
        "capture.start.op.time",
        integer(-1, LONG_MAX),
        "-1",
        Group.REPLICATION,
        "Where a first start begins in the oplog: a BSON timestamp as one number, seconds × 2³² + "
        "increment; -1 is now.",
    )
    cursor_pipeline = Property(
        "cursor.pipeline",
        _PIPELINE,
        "[]",
        Group.REPLICATION,
        "Your own stages in the change stream. They must not change `_id`, `ns`, `operationType` "
        "and `documentKey`.",
    )
    cursor_pipeline_order = Property(
        "cursor.pipeline.order",
        choice(PipelineOrder),
        "internal_first",
        Group.REPLICATION,
        "The place of the stages of cursor.pipeline; with `user_only` the server does not filter.",
    )
    cursor_oversize_handling_mode = Property(
        "cursor.oversize.handling.mode",
        choice(OversizeHandling),
        "fail",
        Group.REPLICATION,
        "Events above 16 MB: an error, left out by the size of their documents, or delivered in "
        "fragments (MongoDB 6.0.9 and 7).",
    )
    cursor_oversize_skip_threshold = Property(
        "cursor.oversize.skip.threshold",
        integer(0),
        "0",
        Group.REPLICATION,
        "With cursor.oversize.handling.mode=skip: the size in bytes above which a document's "
        "events are left out.",
    )
    cursor_max_await_time_ms = Property(
        "cursor.max.await.time.ms",
        milliseconds(),
        "0",
        Group.REPLICATION,
        "How long the server waits for events before it answers; 0 is its default, a second.",
    )
    headrace_oplog_watch_interval = Property(
        "headrace.oplog.watch.interval",
        duration(),
        "1 min",
        Group.HEADRACE,
        "How often the oplog's oldest entry is compared with the position; 0 is never.",
    )
    headrace_oplog_window_min = Property(
        "headrace.oplog.window.min",
        duration(),
        "1 h",
        Group.HEADRACE,
        "A warning is logged when the position is less than this away from the oplog's oldest "
        "entry.",
    )
    target_schema_sample_size = Property(
        "target.schema.sample.size",
        integer(1),
        "1000",
        Group.CONVERTERS,
        "The number of documents from which a schema is sampled, if one is requested: by "
        "ExtractNewDocumentState with target.schema=sampled, or by headrace.table.",
    )
    target_schema_sample_conflict = Property(
        "target.schema.sample.conflict",
        choice(SampleConflict),
        "string",
        Group.CONVERTERS,
        "The type of a field of a sampled schema whose values have no common type: text, VARIANT, "
        "or an error at the start.",
    )
    json_serialization_mode = Property(
        "json.serialization.mode",
        choice(JsonMode),
        "legacy",
        Group.VALUES,
        "Extended JSON of documents: version 1 in before and after and version 2 in updatedFields "
        "(`legacy`), version 1, or version 2 canonical (`extended`) or relaxed.",
    )
    key_json_format = Property(
        "key.json.format",
        choice(KeyFormat),
        "relaxed",
        Group.HEADRACE,
        "Spelling of keys: Extended JSON version 2, relaxed, as Debezium writes it, or version 1 "
        "as the manual of Debezium 2.5 shows it (`seed_v1`), in which int64 are bare numbers.",
    )
