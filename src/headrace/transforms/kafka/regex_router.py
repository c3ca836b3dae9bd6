"""RegexRouter: renames topics by a regular expression."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.config.configuration import Configuration
from headrace.config.kinds import ROW_REGEX, TRIMMED_TEXT, templated
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.records import Records
from headrace.transforms.example import Example
from headrace.transforms.routing import Renaming, Routes
from headrace.transforms.transform import Declaration, Ordering


class RegexRouterOptions(Configuration):
    """Options of RegexRouter."""

    regex = Property(
        "regex",
        ROW_REGEX,
        REQUIRED,
        Group.CONVERTERS,
        "The expression that the whole topic matches.",
    )
    replacement = Property(
        "replacement",
        templated(TRIMMED_TEXT),
        REQUIRED,
        Group.CONVERTERS,
        "The new topic: `$1` and `${name}` are the groups of the expression.",
    )


class RegexRouter:
    """See DECLARATION."""

    ordering = Ordering.PER_TABLE

    def __init__(self, options: RegexRouterOptions) -> None:
        self._renamed = Renaming(options.regex, options.replacement, "replacement")
        self._routes = Routes()

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        shape = records.shape
        topic = self._renamed(shape.topic)
        if topic is None:
            return [records]
        return [records.with_shape(self._routes.shape(shape, topic))]


DECLARATION = Declaration(
    "RegexRouter",
    "Renames topics: if the expression matches the whole topic, the topic becomes the replacement.",
    RegexRouterOptions,
    RegexRouter,
    example=Example("x", {"regex": "shop\\.(.*)", "replacement": "$1"}, topic="shop.orders"),
)
