"""Captured collections by the lists of databases and collections."""

from __future__ import annotations

import pytest

from headrace.connectors.mongodb.capture.namespaces import Namespaces
from headrace.connectors.mongodb.config import MongoConfig

NAMES = ("shop.orders", "SHOP.Orders", "myshop.orders", "shop.orders2", "shop.a.b", "ops.signals",
         "admin.x", "local.x", "config.x", "system.x")  # fmt: skip
USERS = NAMES[:6] + NAMES[9:]


def taken(properties: dict[str, str]) -> set[str]:
    required = {"topic.prefix": "p", "mongodb.connection.string": "mongodb://h/?replicaSet=rs0"}
    namespaces = Namespaces(MongoConfig.parse({**required, **properties}))
    return {name for name in NAMES if namespaces.takes(*name.split(".", 1))}


@pytest.mark.parametrize(
    ("properties", "names"),
    [
        ({}, set(USERS)),
        ({"database.include.list": "shop"},
         {"shop.orders", "SHOP.Orders", "shop.orders2", "shop.a.b"}),
        ({"database.exclude.list": "shop,ops"}, {"myshop.orders", "system.x"}),
        ({"collection.include.list": "shop.orders"}, {"shop.orders", "SHOP.Orders"}),
        ({"collection.include.list": r"shop\..*"},
         {"shop.orders", "SHOP.Orders", "shop.orders2", "shop.a.b"}),
        ({"collection.exclude.list": ".*orders"}, {"shop.orders2", "shop.a.b", "ops.signals",
                                                   "system.x"}),
        ({"database.include.list": "shop", "collection.exclude.list": "shop.orders"},
         {"shop.orders2", "shop.a.b"}),
        ({"database.include.list": "admin,local"}, set()),
    ],
)  # fmt: skip
def test_expressions_match_whole_names_in_any_case(
    properties: dict[str, str], names: set[str]
) -> None:
    assert taken(properties) == names


@pytest.mark.parametrize(
    ("properties", "names"),
    [
        ({"collection.include.list": "shop.orders, shop.a.b"}, {"shop.orders", "shop.a.b"}),
        ({"database.include.list": "shop"}, {"shop.orders", "shop.orders2", "shop.a.b"}),
        ({"collection.include.list": "shop.*"}, set()),
        ({"database.exclude.list": "shop,ops", "collection.exclude.list": "system.x"},
         {"SHOP.Orders", "myshop.orders"}),
    ],
)  # fmt: skip
def test_literal_names_are_the_names(properties: dict[str, str], names: set[str]) -> None:
    assert taken({"filters.match.mode": "literal", **properties}) == names


@pytest.mark.parametrize("mode", ["regex", "literal"])
def test_the_signal_collection_is_always_captured(mode: str) -> None:
    lists = {"filters.match.mode": mode, "database.include.list": "shop",
             "collection.include.list": "shop.orders"}  # fmt: skip
    with_signals = taken({**lists, "signal.data.collection": "ops.signals"})
    assert with_signals - taken(lists) == {"ops.signals"}


def test_the_scope_of_the_stream_bounds_what_it_tells() -> None:
    def in_scope(**properties: str) -> set[str]:
        written = {name.replace("_", "."): text for name, text in properties.items()}
        required = {"topic.prefix": "p", "mongodb.connection.string": "mongodb://h"}
        namespaces = Namespaces(MongoConfig.parse({**required, **written}))
        return {name for name in USERS if namespaces.in_scope(*name.split(".", 1))}

    assert in_scope() == set(USERS)
    assert in_scope(capture_scope="database", capture_target="ops") == {"ops.signals"}
    assert in_scope(capture_scope="collection", capture_target="shop.a.b") == {"shop.a.b"}
