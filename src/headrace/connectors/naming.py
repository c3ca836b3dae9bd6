"""How topics, schemas and fields are named, as a configuration says."""

from __future__ import annotations

from headrace.config.connector import ConnectorConfig
from headrace.config.regex import compile_java_regex
from headrace.debezium.names import NameAdjustment, NameAdjustmentMode
from headrace.debezium.topics import KeyField, Replacement, TopicNames, TopicNamingStrategy


def topic_names(config: ConnectorConfig) -> TopicNames:
    """The topics of a connector."""
    strategy = TopicNamingStrategy(str(config.topic_naming_strategy).rsplit(".", 1)[1])
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


def _replacement(regex: str | None, replacement: str | None) -> Replacement | None:
    if regex is None or replacement is None:
        return None
    return Replacement(compile_java_regex(regex, case_matters=True), replacement)


def name_adjustment(config: ConnectorConfig) -> NameAdjustment:
    """What becomes of names that Avro does not accept."""
    return NameAdjustment(
        NameAdjustmentMode(str(config.schema_name_adjustment_mode)),
        NameAdjustmentMode(str(config.field_name_adjustment_mode)),
    )
