"""RegexRouter: topics renamed by an expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from headrace.config.configuration import Configuration
from headrace.config.kinds import EXACT_TEXT, REGEX
from headrace.config.property import REQUIRED, Group, Property
from headrace.config.regex import compile_java_regex, compile_java_replacement
from headrace.connect.records import Records
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.routing import Routes
from headrace.transforms.transform import Declaration, Ordering


class RegexRouterOptions(Configuration):
    """Options of RegexRouter."""

    regex = Property(
        "regex", REGEX, REQUIRED, Group.CONVERTERS, "The expression that the whole topic matches."
    )
    replacement = Property(
        "replacement",
        EXACT_TEXT,
        REQUIRED,
        Group.CONVERTERS,
        "The new topic: `$1` and `${name}` are what the expression's groups matched.",
    )


class RegexRouter:
    """See DECLARATION."""

    ordering = Ordering.PER_TABLE

    def __init__(self, options: RegexRouterOptions) -> None:
        self._pattern: re.Pattern[str] = compile_java_regex(options.regex, case_matters=True)
        self._replaced = _replacement(options.replacement, self._pattern)
        self._routes = Routes()

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        shape = records.shape
        if self._pattern.fullmatch(shape.topic) is None:
            return [records]
        topic = self._pattern.sub(self._replaced, shape.topic, count=1)
        return [records.with_shape(self._routes.shape(shape, topic))]


def _replacement(text: str, pattern: re.Pattern[str]) -> Callable[[re.Match[str]], str]:
    try:
        return compile_java_replacement(text, pattern)
    except ValueError as error:
        raise HeadraceError(
            "transforms.bad_replacement",
            f"replacement = {text!r}: {error}",
            "Name groups that the expression has.",
        ) from None


DECLARATION = Declaration(
    "RegexRouter",
    "Renames topics: one that the expression matches as a whole becomes the replacement.",
    RegexRouterOptions,
    RegexRouter,
    example=Example("x", {"regex": "shop\\.(.*)", "replacement": "$1"}, topic="shop.orders"),
)
