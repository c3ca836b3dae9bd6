"""TimestampRouter: puts the record's timestamp into the topic's name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from headrace.config.configuration import Configuration
from headrace.config.kinds import TRIMMED_TEXT, templated
from headrace.config.property import Group, Property
from headrace.connect.evaluation.values import values
from headrace.connect.records import Records
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.kafka.times.date_format import DateFormat
from headrace.transforms.routing import Routes
from headrace.transforms.transform import Declaration, Ordering, WrongOption


class TimestampRouterOptions(Configuration):
    """Options of TimestampRouter."""

    topic_format = Property(
        "topic.format",
        templated(TRIMMED_TEXT),
        "${topic}-${timestamp}",
        Group.CONVERTERS,
        "The new topic: `${topic}` is the old one, `${timestamp}` the record's time.",
    )
    timestamp_format = Property(
        "timestamp.format",
        TRIMMED_TEXT,
        "yyyyMMdd",
        Group.CONVERTERS,
        "The format of times: a pattern of Java's SimpleDateFormat; in UTC.",
    )


def date_format(name: str, pattern: str) -> DateFormat:
    """Return the format of an option. Raises WrongOption("transforms.bad_date_format")."""
    try:
        return DateFormat(pattern)
    except ValueError as error:
        raise WrongOption(
            "transforms.bad_date_format",
            name,
            f" = {pattern!r}: {error}",
            "Write a pattern of Java's SimpleDateFormat, texts between apostrophes.",
        ) from None


class TimestampRouter:
    """See DECLARATION."""

    ordering = Ordering.NONE

    def __init__(self, options: TimestampRouterOptions) -> None:
        if not options.topic_format.strip():
            raise WrongOption(
                "transforms.empty_topic",
                "topic.format",
                " is empty",
                "Write a topic, such as ${topic}-${timestamp}.",
            )
        self._topic = options.topic_format
        self._format = date_format("timestamp.format", options.timestamp_format)
        self._routes = Routes()

    def expected(self, records: Records) -> Iterable[Records]:  # noqa: ARG002
        """See Foresight: timestamps determine the topics."""
        return []

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.no_timestamp")."""
        times = None
        if records.shape.timestamp is not None:
            times = values(records, records.shape.timestamp)
        if times is None or times.null_count:
            raise HeadraceError(
                "transforms.no_timestamp",
                f"a record of {records.shape.topic} has no time of its own",
                "Records of a connector have none; remove TimestampRouter, or give it a predicate.",
            )
        encoded = self._format.format(np.asarray(times)).dictionary_encode()
        named = self._topic.replace("${topic}", records.shape.topic)
        topics = [named.replace("${timestamp}", text) for text in encoded.dictionary.to_pylist()]
        return self._routes.split(
            records, pa.array(topics, pa.large_string()).take(encoded.indices)
        )


DECLARATION = Declaration(
    "TimestampRouter",
    "Puts the record's own time into its topic.",
    TimestampRouterOptions,
    TimestampRouter,
    example=Example({"id": 1}, {"timestamp.format": "yyyy-MM"}, timestamp=1700000000123),
)
