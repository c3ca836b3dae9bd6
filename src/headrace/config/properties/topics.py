"""Properties of topics' names, and of records that are not changes: heartbeats and transactions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.config.configuration import Configuration
from headrace.config.finding import PropertyFinding
from headrace.config.kinds import BOOLEAN, JAVA_CLASS, REGEX, TEXT, choice, integer, milliseconds
from headrace.config.property import Group, Property, not_needed, refused
from headrace.config.regex import compile_java_regex
from headrace.debezium.naming.topics import TOPIC_NAMING_CLASSES, TopicNamingStrategy

_JAVA = refused("headrace cannot load Java classes")


class TopicConfig(Configuration):
    """Properties of topics, heartbeats and transaction metadata."""

    topic_naming_strategy = Property(
        "topic.naming.strategy",
        choice(TopicNamingStrategy, aliases=TOPIC_NAMING_CLASSES),
        "io.debezium.schema.SchemaTopicNamingStrategy",
        Group.TOPICS,
        "The topics' names: `<prefix>.<schema>.<table>`, or `<prefix>.<table>` with "
        "DefaultTopicNamingStrategy.",
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
        "With a …RegexTopicNamingStrategy: the new name of topics that match topic.regex; `$1` is "
        "the first group of topic.regex.",
    )
    topic_key_enforce_uniqueness = Property(
        "topic.key.enforce.uniqueness",
        BOOLEAN,
        "true",
        Group.TOPICS,
        "With a …RegexTopicNamingStrategy: adds a field to keys that distinguishes the tables.",
    )
    topic_key_field_name = Property(
        "topic.key.field.name",
        TEXT,
        "__dbz__physicalTableIdentifier",
        Group.TOPICS,
        "Name of the field that topic.key.enforce.uniqueness adds to keys.",
    )
    topic_key_field_regex = Property(
        "topic.key.field.regex",
        REGEX,
        None,
        Group.TOPICS,
        "The part of the topic's original name that the field topic.key.field.name contains; "
        "without it, the whole name.",
    )
    topic_key_field_replacement = Property(
        "topic.key.field.replacement",
        TEXT,
        None,
        Group.TOPICS,
        "The text of the field topic.key.field.name; `$1` is the first group of "
        "topic.key.field.regex.",
    )
    topic_delimiter = Property(
        "topic.delimiter",
        TEXT,
        ".",
        Group.TOPICS,
        "The delimiter between the parts of a topic name.",
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
        "Full name of the heartbeat topic.",
    )
    heartbeat_interval_ms = Property(
        "heartbeat.interval.ms",
        milliseconds(),
        "0",
        Group.TOPICS,
        "Interval of heartbeat records; 0 means no heartbeats. Even without heartbeats the "
        "position advances while tables are idle.",
    )
    provide_transaction_metadata = Property(
        "provide.transaction.metadata",
        BOOLEAN,
        "false",
        Group.TOPICS,
        "Adds a record for the BEGIN and END of each transaction, and a transaction block to "
        "events.",
    )
    transaction_metadata_factory = Property(
        "transaction.metadata.factory",
        JAVA_CLASS,
        None,
        Group.TOPICS,
        "The Java class that makes the transaction block.",
        status=_JAVA,
    )

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        yield from self._check_topics()

    def _check_topics(self) -> Iterator[PropertyFinding]:
        pairs = [("topic.key.field", self.topic_key_field_regex, self.topic_key_field_replacement)]
        if self.topic_naming_strategy.is_regex:
            pairs.append(("topic", self.topic_regex, self.topic_replacement))
            if self.topic_regex is None:
                yield PropertyFinding(
                    "config.missing",
                    "topic.regex",
                    f"topic.naming.strategy={self.topic_naming_strategy} needs topic.regex",
                    "Set topic.regex and topic.replacement.",
                )
        for prefix, regex, replacement in pairs:
            replacing = f"{prefix}.replacement"
            if regex is None:
                continue
            if replacement is None:
                yield PropertyFinding(
                    "config.missing",
                    replacing,
                    f"{prefix}.regex needs {prefix}.replacement",
                    f"Set {prefix}.replacement as well.",
                )
                continue
            groups = compile_java_regex(regex, case_matters=True)
            for group in re.finditer(r"(?<!\\)\$(?:(\d)|\{(\w+)\})", replacement):
                if (group[1] and int(group[1]) > groups.groups) or (
                    group[2] and group[2] not in groups.groupindex
                ):
                    yield PropertyFinding(
                        "config.impossible_value",
                        replacing,
                        f"{prefix}.replacement names the group {group[0]}, which {prefix}.regex "
                        "does not have",
                        "Use the number or the name of a group of the expression; a literal $ is "
                        "written \\$.",
                    )
