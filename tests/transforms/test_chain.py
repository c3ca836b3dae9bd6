"""Chains: order, predicates, what is wrong with their properties, and records that fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from headrace.config.properties.execution import ExecutionConfig
from headrace.config.properties.transforms import TransformsConfig
from headrace.connect.evaluation.values import values
from headrace.connect.json_records import read_records, write_records
from headrace.connect.records import Records
from headrace.errors import HeadraceError
from headrace.transforms import apply_json
from headrace.transforms.json_form import read_chain
from headrace.transforms.reading import examine_chain
from headrace.transforms.transform import Ordering, transform

ROUTE = {"type": "RegexRouter", "regex": "(.*)", "replacement": "$1-x"}
TEXT = {"type": "string", "optional": True}


def properties(aliases: str = "a", **steps: Mapping[str, str]) -> dict[str, str]:
    """`predicates_p={…}` are the options of a predicate, `a={…}` those of a transform."""
    chain_properties = {"transforms": aliases}
    for alias, options in steps.items():
        family, _, name = ("transforms", "", alias)
        if alias.startswith("predicates_"):
            family, name = "predicates", alias.removeprefix("predicates_")
            chain_properties["predicates"] = ",".join(
                filter(None, (chain_properties.get("predicates", ""), name))
            )
        chain_properties |= {f"{family}.{name}.{option}": text for option, text in options.items()}
    return chain_properties


def record(topic: str = "t", value: str | None = "v", headers: Any = ()) -> dict[str, Any]:
    part = None if value is None else {"schema": TEXT, "payload": value}
    return {"topic": topic, "partition": None, "timestamp": None, "key": None, "value": part,
            "headers": list(headers)}  # fmt: skip


def topics(entries: Iterable[Mapping[str, object] | None]) -> list[object]:
    return [None if each is None else each.get("topic", "error") for each in entries]


@transform(ordering=Ordering.KEEPS_KEY)
def without_b(records: Records, options: Mapping[str, str]) -> Iterable[Records]:
    """Leaves out what holds a text, and fails where it holds another."""
    texts = values(records, records.shape.value).to_pylist()  # type: ignore[arg-type]
    if options["fails"] in texts:
        raise HeadraceError("test.failed", "it holds what fails", "Nothing.")
    yield records.with_rows(np.array([text != options["text"] for text in texts]))


OWN = {"type": "tests.transforms.test_chain:without_b", "text": "b", "fails": "f"}


def test_transforms_run_in_their_order() -> None:
    second = ROUTE | {"replacement": "$1-y"}
    assert topics(apply_json(properties("a,b", a=ROUTE, b=second), [record()])) == ["t-x-y"]
    assert topics(apply_json(properties("b,a", a=ROUTE, b=second), [record()])) == ["t-y-x"]


@pytest.mark.parametrize(
    ("predicate", "matching"),
    [
        ({"type": "TopicNameMatches", "pattern": "t[12]"}, [True, True, False, False]),
        ({"type": "HasHeaderKey", "name": "h"}, [False, True, False, False]),
        ({"type": "RecordIsTombstone"}, [False, False, False, True]),
    ],
)
@pytest.mark.parametrize("negate", ["", "false", "true"])
def test_a_predicate_decides_which_records_are_transformed(
    predicate: dict[str, str], matching: list[bool], negate: str
) -> None:
    header = {"name": "h", "schema": TEXT, "payload": "x"}
    records = [record("t1"), record("t2", headers=[header]), record("t3"), record("t30", None)]
    step = ROUTE | {"predicate": "p", "negate": negate}
    outcomes = apply_json(properties(a=step, predicates_p=predicate), records)
    moved = [str(topic).endswith("-x") for topic in topics(outcomes)]
    assert moved == [match != (negate == "true") for match in matching]


def test_all_that_is_wrong_is_reported_at_once() -> None:
    wrong = properties(
        "a,b,c,d,e,f",
        a={"type": "RegexRooter"},
        b={"type": "RegexRouter", "regex": "("},
        c={"type": "ExtractNewRecordState", "delete.tombstone.handling.mode": "none"},
        d=ROUTE | {"predicate": "q", "negate": "maybe"},
        f=ROUTE | {"replacement": "$3"},
        predicates_p={"type": "TopicNameMatches"},
    )
    with pytest.raises(HeadraceError) as raised:
        read_chain(wrong)
    for text in (
        "transforms.a.type: 'RegexRooter' is not a transform; did you mean RegexRouter?",
        "transforms.b.regex",
        "transforms.b.replacement is missing",
        "transforms.c.delete.tombstone.handling.mode = 'none'",
        "transforms.d.predicate = 'q' is not among predicates",
        "transforms.d.negate = 'maybe'",
        "transforms.e.type is missing",
        "transforms.f.replacement = '$3'",
        "predicates.p.pattern is missing",
    ):
        assert text in raised.value.message


def test_former_options_are_read_with_a_warning() -> None:
    former = {"type": "ExtractNewRecordState", "drop.tombstones": "false",
              "delete.handling.mode": "rewrite", "operation.header": "true"}  # fmt: skip
    examined = examine_chain(TransformsConfig.parse(properties(a=former)))
    assert not examined.problems
    texts = " ".join(map(str, examined.warnings))
    assert "transforms.a.delete.tombstone.handling.mode=rewrite-with-tombstone" in texts
    assert "transforms.a.add.headers=op" in texts


@pytest.mark.parametrize("kind", ["ExtractNewRecordState", "ExtractNewDocumentState"])
def test_former_options_have_no_effect_with_the_quirks_of_debezium(kind: str) -> None:
    former = {"type": kind, "headrace.compatibility": "debezium-3.6", "drop.tombstones": "false",
              "delete.handling.mode": "rewrite", "operation.header": "true"}  # fmt: skip
    examined = examine_chain(TransformsConfig.parse(properties(a=former)))
    assert not examined.problems
    texts = [str(warning) for warning in examined.warnings]
    assert len(texts) == 3
    assert all("is a former option and is read as nothing" in text for text in texts)


def test_a_misspelt_option_is_an_error_and_an_unknown_one_a_warning() -> None:
    step = {"type": "ExtractNewRecordState", "add_fields": "op", "vendor.setting": "1"}
    examined = examine_chain(TransformsConfig.parse(properties(a=step)))
    assert [problem.property for problem in examined.problems] == ["transforms.a.add_fields"]
    assert "did you mean transforms.a.add.fields?" in examined.problems[0].message
    assert [warning.property for warning in examined.warnings] == ["transforms.a.vendor.setting"]


class StepsConfig(TransformsConfig, ExecutionConfig):
    """The properties of a connector that examine the options of its transforms."""


@pytest.mark.parametrize("setting", ["fail", "warn"])
def test_the_setting_for_unknown_properties_holds_for_options(setting: str) -> None:
    step = {"type": "RegexRouter", "regex": "a", "replacement": "b", "replacemnt": "c",
            "vendor.setting": "1", "negat": "true"}  # fmt: skip
    chain_properties = properties(a=step) | {"headrace.unknown.properties": setting}
    examined = examine_chain(StepsConfig.parse(chain_properties))
    unknown = {f"transforms.a.{name}" for name in ("replacemnt", "vendor.setting", "negat")}
    problems = {problem.property for problem in examined.problems}
    warnings = {warning.property for warning in examined.warnings}
    assert (problems, warnings) == ((unknown, set()) if setting == "fail" else (set(), unknown))
    assert bool(examined.chain.steps) == (setting == "warn")


def test_a_transform_of_ones_own_is_found_by_module_and_name() -> None:
    records = [record(value=text) for text in "abc"]
    assert topics(apply_json(properties(a=OWN), records)) == ["t", None, "t"]


@pytest.mark.parametrize(
    "kind", ["tests.transforms.no_such:f", "tests.transforms.test_chain:gone", "math:pi"]
)
def test_one_that_cannot_be_loaded_is_an_error_at_the_start(kind: str) -> None:
    with pytest.raises(HeadraceError, match=r"transforms\.a\.type"):
        read_chain(properties(a={"type": kind}))


@transform(ordering=Ordering.KEEPS_KEY)
def with_an_option(records: Records, options: Mapping[str, str]) -> Iterable[Records]:
    return [records] if options["least"] else []


def test_an_option_that_a_function_reads_and_nobody_set_is_named() -> None:
    step = {"type": "tests.transforms.test_chain:with_an_option"}
    (outcome,) = apply_json(properties(a=step), [record()])
    assert outcome is not None
    assert outcome["error"] == (
        "transforms.a: the option least is missing [transforms.option_missing]. "
        "Set the option least of the transform."
    )
    assert topics(apply_json(properties(a=step | {"least": "1"}), [record()])) == ["t"]


@pytest.mark.parametrize("texts", ["f", "afc", "ffff", "abcf", "fab" * 7])
def test_only_the_records_that_fail_are_errors(texts: str) -> None:
    outcomes = apply_json(properties("a,r", a=OWN, r=ROUTE), [record(value=text) for text in texts])
    assert topics(outcomes) == [{"b": None, "f": "error"}.get(text, "t-x") for text in texts]
    errors = [each["error"] for each in outcomes if each is not None and "error" in each]
    assert len(errors) == texts.count("f")
    assert set(errors) == {"transforms.a: it holds what fails [test.failed]. Nothing."}


def test_without_tolerance_a_failure_is_raised_and_names_its_transform() -> None:
    chain = read_chain(properties(a=OWN))
    with pytest.raises(HeadraceError, match=r"^transforms\.a: it holds what fails"):
        chain(read_records([record(value="f")]))


def test_shapes_stay_the_same_from_slice_to_slice() -> None:
    chain = read_chain(properties("r,i", r=ROUTE, i=ROUTE))
    pieces = read_records([record()])
    first, second = chain(pieces), chain(pieces)
    assert [records.shape for records in first] == [records.shape for records in second]
    assert topics(write_records(first).values()) == ["t-x-x"]


@pytest.mark.parametrize(
    ("steps", "ordering"),
    [
        ([OWN], Ordering.KEEPS_KEY),
        ([], Ordering.KEEPS_KEY),
        ([ROUTE], Ordering.PER_TABLE),
        ([OWN, ROUTE, {"type": "ExtractNewRecordState"}], Ordering.PER_TABLE),
        ([ROUTE, {"type": "ExtractNewRecordState", "route.by.field": "a"}], Ordering.NONE),
        ([{"type": "ReplaceField$Key", "exclude": "a"}], Ordering.NONE),
        ([{"type": "ReplaceField$Value", "exclude": "a"}], Ordering.KEEPS_KEY),
        ([{"type": "builtins:print"}], Ordering.NONE),
    ],
)
def test_a_chain_knows_what_it_does_to_the_order_of_keys(
    steps: list[dict[str, str]], ordering: Ordering
) -> None:
    named = dict(zip("abc", steps, strict=False))
    assert read_chain(properties(",".join(named), **named)).ordering is ordering


@pytest.mark.parametrize(
    "step",
    [
        {"type": "EventRouter", "route.topic.replacement": "events.${routedByValue}"},
        ROUTE | {"regex": "(?<a>.*)", "replacement": "${a}"},
        {"type": "ByLogicalTableRouter", "topic.regex": "(?<a>.*)", "topic.replacement": "${a}",
         "key.field.regex": "(?<a>.*)", "key.field.replacement": "${a}"},
        {"type": "TimestampRouter", "topic.format": "${topic}"},
    ],
)  # fmt: skip
def test_a_placeholder_of_the_option_itself_is_not_taken_for_a_forgotten_reference(
    step: dict[str, str],
) -> None:
    config = TransformsConfig.parse(properties(a=step))
    examined = examine_chain(config)
    assert not examined.problems
    assert not [*config.warnings, *examined.warnings]


def test_a_plain_placeholder_of_another_option_is_warned_about_once() -> None:
    step = {"type": "InsertField$Value", "static.field": "x", "static.value": "${PASSWORD}"}
    config = TransformsConfig.parse(properties(a=step))
    warnings = [*config.warnings, *examine_chain(config).warnings]
    assert [warning.code for warning in warnings] == ["config.plain_reference"]


@pytest.mark.parametrize(
    "kind", ["com.acme.MySmt", "com.acme.transforms.Filter", "acme.Router$Key"]
)
def test_a_java_class_of_ones_own_leads_to_the_guide_and_not_to_a_list(kind: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        read_chain(properties(a={"type": kind}))
    (part,) = raised.value.parts or (raised.value,)
    assert part.code in ("transforms.java_class", "config.invalid")
    text = str(part)
    assert f"'{kind}' is a Java class" in text
    assert "docs/adding-a-transform.md" in text
    assert len(text) < 400


def test_a_misspelt_package_of_debezium_is_still_corrected() -> None:
    with pytest.raises(HeadraceError, match="did you mean ExtractNewRecordState"):
        read_chain(properties(a={"type": "io.debezum.transforms.ExtractNewRecordState"}))
