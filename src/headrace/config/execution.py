"""Properties that Debezium does not have: ranges, spool, state, sinks, Kafka Connect's frame."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import (
    BOOLEAN,
    COMMA_LIST,
    PATH,
    TEXT,
    TRIGGER,
    choice,
    duration,
    integer,
    one_of,
    size,
)
from headrace.config.modes import SliceOrder, SliceTransport, SnapshotResume, UnknownProperties
from headrace.config.property import (
    Family,
    Group,
    PassThrough,
    Property,
    not_needed,
    planned,
    refused,
)

_SPARK_OFFSETS = not_needed("Spark's checkpoint keeps the offsets")
_NO_HISTORY = not_needed("this connector needs no schema history")
_WORKER = not_needed("it configures a Kafka Connect worker")


class ExecutionConfig(Configuration):
    """How headrace runs a connector in Spark, and what the frames around Debezium bring along."""

    headrace_range_max_bytes = Property(
        "headrace.range.max.bytes",
        size(1),
        "64MB",
        Group.HEADRACE,
        "Log bytes that one micro-batch takes at most (one row change may exceed it).",
    )
    headrace_range_max_rows = Property(
        "headrace.range.max.rows",
        integer(0),
        "0",
        Group.HEADRACE,
        "Records that one micro-batch takes at most; 0 is one for each 64 bytes of "
        "headrace.range.max.bytes, which only narrow rows reach.",
    )
    headrace_range_direct_max_bytes = Property(
        "headrace.range.direct.max.bytes",
        size(),
        "512kB",
        Group.HEADRACE,
        "Log bytes up to which the source process itself writes a range into the `file` sink, "
        "without a Spark task; 0: never.",
    )
    headrace_checkpoint_dir = Property(
        "headrace.checkpoint.dir",
        PATH,
        None,
        Group.HEADRACE,
        "Folder for checkpoint and state of `headrace run`, unless --checkpoint names one.",
    )
    headrace_spool_max_bytes = Property(
        "headrace.spool.max.bytes",
        size(1),
        "256MB",
        Group.HEADRACE,
        "Memory for log that is read ahead and not yet delivered, and for its index; never less "
        "than three ranges of log. One row change may exceed it.",
    )
    headrace_acknowledge_interval = Property(
        "headrace.acknowledge.interval",
        duration(),
        "10 s",
        Group.HEADRACE,
        "How long the position may lag on idle tables before an empty micro-batch moves it.",
    )
    headrace_slices = Property(
        "headrace.slices",
        integer(0, 65536),
        "0",
        Group.HEADRACE,
        "Slices, hence Spark tasks, per range; 0 is the number of cores.",
    )
    headrace_slice_order = Property(
        "headrace.slice.order",
        choice(SliceOrder),
        "key",
        Group.HEADRACE,
        "`key`: records of one key are in one slice; `position`: contiguous slices for a sink "
        "that orders by `sequence` itself.",
    )
    headrace_slice_transport = Property(
        "headrace.slice.transport",
        choice(SliceTransport),
        "auto",
        Group.HEADRACE,
        "How log bytes reach tasks: shared memory, inline (clusters), or chosen by the master.",
    )
    headrace_snapshot_chunk_bytes = Property(
        "headrace.snapshot.chunk.bytes",
        size(1),
        "32MB",
        Group.HEADRACE,
        "Size of a snapshot chunk that one task reads, estimated from the table's pages.",
    )
    snapshot_resume = Property(
        "snapshot.resume",
        choice(SnapshotResume),
        "chunks",
        Group.HEADRACE,
        "After a restart in mid-snapshot: go on with the next `chunks`, or `restart` as Debezium.",
    )
    headrace_trigger = Property(
        "headrace.trigger",
        TRIGGER,
        "0 ms",
        Group.HEADRACE,
        "Trigger of the command line's query: `availableNow` (ends with what was in the log when "
        "it started), or the least interval between micro-batches.",
        aliases={"once": "availableNow"},
    )
    headrace_compatibility = Property(
        "headrace.compatibility",
        one_of("none", "debezium-3.6"),
        "none",
        Group.HEADRACE,
        "Whose quirks to reproduce where headrace would render better.",
    )
    headrace_unknown_properties = Property(
        "headrace.unknown.properties",
        choice(UnknownProperties),
        "warn",
        Group.HEADRACE,
        "What to do about a property that nobody declared.",
    )
    event_format_version = Property(
        "event.format.version",
        one_of("current", "2.5"),
        "current",
        Group.HEADRACE,
        "Version of the event format: `2.5` is the envelope and source block of Debezium 2.3 to "
        "2.5, without context headers.",
    )
    headrace_sink_type = Property(
        "headrace.sink.type",
        TEXT,
        None,
        Group.SINK,
        "The command line's sink: `console`, `file`, or a Spark format name. Debezium Server's "
        "`debezium.sink.type` is the same.",
        formerly=("sink.type",),
    )
    headrace_sink = PassThrough(
        "headrace.sink.*", TEXT, Group.SINK, "Options of the sink, handed on without the prefix."
    )

    name = Property(
        "name",
        TEXT,
        None,
        Group.CONNECT,
        "Name of the connector, and of the command line's query in Spark.",
    )
    connector_class = Property(
        "connector.class",
        TEXT,
        None,
        Group.CONNECT,
        "The connector: Debezium's class name or a short name such as `postgresql`.",
    )
    tasks_max = Property(
        "tasks.max",
        integer(1),
        "1",
        Group.CONNECT,
        "Tasks of the connector.",
        status=not_needed("the number of Spark tasks is headrace.slices"),
    )
    tasks_max_enforce = Property(
        "tasks.max.enforce",
        BOOLEAN,
        "true",
        Group.CONNECT,
        "Whether tasks.max is enforced.",
        status=_WORKER,
    )
    config_action_reload = Property(
        "config.action.reload",
        one_of("none", "restart"),
        "restart",
        Group.CONNECT,
        "What a worker does when a referenced secret changes.",
        status=_WORKER,
    )
    errors_tolerance = Property(
        "errors.tolerance",
        one_of("none", "all"),
        "none",
        Group.CONNECT,
        "Whether records that fail in a converter or transform are dropped.",
        status=refused("a value is exact or an error"),
    )
    errors_log = Family(
        "errors.log.*",
        TEXT,
        Group.CONNECT,
        "Logging of tolerated errors.",
        status=_WORKER,
        case_matters=False,
    )
    errors_retry = Family(
        "errors.retry.*",
        TEXT,
        Group.CONNECT,
        "Retries of converters and transforms.",
        status=_WORKER,
        case_matters=False,
    )
    exactly_once_support = Property(
        "exactly.once.support",
        one_of("requested", "required"),
        "requested",
        Group.CONNECT,
        "Exactly-once delivery by a Kafka Connect worker.",
        status=_WORKER,
    )
    transaction_boundary = Family(
        "transaction.boundary*",
        TEXT,
        Group.CONNECT,
        "Kafka transactions of a worker.",
        pattern=r"transaction\.boundary(.*)",
        status=_WORKER,
        case_matters=False,
    )
    topic_creation = Family(
        "topic.creation.*",
        TEXT,
        Group.CONNECT,
        "Kafka topics that a worker creates.",
        status=_WORKER,
    )
    client_overrides = Family(
        "CLIENT.override.*",
        TEXT,
        Group.CONNECT,
        "Kafka client settings of a worker (producer, consumer, admin).",
        pattern=r"(producer|consumer|admin)\.override\.(.+)",
        status=_WORKER,
    )
    offset_storage = Family(
        "offset.storage*",
        TEXT,
        Group.CONNECT,
        "Where Debezium Server keeps its offsets.",
        pattern=r"offset\.storage(.*)",
        status=_SPARK_OFFSETS,
        case_matters=False,
    )
    offset_flush = Family(
        "offset.flush.*",
        TEXT,
        Group.CONNECT,
        "When Debezium Server writes its offsets.",
        status=_SPARK_OFFSETS,
        case_matters=False,
    )
    offset_commit_policy = Property(
        "offset.commit.policy",
        TEXT,
        None,
        Group.CONNECT,
        "When Debezium Server writes its offsets.",
        status=_SPARK_OFFSETS,
    )
    offsets_storage_topic = Property(
        "offsets.storage.topic",
        TEXT,
        None,
        Group.CONNECT,
        "Where a worker keeps the connector's offsets.",
        status=_SPARK_OFFSETS,
    )
    schema_history_internal = Family(
        "schema.history.internal*",
        TEXT,
        Group.CONNECT,
        "The schema history of connectors that read DDL.",
        pattern=r"schema\.history\.internal(.*)",
        status=_NO_HISTORY,
        case_matters=False,
    )
    transforms = Property(
        "transforms",
        COMMA_LIST,
        None,
        Group.CONVERTERS,
        "Aliases of single message transforms, in order.",
        status=planned("this version has no transforms"),
    )
    transforms_options = Family(
        "transforms.ALIAS.*",
        TEXT,
        Group.CONVERTERS,
        "Settings of a transform.",
        status=planned("this version has no transforms"),
        pattern=r"transforms\.([^.]+)\.(.+)",
        alias_of=("transforms",),
    )
    predicates = Property(
        "predicates",
        COMMA_LIST,
        None,
        Group.CONVERTERS,
        "Aliases of the predicates that transforms name.",
        status=planned("this version has no transforms"),
    )
    predicates_options = Family(
        "predicates.ALIAS.*",
        TEXT,
        Group.CONVERTERS,
        "Settings of a predicate.",
        status=planned("this version has no transforms"),
        pattern=r"predicates\.([^.]+)\.(.+)",
        alias_of=("predicates",),
    )
