"""Properties of the transforms before conversion, and of records that fail in them."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.config.configuration import Configuration
from headrace.config.finding import PropertyFinding
from headrace.config.kinds import BOOLEAN, COMMA_LIST, EXACT_TEXT, TEXT, integer, one_of, templated
from headrace.config.properties.compatibility import CompatibilityConfig, RecordBoundsConfig
from headrace.config.property import Family, Group, Property, not_needed
from headrace.findings import named


class TransformsConfig(CompatibilityConfig, RecordBoundsConfig):
    """Properties of Kafka Connect's single message transforms and predicates.
    `headrace.transforms.reading` checks the types and options of their aliases."""

    transforms = Property(
        "transforms",
        COMMA_LIST,
        None,
        Group.CONVERTERS,
        "Aliases of single message transforms, in the order in which they are applied.",
    )
    transforms_options = Family(
        "transforms.ALIAS.*",
        templated(EXACT_TEXT),
        Group.CONVERTERS,
        "Settings of a transform: its `type`, a `predicate`, `negate`, and its own options.",
        pattern=r"transforms\.([^.]+)\.(.+)",
        alias_of=("transforms",),
    )
    predicates = Property(
        "predicates",
        COMMA_LIST,
        None,
        Group.CONVERTERS,
        "Aliases of the predicates that transforms use.",
    )
    predicates_options = Family(
        "predicates.ALIAS.*",
        templated(EXACT_TEXT),
        Group.CONVERTERS,
        "Settings of a predicate: its `type`, and its own options.",
        pattern=r"predicates\.([^.]+)\.(.+)",
        alias_of=("predicates",),
    )

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        for name in ("transforms", "predicates"):
            aliases = getattr(self, name) or ()
            twice = sorted({alias for alias in aliases if aliases.count(alias) > 1})
            if twice:
                yield PropertyFinding(
                    "config.invalid",
                    name,
                    f"{name} has {named(twice)} more than once",
                    f"Give each step of {name} an alias of its own.",
                )


class FailedRecordsConfig(Configuration):
    """Kafka Connect's properties for records that fail in a transform or converter."""

    errors_tolerance = Property(
        "errors.tolerance",
        one_of("none", "all"),
        "none",
        Group.CONVERTERS,
        "The effect of a record that a transform or converter cannot process: `none` ends the "
        "query, `all` leaves the record out.",
    )
    errors_log_enable = Property(
        "errors.log.enable",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether each record that is left out is logged, with the reason.",
    )
    errors_log_include_messages = Property(
        "errors.log.include.messages",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether the log shows the records that are left out.",
        status=not_needed("values stay out of logs"),
    )
    errors_deadletterqueue_topic_name = Property(
        "errors.deadletterqueue.topic.name",
        TEXT,
        "",
        Group.CONVERTERS,
        "The topic for records that a transform cannot process, as they were before the "
        "transforms; if it is not set, the records are left out.",
    )
    errors_deadletterqueue_context_headers_enable = Property(
        "errors.deadletterqueue.context.headers.enable",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether dead letters have the reason in headers `__connect.errors.*`.",
    )
    errors_deadletterqueue_topic_replication_factor = Property(
        "errors.deadletterqueue.topic.replication.factor",
        integer(-1),
        "3",
        Group.CONVERTERS,
        "Replicas of the topic of dead letters.",
        status=not_needed("the sink makes topics"),
    )
