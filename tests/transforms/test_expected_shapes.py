"""Shapes that are known before there are records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from headrace.connect.json_records import read_records
from headrace.connect.records import Guarded, Node, Records, Shape, Struct
from headrace.errors import HeadraceError
from headrace.transforms.blank_records import blank_records
from headrace.transforms.example import Example
from headrace.transforms.json_form import read_chain
from headrace.transforms.registry import transforms
from headrace.transforms.transform import Foresight
from tests.transforms.test_chain import ROUTE, properties

NEED_VALUES = {
    "ContentBasedRouter",  # its topics
    "EventRouter",  # its topics
    "MongoEventRouter",  # its topics
    "ExtractNewDocumentState",  # the fields of its documents
    "TimestampRouter",  # its topics
}


def described(shape: Shape) -> tuple[object, ...]:
    parts = (None if node is None else node.schema.json for node in (shape.key, shape.value))
    return (shape.topic, *parts)


def solid(node: Node | None) -> Node | None:
    """A tree whose structs are there, as those of connectors are: no cell of a row says so."""
    if isinstance(node, Guarded):
        return solid(node.node)
    if isinstance(node, Struct):
        return replace(node, members=tuple(map(solid, node.members)), presence=None)  # type: ignore[arg-type]
    return node


def shape_of(example: Example, **more: object) -> Shape:
    (records,) = read_records([example.record() | more])
    shape = records.shape
    return replace(shape, key=solid(shape.key), value=solid(shape.value))


def envelope(**options: str) -> dict[str, str]:
    return {"type": "io.debezium.transforms.Filter", "language": "groovy", **options}


ORDER = Example(
    {"before": {"id": 1, "n": 5}, "after": {"id": 1, "n": 7}, "source": {"db": "s"}, "op": "u"},
    key={"id": 1},
    topic="s.orders",
    names={"value": "s.orders.Envelope", "value.after": "s.orders.Value"},
)


def expected_of(steps: Mapping[str, Mapping[str, str]], topic: str = "s.orders") -> list[Shape]:
    chain = read_chain(properties(",".join(steps), **steps))
    return chain.expected(shape_of(ORDER, topic=topic))


@pytest.mark.parametrize(
    ("java_class", "example"),
    [
        pytest.param(name, declaration.example, id=name.removeprefix("io.debezium.transforms."))
        for name, declaration in transforms()
        if declaration.example is not None
    ],
)
def test_what_a_transform_makes_is_known_before_unless_values_decide(
    java_class: str, example: Example
) -> None:
    steps: Any = {"a": {"type": java_class, **example.options}}
    chain = read_chain(properties("a", **steps))
    (records,) = read_records([example.record()])
    transform = chain.steps[0].transform
    if not isinstance(transform, Foresight):
        with suppress(HeadraceError):  # nothing else may happen
            list(transform.apply(blank_records(shape_of(example))))
    expected = {described(shape) for shape in chain.expected(shape_of(example))}
    shapes = {described(each.shape) for each in chain([records])}
    is_known = shapes <= expected
    needs_values = java_class.rpartition(".")[2] in NEED_VALUES
    assert is_known != needs_values, (shapes, expected)
    assert not (needs_values and expected)  # no topic and no field is made up


def test_rows_and_routes_are_known_before() -> None:
    unwrap = {"type": "io.debezium.transforms.ExtractNewRecordState", "add.fields": "op"}
    (shape,) = {described(s): s for s in expected_of({"u": unwrap, "r": ROUTE})}.values()
    assert shape.topic == "s.orders-x"
    assert shape.value is not None
    assert [field.name for field in shape.value.schema.fields] == ["id", "n", "__op"]


@pytest.mark.parametrize(
    ("condition", "may_pass"),
    [
        ("value.after.n > 5", True),
        ("topic == 's.orders'", True),
        ("topic == 's.orders' && value.after.n > 5", True),
        ("topic != 's.orders' && value.after.n > 5", False),
        ("value.after.n > 5 && topic != 's.orders'", False),
        ("topic != 's.orders' || value.after.n > 5", True),
        ("!(topic == 's.orders')", False),
        ("!(value.op == 'd')", True),
        ("value.nothing == 1", True),  # an error of the record, not of the shape
    ],
)
def test_a_filter_keeps_what_some_value_could_let_pass(condition: str, may_pass: bool) -> None:
    assert bool(expected_of({"f": envelope(condition=condition)})) == may_pass


@pytest.mark.parametrize(
    ("expression", "topics"),
    [("topic + '.copy'", ["s.orders.copy"]), ("value.after.n > 5 ? 'big' : null", [])],
)
def test_a_router_by_content_is_foreseen_where_values_have_no_say(
    expression: str, topics: list[str]
) -> None:
    router = {
        "type": "io.debezium.transforms.ContentBasedRouter",
        "language": "groovy",
        "topic.expression": expression,
    }
    assert [shape.topic for shape in expected_of({"c": router})] == topics


def test_a_route_by_a_column_is_not_foreseen() -> None:
    unwrap = {"type": "io.debezium.transforms.ExtractNewRecordState", "route.by.field": "n"}
    assert expected_of({"u": unwrap}) == []


def test_predicates_are_applied() -> None:
    steps = {
        "r": ROUTE | {"predicate": "p"},
        "predicates_p": {"type": "TopicNameMatches", "pattern": "s[.].*"},
    }
    chain = read_chain(properties("r", **steps))
    for topic, routed in (("s.orders", "s.orders-x"), ("other", "other")):
        expected = chain.expected(shape_of(ORDER, topic=topic))
        assert [shape.topic for shape in expected] == [routed]


def careless(records: Records, _options: Mapping[str, str]) -> Iterable[Records]:
    """A transform of one's own that takes values for granted."""
    raise IndexError(len(records))


def test_a_transform_that_cannot_do_without_values_leaves_the_shape_to_tasks() -> None:
    step = {"type": "tests.transforms.test_expected_shapes:careless"}
    assert expected_of({"own": step}) == []


def test_without_a_chain_the_shape_itself_is_expected() -> None:
    shape = shape_of(ORDER)
    assert read_chain({}).expected(shape) == [shape]
