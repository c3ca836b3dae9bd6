"""Kafka Connect's predicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.config.configuration import Configuration
from headrace.config.kinds import ROW_REGEX, TEXT
from headrace.config.property import REQUIRED, Group, Property
from headrace.config.regex import Expression, compile_java_regex
from headrace.connect.evaluation.values import carries, tombstones
from headrace.connect.records import On, Records
from headrace.transforms.example import Example
from headrace.transforms.transform import Declaration


class NoOptions(Configuration):
    """A predicate or transform without options."""


class TopicNameMatchesOptions(Configuration):
    """Options of TopicNameMatches."""

    pattern = Property(
        "pattern",
        ROW_REGEX,
        REQUIRED,
        Group.CONVERTERS,
        "The expression that the whole topic matches.",
    )


class HasHeaderKeyOptions(Configuration):
    """Options of HasHeaderKey."""

    name = Property("name", TEXT, REQUIRED, Group.CONVERTERS, "The name of the header.")


@dataclass(frozen=True)
class TopicNameMatches:
    """True for records whose whole topic name matches."""

    pattern: Expression

    def matches(self, records: Records) -> bool:
        """See Predicate."""
        return self.pattern.fullmatch(records.shape.topic)


@dataclass(frozen=True)
class HasHeaderKey:
    """True for records that have a header with the given name."""

    name: str

    def matches(self, records: Records) -> bool | np.ndarray:
        """See Predicate."""
        named = [header for header in records.shape.headers if header.name == self.name]
        if not named or any(header.on is On.EVERY for header in named):
            return bool(named)
        return np.asarray(np.any([carries(records, header) for header in named], axis=0))


@dataclass(frozen=True)
class RecordIsTombstone:
    """True for records without a value."""

    def matches(self, records: Records) -> np.ndarray:
        """See Predicate."""
        return tombstones(records)


def _topic_name_matches(options: TopicNameMatchesOptions) -> TopicNameMatches:
    return TopicNameMatches(compile_java_regex(options.pattern, case_matters=True))


def _has_header_key(options: HasHeaderKeyOptions) -> HasHeaderKey:
    return HasHeaderKey(options.name)


def _record_is_tombstone(_options: NoOptions) -> RecordIsTombstone:
    return RecordIsTombstone()


TOPIC_NAME_MATCHES = Declaration(
    "TopicNameMatches",
    "True for records whose whole topic matches an expression.",
    TopicNameMatchesOptions,
    _topic_name_matches,
    example=Example({"id": 1}, {"pattern": "shop.internal.*"}, topic="shop.internal.audit"),
)
HAS_HEADER_KEY = Declaration(
    "HasHeaderKey",
    "True for records that have the header `name`.",
    HasHeaderKeyOptions,
    _has_header_key,
    example=Example({"id": 1}, {"name": "test-run"}, headers={"test-run": "t-1"}),
)
RECORD_IS_TOMBSTONE = Declaration(
    "RecordIsTombstone",
    "True for records whose value is null.",
    NoOptions,
    _record_is_tombstone,
    example=Example(None, key={"id": 1}),
)
