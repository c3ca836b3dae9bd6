"""Signals that nobody could apply are refused before they are sent."""

from __future__ import annotations

import json

import pytest

from headrace.errors import HeadraceError
from headrace.signals.sending import SignalTargets, check_targets, make_signal

TARGETS = SignalTargets(
    collections=["shop.orders", "shop.items", "shop.signals", "shop.late"],
    captured=["shop.orders", "shop.late", "shop.signals"],
    silent={"shop.late": "ALTER PUBLICATION p ADD TABLE shop.late;"},
)


def check(*collections: str, kind: str = "execute-snapshot") -> None:
    data = json.dumps({"data-collections": list(collections)})
    check_targets(make_signal(kind, data, None), TARGETS)


@pytest.mark.parametrize("name", ["shop.orders", "SHOP.ORDERS", "shop.ord.*", '"shop"."orders"'])
def test_a_captured_table_may_be_named_in_every_way(name: str) -> None:
    check(name)


@pytest.mark.parametrize(
    ("names", "code", "words"),
    [
        (["shop.nothere"], "signals.no_collection", "shop.nothere does not exist"),
        (["shop.orders", "shop.items"], "signals.not_captured", "shop.items exists"),
        (["shop.(items|x)"], "signals.not_captured", "shop.items exists"),
        (["shop.late"], "signals.not_published", "ALTER PUBLICATION p ADD TABLE shop.late;"),
        (["shop.o.*", "shop.l.*"], "signals.not_published", "its changes will not arrive"),
    ],
)
def test_a_table_that_cannot_be_read_and_followed_is_refused(
    names: list[str], code: str, words: str
) -> None:
    with pytest.raises(HeadraceError) as raised:
        check(*names)
    assert raised.value.code == code
    assert words in str(raised.value)


def test_other_signals_name_no_tables_that_must_be_there() -> None:
    check("shop.gone", kind="stop-snapshot")
    check_targets(make_signal("log", '{"message": "x"}', None), TARGETS)


def test_a_wrong_signal_is_answered_with_an_example() -> None:
    with pytest.raises(HeadraceError) as raised:
        make_signal("execute-snapshots", "{}", None)
    assert "headrace signal FILE execute-snapshot '{" in raised.value.remedy


@pytest.mark.parametrize(
    "data",
    [
        {"type": "token='hunter2x'", "data-collections": ["a"]},
        {"data-collections": ["[token=hunter2x"]},
        {"data-collections": ["a"], "type": "postgres://u:hunter2x@h"},
    ],
)
def test_what_is_wrong_with_a_signal_is_reported_without_a_password_in_it(
    data: dict[str, object],
) -> None:
    with pytest.raises(HeadraceError) as raised:
        make_signal("execute-snapshot", json.dumps(data), None)
    assert raised.value.code == "signals.invalid"
    assert "hunter2x" not in str(raised.value)
