"""Excluded and renamed fields: the compiled pass against plain Python, and plain Python against
recordings of Debezium's FieldSelector (`make golden`)."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.mongodb.properties.fields import (
    FieldRule,
    parse_excluded_fields,
    parse_renamed_fields,
    rules_of,
)
from headrace.documents.fields import FieldRules, PathRule
from headrace.errors import HeadraceError
from tests.documents.golden_fields import NAMESPACE, FieldCase, field_cases
from tests.documents.plain_bson import encode, encode_value
from tests.documents.plain_fields import PlainRules, Taken

RECORDING = Path(__file__).parent / "recordings" / "fields.jsonl"

names = st.sampled_from("abcd") | st.sampled_from(["0", "1", "long name"])
documents = st.recursive(
    st.integers(0, 9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)
dotted = st.lists(names, min_size=1, max_size=4).map(".".join)
paths = st.lists(st.sampled_from("abcd") | st.sampled_from(["a", "0", "1"]), min_size=1, max_size=3)


@st.composite
def rules(draw: st.DrawFn) -> list[PathRule]:
    excluded = draw(st.lists(paths, max_size=3))
    new_names = st.sampled_from(["z", "a", "0", "a far longer name", "a.b", "c.0.d"])
    renamed = draw(st.lists(st.tuples(paths, new_names), max_size=3))
    excludes = [PathRule(tuple(path)) for path in excluded]
    return excludes + [PathRule(tuple(path), name) for path, name in renamed if path[-1] != name]


def parsed(exclude: str, renames: str) -> list[FieldRule]:
    return [*parse_excluded_fields(exclude), *parse_renamed_fields(renames)]


def result(apply: Callable[[Any], Any], value: Any) -> Any:
    """The result; "taken" if a name is taken."""
    try:
        return apply(copy.deepcopy(value))
    except Taken:
        return "taken"
    except HeadraceError as error:
        return "taken" if error.code == "documents.value_not_representable" else error


def of_document(compiled: Callable[[bytes], bytes]) -> Callable[[dict[str, Any]], list[Any]]:
    return lambda document: ordered(bson.decode(compiled(encode(document))))


def ordered(value: Any) -> Any:
    """Documents as lists of their members, so that their order counts."""
    if isinstance(value, dict):
        return [[name, ordered(item)] for name, item in value.items()]
    return ["array", *map(ordered, value)] if isinstance(value, list) else value


def check(case_rules: list[PathRule], case: FieldCase) -> None:
    plain = PlainRules(case_rules, as_debezium=False)
    ours = FieldRules(case_rules)
    assert result(of_document(ours.document), case.document) == result(
        lambda members: ordered(plain.document(members)), case.document
    )
    assert result(of_document(ours.updated_fields), case.updated) == result(
        lambda members: ordered(plain.updated_fields(members)), case.updated
    )
    removed_names = [written for name in case.removed if (written := plain.name(name)) is not None]
    assert names_in(ours.names(encode_value(case.removed)[1:])) == removed_names
    arrays = [{"field": name, "newSize": 3} for name in case.removed]
    written = names_in(ours.names(encode_value(arrays)[1:]))
    fields = [array for name in case.removed if (array := plain.array(name)) is not None]
    assert written == [{"field": name, "newSize": 3} for name in fields]


def names_in(array: bytes) -> list[Any]:
    return list(bson.decode(array).values())


@given(
    rules(),
    st.dictionaries(names, documents, max_size=5),
    st.dictionaries(dotted, documents, max_size=5),
    st.lists(dotted, max_size=5),
)
def test_documents_updates_and_names_are_as_in_plain_python(
    case_rules: list[PathRule],
    document: dict[str, Any],
    updated: dict[str, Any],
    removed: list[str],
) -> None:
    check(case_rules, FieldCase("", "", document, updated, removed))


def test_recorded_cases_are_as_debezium_has_them_but_for_what_it_forgets() -> None:
    lines = [json.loads(line) for line in RECORDING.read_text().splitlines()]
    cases = field_cases()
    assert len(lines) == len(cases)
    forgotten = 0
    for case, (document, updated, removed) in zip(cases, lines, strict=True):
        case_rules = parsed(case.exclude, case.renames)
        named = [rule for rule in case_rules if rule.concerns(*NAMESPACE.split("."))]
        matching = [PathRule(rule.path, rule.name) for rule in named]
        plain = PlainRules(matching, as_debezium=True)
        assert result(lambda m, p=plain: ordered(p.document(m)), case.document) == document
        assert result(lambda m, p=plain: ordered(p.updated_fields(m)), case.updated) == updated
        assert [plain.name(name) for name in case.removed] == removed
        check(matching, case)
        ours = rules_of(case_rules, *NAMESPACE.split("."))
        assert result(of_document(ours.document), case.document) == document
        forgotten += result(of_document(ours.updated_fields), case.updated) != updated
    assert 0 < forgotten < 40


def test_rules_of_other_collections_do_not_count_and_rules_travel_to_tasks() -> None:
    field_rules = parsed("shop.orders.a, SHOP.*.b ,shop.other.c", "*.orders.d:e")
    document = encode({"a": 1, "b": 2, "c": 3, "d": 4})
    for compiled in (
        rules_of(field_rules, "shop", "orders"),
        rules_of(field_rules, "x", "customers"),
    ):
        again = pickle.loads(pickle.dumps(compiled))
        assert again.document(document) == compiled.document(document)
    ours = rules_of(field_rules, "Shop", "orders")
    assert ours.count == 3
    assert bson.decode(ours.document(document)) == {"c": 3, "e": 4}


def test_a_field_that_gets_a_name_which_is_there_is_an_error() -> None:
    ours = FieldRules([PathRule(("a",), "b")])
    with pytest.raises(HeadraceError, match=r"field\.renames: a document has a field already"):
        ours.document(encode({"a": 1, "b": 2}))


@pytest.mark.parametrize(
    ("rule", "arrays", "shown"),
    [
        (PathRule(("a",)), ["a", "a.b", "a.0.b", "ab"], ["ab"]),
        (PathRule(("a", "b")), ["a", "a.b", "a.b.c", "a.0.b", "a.c"], ["a", "a.c"]),
        (PathRule(("a",), "z"), ["a", "a.b", "a.0.b", "b"], ["z", "z.b", "z.0.b", "b"]),
        (PathRule(("a", "b"), "z"), ["a", "a.b", "a.3.b.c"], ["a", "a.z", "a.3.z.c"]),
    ],
)
def test_shortened_arrays_go_with_the_field_around_them_and_not_with_one_inside(
    rule: PathRule, arrays: list[str], shown: list[str]
) -> None:
    documents = [{"field": name, "newSize": size} for size, name in enumerate(arrays)]
    ours = names_in(FieldRules([rule]).names(encode_value(documents)[1:]))
    assert [document["field"] for document in ours] == shown
    assert all(document in documents for document in ours if document["field"] in arrays)


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (PathRule(()), "'' has 0 names, not 1 to 100"),
        (PathRule(("a",) * 101), "has 101 names, not 1 to 100"),
        (PathRule(("b", "a"), "a"), "'b.a' has the name already that it is to get"),
        (PathRule(("a\0",)), "has a zero character"),
        (PathRule(("a",), "\0"), "has a zero character"),
    ],
)
def test_rules_that_cannot_be_applied_are_errors(rule: PathRule, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        FieldRules([rule])


def test_broken_documents_are_errors() -> None:
    ours = FieldRules([PathRule(("a",))])
    for broken in (b"", b"\x05\0\0\0\1", encode({"a": 1})[:-1], encode({"b": "c"})[:-3] + b"xx\0"):
        for apply in (ours.document, ours.updated_fields, ours.names):
            with pytest.raises(HeadraceError) as caught:
                apply(broken)
            assert caught.value.code == "documents.value_not_understood"
