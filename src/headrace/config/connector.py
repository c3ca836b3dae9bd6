"""Properties that the connectors share. Names and defaults are Debezium's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from headrace.config.execution import ExecutionConfig
from headrace.config.filters import NameFilter
from headrace.config.finding import Finding
from headrace.config.kinds import (
    BOOLEAN,
    COMMA_LIST,
    JAVA_CLASS,
    KEY_COLUMNS,
    LONG_MAX,
    OPERATIONS,
    PATH,
    REGEX,
    REGEX_LIST,
    TEXT,
    choice,
    integer,
    matching,
    milliseconds,
    one_of,
)
from headrace.config.modes import (
    CONVERTER_CLASSES,
    TOPIC_NAMING_CLASSES,
    BinaryHandlingMode,
    ConverterName,
    DecimalFormat,
    DecimalHandlingMode,
    FailureHandlingMode,
    NameAdjustmentMode,
    TimePrecisionMode,
    TopicNamingStrategy,
)
from headrace.config.property import (
    REQUIRED,
    Family,
    Group,
    PassThrough,
    Property,
    not_needed,
    refused,
)
from headrace.config.regex import compile_java_regex

_JAVA = refused("Java classes cannot be loaded here")
_MICRO_BATCHES = not_needed(
    "micro-batches are limited by headrace.range.max.bytes and headrace.range.max.rows"
)
_NO_METRICS = not_needed("there are no JMX metrics here")
_LATER_CONVERTERS = tuple(name for name in ConverterName if name != "json")


class ConnectorConfig(ExecutionConfig):
    """What PostgreSQL, MongoDB, Oracle and Db2 have in common."""

    exclusive: ClassVar[tuple[tuple[str, str], ...]] = (
        ("table.include.list", "table.exclude.list"),
        ("column.include.list", "column.exclude.list"),
    )

    topic_prefix = Property(
        "topic.prefix",
        matching(r"[A-Za-z0-9._-]+", "letters, digits, -, . and _"),
        REQUIRED,
        Group.CONNECTION,
        "Names the server: first part of every topic, and the identity of the offsets.",
        formerly=("database.server.name",),
    )
    table_include_list = Property(
        "table.include.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for `schema.table`; none takes every table.",
        formerly=("table.whitelist",),
    )
    table_exclude_list = Property(
        "table.exclude.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for `schema.table` that are left out.",
        formerly=("table.blacklist",),
    )
    column_include_list = Property(
        "column.include.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for `schema.table.column`; key columns always stay in the key.",
        formerly=("column.whitelist",),
    )
    column_exclude_list = Property(
        "column.exclude.list",
        REGEX_LIST,
        "",
        Group.CAPTURED,
        "Expressions for `schema.table.column` that are left out of values.",
        formerly=("column.blacklist",),
    )
    message_key_columns = Property(
        "message.key.columns",
        KEY_COLUMNS,
        "",
        Group.CAPTURED,
        "Key columns by table expression, instead of the primary key: `schema.table:a,b;…`.",
    )
    skipped_operations = Property(
        "skipped.operations",
        OPERATIONS,
        "t",
        Group.CAPTURED,
        "Operations that give no events: c, u, d, t, or `none`.",
    )
    skip_messages_without_change = Property(
        "skip.messages.without.change",
        BOOLEAN,
        "false",
        Group.CAPTURED,
        "Drops updates of which no captured column changed, under REPLICA IDENTITY FULL.",
    )
    tombstones_on_delete = Property(
        "tombstones.on.delete",
        BOOLEAN,
        "true",
        Group.CAPTURED,
        "Writes a tombstone (null value) after each delete.",
    )
    include_schema_comments = Property(
        "include.schema.comments",
        BOOLEAN,
        "false",
        Group.CAPTURED,
        "Column comments become the schema's doc.",
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
        "What to do above the limit.",
    )
    time_precision_mode = Property(
        "time.precision.mode",
        choice(TimePrecisionMode),
        "adaptive",
        Group.VALUES,
        "Representation of dates and times; `structured` gives the structs of Debezium 3.7.",
    )
    decimal_handling_mode = Property(
        "decimal.handling.mode",
        choice(DecimalHandlingMode),
        "precise",
        Group.VALUES,
        "Representation of numeric columns: Connect Decimal, double, or text.",
    )
    binary_handling_mode = Property(
        "binary.handling.mode",
        choice(BinaryHandlingMode),
        "bytes",
        Group.VALUES,
        "Representation of binary columns.",
    )
    unavailable_value_placeholder = Property(
        "unavailable.value.placeholder",
        TEXT,
        "__debezium_unavailable_value",
        Group.VALUES,
        "Stands for a value that the log does not hold; `hex:…` gives raw bytes.",
        formerly=("toasted.value.placeholder",),
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
        "What a value that cannot be converted gives: an error, or null.",
    )
    event_processing_failure_handling_mode = Property(
        "event.processing.failure.handling.mode",
        choice(FailureHandlingMode),
        "fail",
        Group.VALUES,
        "What a change that cannot be processed gives.",
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
        "Adds `__debezium.context.*` headers to streamed events.",
    )
    column_truncate = Family(
        "column.truncate.to.LENGTH.chars",
        REGEX_LIST,
        Group.VALUES,
        "Cuts texts of these columns.",
        pattern=r"column\.truncate\.to\.(\d+)\.chars",
        case_matters=False,
    )
    column_mask = Family(
        "column.mask.with.LENGTH.chars",
        REGEX_LIST,
        Group.VALUES,
        "Replaces texts of these columns by asterisks.",
        pattern=r"column\.mask\.with\.(\d+)\.chars",
        case_matters=False,
    )
    column_mask_hash_v2 = Family(
        "column.mask.hash.v2.ALGORITHM.with.salt.SALT",
        REGEX_LIST,
        Group.VALUES,
        "Replaces texts of these columns by a salted hash.",
        pattern=r"column\.mask\.hash\.v2\.([^.]+)\.with\.salt\.(.+)",
    )
    column_mask_hash = Family(
        "column.mask.hash.ALGORITHM.with.salt.SALT",
        REGEX_LIST,
        Group.VALUES,
        "As above with the hash of Java's serialised text.",
        pattern=r"column\.mask\.hash\.([^.]+)\.with\.salt\.(.+)",
    )
    column_propagate_source_type = Property(
        "column.propagate.source.type",
        REGEX_LIST,
        "",
        Group.VALUES,
        "Columns whose schemas tell their type in the database.",
    )
    datatype_propagate_source_type = Property(
        "datatype.propagate.source.type",
        REGEX_LIST,
        "",
        Group.VALUES,
        "Types whose columns' schemas tell their type in the database.",
    )
    alias_options = Family(
        "ALIAS.*",
        TEXT,
        Group.VALUES,
        "Settings of a custom converter or post-processor.",
        pattern=r"([^.]+)\.(.+)",
        alias_of=("converters", "post.processors"),
    )
    key_converter = Property(
        "key.converter",
        choice(ConverterName, aliases=CONVERTER_CLASSES),
        "json",
        Group.CONVERTERS,
        "Renders keys: a converter class of Kafka Connect or a short name.",
        planned=_LATER_CONVERTERS,
    )
    key_converter_schemas_enable = Property(
        "key.converter.schemas.enable",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether JSON keys carry their schema.",
    )
    key_converter_decimal_format = Property(
        "key.converter.decimal.format",
        choice(DecimalFormat),
        "BASE64",
        Group.CONVERTERS,
        "JSON rendering of Connect Decimals in keys.",
    )
    key_converter_replace_null_with_default = Property(
        "key.converter.replace.null.with.default",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether null gives the field's default in JSON keys.",
    )
    key_converter_schemas_cache_size = Property(
        "key.converter.schemas.cache.size",
        integer(0),
        "1000",
        Group.CONVERTERS,
        "Size of the converter's schema cache.",
        status=not_needed("schemas are rendered once"),
    )
    value_converter = Property(
        "value.converter",
        choice(ConverterName, aliases=CONVERTER_CLASSES),
        "json",
        Group.CONVERTERS,
        "Renders values: a converter class of Kafka Connect or a short name.",
        planned=_LATER_CONVERTERS,
    )
    value_converter_schemas_enable = Property(
        "value.converter.schemas.enable",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether JSON values carry their schema.",
    )
    value_converter_decimal_format = Property(
        "value.converter.decimal.format",
        choice(DecimalFormat),
        "BASE64",
        Group.CONVERTERS,
        "JSON rendering of Connect Decimals in values.",
    )
    value_converter_replace_null_with_default = Property(
        "value.converter.replace.null.with.default",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether null gives the field's default in JSON values.",
    )
    value_converter_schemas_cache_size = Property(
        "value.converter.schemas.cache.size",
        integer(0),
        "1000",
        Group.CONVERTERS,
        "Size of the converter's schema cache.",
        status=not_needed("schemas are rendered once"),
    )
    header_converter = Property(
        "header.converter",
        choice(ConverterName, aliases=CONVERTER_CLASSES),
        "json",
        Group.CONVERTERS,
        "Renders header values: a converter class of Kafka Connect or a short name.",
        planned=_LATER_CONVERTERS,
    )
    header_converter_schemas_enable = Property(
        "header.converter.schemas.enable",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether JSON header values carry their schema.",
    )
    header_converter_decimal_format = Property(
        "header.converter.decimal.format",
        choice(DecimalFormat),
        "BASE64",
        Group.CONVERTERS,
        "JSON rendering of Connect Decimals in header values.",
    )
    header_converter_replace_null_with_default = Property(
        "header.converter.replace.null.with.default",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether null gives the field's default in JSON header values.",
    )
    header_converter_schemas_cache_size = Property(
        "header.converter.schemas.cache.size",
        integer(0),
        "1000",
        Group.CONVERTERS,
        "Size of the converter's schema cache.",
        status=not_needed("schemas are rendered once"),
    )
    converter_options = Family(
        "CONVERTER.converter.*",
        TEXT,
        Group.CONVERTERS,
        "Settings of converters that are not there.",
        pattern=r"(?:key|value|header)\.converter\.(.+)",
        status=not_needed("the JSON converter has no such setting"),
        case_matters=False,
    )
    topic_naming_strategy = Property(
        "topic.naming.strategy",
        choice(TopicNamingStrategy, aliases=TOPIC_NAMING_CLASSES),
        "io.debezium.schema.SchemaTopicNamingStrategy",
        Group.TOPICS,
        "How topics are named: `<prefix>.<schema>.<table>` or, Default…, `<prefix>.<table>`.",
    )
    topic_regex = Property(
        "topic.regex",
        REGEX,
        None,
        Group.TOPICS,
        "With a …RegexTopicNamingStrategy: topics that match get the name topic.replacement.",
    )
    topic_replacement = Property(
        "topic.replacement",
        TEXT,
        None,
        Group.TOPICS,
        "That name; `$1` stands for the first group of topic.regex.",
    )
    topic_key_enforce_uniqueness = Property(
        "topic.key.enforce.uniqueness",
        BOOLEAN,
        "true",
        Group.TOPICS,
        "With a …RegexTopicNamingStrategy: adds a field to keys that tells the tables apart.",
    )
    topic_key_field_name = Property(
        "topic.key.field.name",
        TEXT,
        "__dbz__physicalTableIdentifier",
        Group.TOPICS,
        "That field's name.",
    )
    topic_key_field_regex = Property(
        "topic.key.field.regex",
        REGEX,
        None,
        Group.TOPICS,
        "What is read from the topic's first name into that field; the whole name without it.",
    )
    topic_key_field_replacement = Property(
        "topic.key.field.replacement",
        TEXT,
        None,
        Group.TOPICS,
        "What is written there; `$1` stands for the first group of topic.key.field.regex.",
    )
    topic_delimiter = Property(
        "topic.delimiter", TEXT, ".", Group.TOPICS, "Between the parts of a topic name."
    )
    topic_cache_size = Property(
        "topic.cache.size",
        integer(1),
        "10000",
        Group.TOPICS,
        "Size of the cache of topic names.",
        status=not_needed("names are kept as long as their tables"),
    )
    topic_transaction = Property(
        "topic.transaction",
        TEXT,
        "transaction",
        Group.TOPICS,
        "Last part of the name of the transaction topic.",
        formerly=("transaction.topic",),
    )
    topic_heartbeat_prefix = Property(
        "topic.heartbeat.prefix",
        TEXT,
        "__debezium-heartbeat",
        Group.TOPICS,
        "First part of the name of the heartbeat topic.",
        formerly=("heartbeat.topics.prefix",),
    )
    topic_heartbeat_name = Property(
        "topic.heartbeat.name",
        TEXT,
        None,
        Group.TOPICS,
        "Whole name of the heartbeat topic.",
    )
    heartbeat_interval_ms = Property(
        "heartbeat.interval.ms",
        milliseconds(),
        "0",
        Group.TOPICS,
        "Interval of heartbeat records; 0 is none. Positions move on idle tables without them.",
    )
    heartbeat_action_query = Property(
        "heartbeat.action.query",
        TEXT,
        None,
        Group.TOPICS,
        "SQL to run with each heartbeat. A table of it that is missing is an error; other failures "
        "are warnings.",
    )
    provide_transaction_metadata = Property(
        "provide.transaction.metadata",
        BOOLEAN,
        "false",
        Group.TOPICS,
        "Transaction boundaries as records, and a transaction block in events.",
    )
    transaction_metadata_factory = Property(
        "transaction.metadata.factory",
        JAVA_CLASS,
        None,
        Group.TOPICS,
        "Replaces the transaction block.",
        status=_JAVA,
    )
    signal_data_collection = Property(
        "signal.data.collection",
        TEXT,
        None,
        Group.SIGNALS,
        "The signal table, `schema.table`.",
    )
    signal_enabled_channels = Property(
        "signal.enabled.channels",
        COMMA_LIST,
        "source",
        Group.SIGNALS,
        "Channels that signals come from.",
    )
    signal_poll_interval_ms = Property(
        "signal.poll.interval.ms",
        milliseconds(),
        "5000",
        Group.SIGNALS,
        "Polling interval of channels other than source.",
    )
    signal_kafka_topic = Property(
        "signal.kafka.topic",
        TEXT,
        None,
        Group.SIGNALS,
        "Topic of the kafka channel; by default `topic.prefix` and `-signal`. Only messages count "
        "whose key is `topic.prefix`.",
    )
    signal_kafka_bootstrap_servers = Property(
        "signal.kafka.bootstrap.servers",
        TEXT,
        None,
        Group.SIGNALS,
        "Brokers of the kafka channel.",
    )
    signal_kafka_groupId = Property(
        "signal.kafka.groupId",
        TEXT,
        "kafka-signal",
        Group.SIGNALS,
        "Consumer group of the kafka channel: a first start goes on where the group is.",
    )
    signal_kafka_poll_timeout_ms = Property(
        "signal.kafka.poll.timeout.ms",
        milliseconds(),
        "100",
        Group.SIGNALS,
        "How long a poll of the kafka channel waits; it holds nothing up.",
    )
    signal_file = Property(
        "signal.file",
        PATH,
        "file-signals.txt",
        Group.SIGNALS,
        "File of the file channel.",
    )
    signal_emit_failure_max_retries = Property(
        "signal.emit.failure.max.retries",
        integer(0),
        "0",
        Group.SIGNALS,
        "Retries of writing a watermark.",
    )
    signal_emit_failure_backoff_ms = Property(
        "signal.emit.failure.backoff.ms",
        milliseconds(),
        "10000",
        Group.SIGNALS,
        "Pause between these retries.",
    )
    notification_enabled_channels = Property(
        "notification.enabled.channels",
        COMMA_LIST,
        "",
        Group.SIGNALS,
        "Channels that notifications go to.",
    )
    notification_sink_topic_name = Property(
        "notification.sink.topic.name",
        TEXT,
        None,
        Group.SIGNALS,
        "Topic of the sink channel.",
    )
    signal_consumer = PassThrough(
        "signal.consumer.*",
        TEXT,
        Group.SIGNALS,
        "Settings of the kafka channel's client (librdkafka's, which are Kafka's with few "
        "exceptions).",
        case_matters=False,
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
        "Pause before such a restart.",
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
    connection_validation_timeout_ms = Property(
        "connection.validation.timeout.ms",
        milliseconds(),
        "60000",
        Group.CONNECTION,
        "Limit for each login and each query of `headrace check`; 0 is no limit.",
    )
    openlineage_integration = Family(
        "openlineage.integration.*",
        TEXT,
        Group.RUNTIME,
        "OpenLineage.",
        status=refused("Spark's own OpenLineage listener tells of the query"),
    )

    def check(self) -> Iterator[Finding]:
        yield from super().check()
        yield from self._check_topics()
        yield from self._check_channels()

    def _check_topics(self) -> Iterator[Finding]:
        pairs = [
            ("topic.key.field.regex", self.topic_key_field_regex, self.topic_key_field_replacement)
        ]
        if self.topic_naming_strategy.is_regex:
            pairs.append(("topic.regex", self.topic_regex, self.topic_replacement))
            if self.topic_regex is None:
                yield Finding(
                    "config.missing",
                    "topic.regex",
                    f"topic.naming.strategy={self.topic_naming_strategy} needs topic.regex",
                    "Set topic.regex and topic.replacement.",
                )
        for name, regex, replacement in pairs:
            other = name.removesuffix("regex") + "replacement"
            if regex is None:
                continue
            if replacement is None:
                yield Finding(
                    "config.missing", other, f"{name} needs {other}", f"Set {other} as well."
                )
                continue
            groups = compile_java_regex(regex, case_matters=True)
            for found in re.finditer(r"(?<!\\)\$(?:(\d)|\{(\w+)\})", replacement):
                if (found[1] and int(found[1]) > groups.groups) or (
                    found[2] and found[2] not in groups.groupindex
                ):
                    yield Finding(
                        "config.impossible_value",
                        other,
                        f"{other} names the group {found[0]}, which {name} does not have",
                        "Count the parentheses of the expression; a literal $ is written \\$.",
                    )

    def table_filter(self) -> NameFilter:
        """Accepts `schema.table`."""
        return NameFilter(self.table_include_list, self.table_exclude_list)

    def signal_table(self) -> str | None:
        """`schema.table` of the signal table, whose events are always captured."""
        return self.signal_data_collection or None

    def signal_topic(self) -> str:
        """Topic of the kafka channel."""
        return self.signal_kafka_topic or f"{self.topic_prefix}-signal"

    def signal_brokers(self) -> str | None:
        """Brokers of the kafka channel."""
        given = self.signal_consumer.get("bootstrap.servers")
        return given or self.signal_kafka_bootstrap_servers

    def _check_channels(self) -> Iterator[Finding]:
        yield from _unknown("signal.enabled.channels", self.signal_enabled_channels, _SIGNALS)
        if "kafka" in self.signal_enabled_channels and not self.signal_brokers():
            yield Finding(
                "config.missing",
                "signal.kafka.bootstrap.servers",
                "signal.enabled.channels has kafka, but signal.kafka.bootstrap.servers is missing",
                "Set signal.kafka.bootstrap.servers to the brokers, host:port.",
            )
        told = self.notification_enabled_channels
        yield from _unknown("notification.enabled.channels", told, _NOTIFICATIONS)
        if "sink" in told and not self.notification_sink_topic_name:
            yield Finding(
                "config.missing",
                "notification.sink.topic.name",
                "notification.enabled.channels has sink, but notification.sink.topic.name is "
                "missing",
                "Set notification.sink.topic.name to the topic that notifications go to.",
            )

    def column_filter(self) -> NameFilter:
        """Accepts `schema.table.column`."""
        return NameFilter(self.column_include_list, self.column_exclude_list)


_SIGNALS = ("source", "kafka", "file")
_NOTIFICATIONS = ("sink", "log")


def _unknown(name: str, given: tuple[str, ...], known: tuple[str, ...]) -> Iterator[Finding]:
    wrong = [channel for channel in given if channel not in known]
    if wrong:
        yield Finding(
            "config.not_supported",
            name,
            f"{name}: {', '.join(wrong)} is not there in this version",
            f"The channels are: {', '.join(known)}.",
        )
