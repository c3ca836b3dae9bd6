"""The input of recordings of Debezium's FieldSelector: rules, and documents for them."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

NAMESPACE = "shop.orders"


class FieldCase(NamedTuple):
    """Values of the two properties, a document, updated fields and names of removed fields."""

    exclude: str
    renames: str
    document: dict[str, Any]
    updated: dict[str, Any]
    removed: list[str]


def _case(exclude: str, renames: str = "", **members: Any) -> FieldCase:
    document = {
        "_id": 1, "name": "Sally", "phone": {"home": 1, "work": 2},
        "addresses": [{"number": 34, "street": "Claude", "city": "Canberra"}, [{"number": 1}], 5],
        "scores": [1.2, 3.4],
    }  # fmt: skip
    updated = {
        "name": "Mary", "phone.home": 3, "addresses.0.number": 35, "addresses.0.city": "x",
        "addresses.1.number": 7, "scores.0": 1.5,
    }  # fmt: skip
    removed = ["name", "phone", "phone.home", "addresses.0.number", "scores", "other"]
    return FieldCase(exclude, renames, document | members, updated, removed)


WRITTEN = [
    _case(""),
    _case("shop.orders.name"),
    _case("*.orders.name,shop.*.scores"),
    _case("SHOP.Orders.name"),
    _case("other.orders.name,shop.other.name"),
    _case("shop.orders.missing"),
    _case("shop.orders.phone.home"),
    _case("shop.orders.phone,shop.orders.name"),
    _case("shop.orders.addresses.number"),
    _case("shop.orders.addresses"),
    _case("", "shop.orders.name:fullName"),
    _case("", "shop.orders.phone.home:private"),
    _case("", "shop.orders.addresses.number:no"),
    _case("", "shop.orders.addresses:places"),
    _case("", "shop.orders.name:scores"),
    _case("shop.orders.name", "shop.orders.name:x,shop.orders.scores:marks"),
    _case("shop.orders.addresses.city", "shop.orders.addresses.number:no,shop.orders.addresses:at"),
    _case("s*p.ord*.name"),
    FieldCase(
        "shop.orders.a.b", "", {"a": {"b": 1, "c": 2}}, {"a": {"b": 1}, "a.b.c": 1}, ["a.b.c"]
    ),
    FieldCase("shop.orders.a.b", "", {}, {"a.0": {"b": 1}, "a.1": {"b": 2}}, ["a.0.b", "a.0"]),
    FieldCase("shop.orders.a", "", {}, {"a.0.0.b": 1, "a.0.b": 2, "0.a": 3}, ["a.0.0", "0.a"]),
    FieldCase("", "shop.orders.a:z", {"a": {"x": 1}}, {"a.x": 1, "a.0.x": 2}, ["a.x", "a"]),
    *(
        FieldCase(
            *rules,
            {"s": {"1": 1, "2": {"t": 5, "u": 6}}, "1": "x", "m": [{"x": 1}, {"x": 2}]},
            updated,
            ["s.2", "s.2.t", "s.1", "1", "m.1.x", "m.1"],
        )
        for rules in (
            ("shop.orders.s.2", ""),
            ("shop.orders.s.2.t", ""),
            ("shop.orders.1", ""),
            ("shop.orders.m.1.x", ""),
            ("shop.orders.m.1", ""),
            ("", "shop.orders.s.2:last"),
            ("", "shop.orders.s.2.t:total"),
            ("", "shop.orders.1:one"),
            ("", "shop.orders.m.1.x:y"),
            ("", "shop.orders.s.1:2"),
            ("", "shop.orders.s.2.t:a.b"),
            ("shop.orders.s.1", "shop.orders.s.2:1,shop.orders.1:a.b"),
        )
        for updated in (
            {"s.2": {"t": 7}, "1": "y", "m.1.x": 3},
            {"s.2.t": 7, "s.1": 2, "m.1": {"x": 3}},
            {"s": {"2": {"t": 7}}, "1.x": 1, "m.0.x": 3},
            {"s.1": 2, "s.2": 3, "s.0.2": 4, "s.2.0.t": 5, "m.1.x": 1, "m.0.x": 1},
        )
    ),
]


def _value(random: Random, depth: int) -> Any:
    kind = random.randrange(6 if depth else 3)
    if kind < 3:
        return random.choice([1, "x", None, 2.5])
    if kind < 5:
        return _document(random, depth - 1)
    return [_value(random, depth - 1) for _ in range(random.randrange(4))]


def _document(random: Random, depth: int) -> dict[str, Any]:
    names = random.sample("abcd", random.randrange(4))
    return {name: _value(random, depth) for name in names}


def _dotted(random: Random) -> str:
    parts = [random.choice("abc")]
    parts += [random.choice(["a", "b", "0", "1"]) for _ in range(random.randrange(3))]
    return ".".join(parts)


def _path(random: Random) -> str:
    nodes = [random.choice("abc") for _ in range(random.choice((1, 1, 2, 3)))]
    return ".".join([NAMESPACE, *nodes])


def field_cases() -> list[FieldCase]:
    """Written ones, and random ones of few names."""
    random = Random("fields")
    cases = list(WRITTEN)
    for _ in range(400):
        excluded = [_path(random) for _ in range(random.randrange(3))]
        renamed = [f"{_path(random)}:{random.choice('dyz')}" for _ in range(random.randrange(3))]
        updated = {_dotted(random): _value(random, 2) for _ in range(random.randrange(4))}
        names = sorted({_dotted(random) for _ in range(3)})
        document = _document(random, 3)
        cases.append(FieldCase(",".join(excluded), ",".join(renamed), document, updated, names))
    return cases
