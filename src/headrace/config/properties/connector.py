"""Properties that every connector has. Names and defaults are Debezium's."""

from __future__ import annotations

from headrace.config.kinds import (
    BOOLEAN,
    COMMA_LIST,
    JAVA_CLASS,
    LONG_MAX,
    OPERATIONS,
    TEXT,
    choice,
    integer,
    matching,
    milliseconds,
    one_of,
)
from headrace.config.properties.converters import ConverterConfig
from headrace.config.properties.execution import CredentialsConfig, ExecutionConfig
from headrace.config.properties.modes import FailureHandlingMode
from headrace.config.properties.signals import SignalConfig
from headrace.config.properties.snapshots import SnapshotConfig
from headrace.config.properties.topics import TopicConfig
from headrace.config.properties.transforms import FailedRecordsConfig, TransformsConfig
from headrace.config.properties.worker import WorkerConfig
from headrace.config.property import REQUIRED, Family, Group, Property, not_needed, refused
from headrace.debezium.naming.names import NameAdjustmentMode

_JAVA = refused("headrace cannot load Java classes")
_MICRO_BATCHES = not_needed(
    "micro-batches are limited by headrace.range.max.bytes and headrace.range.max.rows"
)
_NO_METRICS = not_needed("there are no JMX metrics here")


