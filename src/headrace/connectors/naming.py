"""Names of topics, schemas and fields, by the configuration."""

from __future__ import annotations

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.regex import compile_java_regex
from headrace.debezium.naming.names import NameAdjustment
from headrace.debezium.naming.topics import KeyField, NameReplacement, TopicNames


def topic_names(config: ConnectorConfig) -> TopicNames:
    """The topics of a connector."""
    strategy = config.topic_naming_strategy
    routing = key_field = None
    if strategy.is_regex:
        routing = _replacement(config.topic_regex, config.topic_replacement)
        if config.topic_key_enforce_uniqueness:
            key_field = KeyField(
                config.topic_key_field_name,
                _replacement(config.topic_key_field_regex, config.topic_key_field_replacement),
            )
    return TopicNames(
        config.topic_prefix,
        config.topic_delimiter,
        config.topic_transaction,
        config.topic_heartbeat_prefix,
        config.topic_heartbeat_name,
        strategy=strategy,
        routing=routing,
        key_field=key_field,
    )


def _replacement(regex: str | None, replacement: str | None) -> NameReplacement | None:
    if regex is None or replacement is None:
        return None
    return NameReplacement(compile_java_regex(regex, case_matters=True), replacement)


def name_adjustment(config: ConnectorConfig) -> NameAdjustment:
    """Return how names that Avro does not accept are adjusted."""
    return NameAdjustment(
        config.schema_name_adjustment_mode,
        config.field_name_adjustment_mode,
    )
