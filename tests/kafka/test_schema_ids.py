"""Ids of schemas that a process keeps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.kafka.registry import Registry
from headrace.kafka.schema_ids import SchemaIds, schema_key


def never() -> int:
    raise AssertionError("it was asked again")


def test_an_id_is_asked_for_once() -> None:
    ids = SchemaIds()
    assert ids.of(b"a", lambda: 7) == 7
    assert ids.of(b"a", never) == 7


def test_ids_that_were_asked_for_elsewhere_are_not_asked_for() -> None:
    ids = SchemaIds()
    ids.learn({b"a": 7, b"b": 8})
    assert [ids.of(key, never) for key in (b"a", b"b")] == [7, 8]


@given(st.lists(st.integers(0, 30)), st.integers(1, 10))
def test_the_least_recently_used_ids_go_first(keys: list[int], limit: int) -> None:
    ids = SchemaIds(limit)
    recent: list[int] = []
    for key in keys:
        calls: list[int] = []
        assert ids.of(bytes([key]), lambda key=key, calls=calls: calls.append(key) or key) == key  # type: ignore[misc]
        assert bool(calls) == (key not in recent)
        recent = [*(each for each in recent if each != key), key][-limit:]
        assert len(ids) == len(recent)


def test_what_is_used_within_a_block_is_listed_kept_or_not() -> None:
    ids = SchemaIds()
    ids.of(b"a", lambda: 1)
    with ids.used() as used:
        ids.of(b"a", never)
        ids.of(b"b", lambda: 2)
    ids.of(b"c", lambda: 3)
    assert used == {b"a": 1, b"b": 2}


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_keys_differ_where_a_part_does(first: list[str], second: list[str]) -> None:
    assert (schema_key(*first) == schema_key(*second)) == (first == second)


def test_a_password_with_an_at_sign_is_not_shown() -> None:
    registry = Registry({"url": "http://user:p@ss@host:1,https://other:word@host:2/x@y"})
    assert registry.url == "http://********@host:1,https://********@host:2/x@y"