class ConnectorConfig(
    CredentialsConfig,
    ExecutionConfig,
    WorkerConfig,
    ConverterConfig,
    TransformsConfig,
    FailedRecordsConfig,
    TopicConfig,
    SignalConfig,
    SnapshotConfig,
):
    """The properties that all connectors share, whatever their databases."""

    topic_prefix = Property(
        "topic.prefix",
        matching(r"[A-Za-z0-9._-]+", "letters, digits, -, . and _"),
        REQUIRED,
        Group.CONNECTION,
        "The logical name of the server: the first part of the names of topics, and the identity "
        "of the offsets.",
        formerly=("database.server.name",),
    )
    skipped_operations = Property(
        "skipped.operations",
        OPERATIONS,
        "t",
        Group.CAPTURED,
        "Operations without events: c, u, d, t, or `none`.",
    )
    tombstones_on_delete = Property(
        "tombstones.on.delete",
        BOOLEAN,
        "true",
        Group.CAPTURED,
        "Writes a tombstone (null value) after each delete.",
    )
    guardrail_collections_max = Property(
        "guardrail.collections.max",
        integer(0),
        "0",
        Group.CAPTURED,
        "Most tables that may be captured; 0 is no limit.",
    )
    guardrail_collections_limit_action = Property(
        "guardrail.collections.limit.action",
        one_of("warn", "fail"),
        "warn",
        Group.CAPTURED,
        "What to do above the limit of guardrail.collections.max.",
    )
    schema_name_adjustment_mode = Property(
        "schema.name.adjustment.mode",
        choice(NameAdjustmentMode),
        "none",
        Group.VALUES,
        "Adjusts schema names to Avro: other characters become `_`, or `_uXXXX` (avro_unicode).",
    )
    field_name_adjustment_mode = Property(
        "field.name.adjustment.mode",
        choice(NameAdjustmentMode),
        "none",
        Group.VALUES,
        "Adjusts field names to Avro: other characters become `_`, or `_uXXXX` (avro_unicode).",
        formerly=("sanitize.field.names",),
    )
    event_converting_failure_handling_mode = Property(
        "event.converting.failure.handling.mode",
        choice(FailureHandlingMode),
        "warn",
        Group.VALUES,
        "The result of a value that cannot be converted: an error, or null.",
    )
    event_processing_failure_handling_mode = Property(
        "event.processing.failure.handling.mode",
        choice(FailureHandlingMode),
        "fail",
        Group.VALUES,
        "The result of a change that cannot be processed.",
    )
    converters = Property(
        "converters",
        COMMA_LIST,
        "",
        Group.VALUES,
        "Aliases of custom value converters.",
        status=_JAVA,
    )
    post_processors = Property(
        "post.processors",
        COMMA_LIST,
        "",
        Group.VALUES,
        "Aliases of post-processors; `ALIAS.type` is ReselectColumnsPostProcessor, which reads "
        "null and unavailable columns again.",
    )
    sourceinfo_struct_maker = Property(
        "sourceinfo.struct.maker",
        JAVA_CLASS,
        None,
        Group.VALUES,
        "Replaces the source block.",
        status=_JAVA,
    )
    extended_headers_enabled = Property(
        "extended.headers.enabled",
        BOOLEAN,
        "true",
        Group.VALUES,
        "Adds `__debezium.context.*` headers to all events, also those of snapshots.",
    )
    alias_options = Family(
        "ALIAS.*",
        TEXT,
        Group.VALUES,
        "Settings of a custom converter or post-processor.",
        pattern=r"([^.]+)\.(.+)",
        alias_of=("converters", "post.processors"),
    )
    connection_validation_timeout_ms = Property(
        "connection.validation.timeout.ms",
        milliseconds(),
        "60000",
        Group.CONNECTION,
        "Limit for each login and each query of `headrace check`; 0 is no limit.",
    )
    errors_max_retries = Property(
        "errors.max.retries",
        integer(-1),
        "-1",
        Group.RUNTIME,
        "Restarts after a retriable error; -1 is no limit.",
    )
    retriable_restart_connector_wait_ms = Property(
        "retriable.restart.connector.wait.ms",
        milliseconds(),
        "10000",
        Group.RUNTIME,
        "Pause before a restart after a retriable error.",
    )
    internal_log_position_check_enable = Property(
        "internal.log.position.check.enable",
        BOOLEAN,
        "true",
        Group.REPLICATION,
        "Whether the stored position is checked at start.",
        status=refused("the check protects against silent gaps"),
    )
    internal_offset_activity_monitor_interval_ms = Property(
        "internal.offset.activity.monitor.interval.ms",
        milliseconds(),
        "600000",
        Group.REPLICATION,
        "Interval of a warning about offsets that do not move.",
        status=not_needed("positions move on idle tables"),
    )
    max_batch_size = Property(
        "max.batch.size",
        integer(1),
        "2048",
        Group.RUNTIME,
        "Debezium's batch size.",
        status=_MICRO_BATCHES,
    )
    max_queue_size = Property(
        "max.queue.size",
        integer(1),
        "8192",
        Group.RUNTIME,
        "Debezium's queue size.",
        status=_MICRO_BATCHES,
    )
    max_queue_size_in_bytes = Property(
        "max.queue.size.in.bytes",
        integer(0, LONG_MAX),
        "0",
        Group.RUNTIME,
        "Debezium's queue size in bytes.",
        status=not_needed("the spool is limited by headrace.spool.max.bytes"),
    )
    poll_interval_ms = Property(
        "poll.interval.ms",
        milliseconds(),
        "500",
        Group.RUNTIME,
        "Debezium's pause between polls.",
        status=not_needed("changes are taken as they arrive"),
    )
    poll_dispatch_interval_ms = Property(
        "poll.dispatch.interval.ms",
        milliseconds(),
        "0",
        Group.RUNTIME,
        "Debezium's pause between dispatches.",
        status=not_needed("changes are taken as they arrive"),
    )
    query_fetch_size = Property(
        "query.fetch.size",
        integer(0),
        "0",
        Group.RUNTIME,
        "Rows per fetch of other queries.",
        status=not_needed("results are streamed"),
    )
    queue_provider_type = Property(
        "queue.provider.type",
        TEXT,
        "memory",
        Group.RUNTIME,
        "Debezium's queue implementation.",
        status=not_needed("there is no queue here"),
    )
    custom_metric_tags = Property(
        "custom.metric.tags", TEXT, None, Group.RUNTIME, "Tags of JMX metrics.", status=_NO_METRICS
    )
    statistics_metrics_enabled = Property(
        "statistics.metrics.enabled",
        BOOLEAN,
        "true",
        Group.RUNTIME,
        "JMX statistics.",
        status=_NO_METRICS,
    )
    internal_advanced_metrics_enable = Property(
        "internal.advanced.metrics.enable",
        BOOLEAN,
        "false",
        Group.RUNTIME,
        "More JMX metrics.",
        status=_NO_METRICS,
    )
    executor_shutdown_timeout_ms = Property(
        "executor.shutdown.timeout.ms",
        milliseconds(),
        "4000",
        Group.RUNTIME,
        "Wait for Debezium's threads at shutdown.",
        status=not_needed("Spark stops its tasks"),
    )
    custom_sanitize_pattern = Property(
        "custom.sanitize.pattern",
        TEXT,
        None,
        Group.RUNTIME,
        "Pattern of names hidden in Debezium's log.",
        status=not_needed("secrets are never logged"),
    )
    openlineage_integration = Family(
        "openlineage.integration.*",
        TEXT,
        Group.RUNTIME,
        "OpenLineage.",
        status=refused("Spark's own OpenLineage listener reports the query"),
    )

    @property
    def without_documents(self) -> str:
        """Return the property and value that leave out the documents of updates; empty if updates
        have documents, or the source has no documents."""
        return ""

    def signal_topic(self) -> str:
        """Return the topic of the kafka channel."""
        return self.signal_kafka_topic or f"{self.topic_prefix}-signal"
