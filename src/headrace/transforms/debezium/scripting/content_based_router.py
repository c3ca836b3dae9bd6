"""ContentBasedRouter: routes records to the topics that an expression returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headrace.config.kinds import TEXT, templated
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.records import Records
from headrace.transforms.debezium.scripting.scripted import HOLDS, Scripted, ScriptedOptions
from headrace.transforms.example import Example
from headrace.transforms.expressions.constancy import is_constant
from headrace.transforms.routing import Routes
from headrace.transforms.transform import Declaration, Ordering


class ContentBasedRouterOptions(ScriptedOptions):
    """Options of ContentBasedRouter."""

    topic_expression = Property(
        "topic.expression",
        templated(TEXT),
        REQUIRED,
        Group.CONVERTERS,
        "The topic of each record; if it is null or blank, the topic does not change. " + HOLDS,
    )


class ContentBasedRouter:
    """See DECLARATION."""

    ordering = Ordering.PER_TABLE

    def __init__(self, options: ContentBasedRouterOptions) -> None:
        self._scripted = Scripted(options, "topic.expression", options.topic_expression)
        self._routes = Routes()

    def expected(self, records: Records) -> Iterable[Records]:
        """See Foresight: values determine the topics, unless the expression is constant."""
        expression = self._scripted.expression
        if not self._scripted.sees(records) or is_constant(expression.tree, records.shape):
            return self.apply(records)
        return []

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        if not self._scripted.sees(records):
            return [records]
        return self._routed(records)

    def _routed(self, records: Records) -> Iterator[Records]:
        passing, others = self._scripted.split(records)
        yield passing
        if len(others):
            yield from self._routes.split(others, self._scripted.expression.texts(others))


DECLARATION = Declaration(
    "ContentBasedRouter",
    "Sends records to the topics that an expression names. A record for which it is neither a text "
    "nor null is an error.",
    ContentBasedRouterOptions,
    ContentBasedRouter,
    example=Example(
        {"after": {"id": 1, "state": "paid"}, "op": "u"},
        {
            "language": "jsr223.groovy",
            "topic.expression": "value.after?.state == 'paid' ? topic + '.paid' : null",
        },
        key={"id": 1},
        topic="s.orders",
    ),
)
