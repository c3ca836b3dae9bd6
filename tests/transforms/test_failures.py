"""Records that a transform cannot take."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from headrace.connect.evaluation.values import values
from headrace.connect.json_records import read_records, write_records
from headrace.connect.records import Records
from headrace.connect.rows import Sequences
from headrace.connectors.registry import parse_configuration
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from headrace.errors import HeadraceError
from headrace.spark.task import chain as chain_and_policy
from headrace.transforms.failures import FailurePolicy
from headrace.transforms.json_form import read_chain
from tests.transforms.test_chain import OWN, ROUTE, properties, record

LETTERS = FailurePolicy(tolerates=True, dead_letters="dead", connector="shop")


def run(policy: FailurePolicy, texts: str) -> dict[int, dict[str, Any]]:
    chain = read_chain(properties("r,a", r=ROUTE, a=OWN))
    topics = "tu" * len(texts)
    entries = [record(topic, text) for topic, text in zip(topics, texts, strict=False)]
    return write_records(policy.run(chain, read_records(entries)))


def headers(entry: dict[str, Any]) -> dict[str, str]:
    return {header["name"]: header["payload"] for header in entry["headers"]}


def test_a_dead_letter_is_among_good_records_in_the_form_it_had_before() -> None:
    outcomes = run(LETTERS, "afcfbff")
    assert {place: each["topic"] for place, each in outcomes.items()} == {
        0: "t-x", 1: "dead", 2: "t-x", 3: "dead", 5: "dead", 6: "dead",
    }  # fmt: skip
    assert outcomes[3]["value"]["payload"] == "f"
    assert headers(outcomes[3]) == {
        "__connect.errors.topic": "u",
        "__connect.errors.connector.name": "shop",
        "__connect.errors.task.id": "0",
        "__connect.errors.stage": "TRANSFORMATION",
        "__connect.errors.class.name": OWN["type"],
        "__connect.errors.exception.class.name": "headrace.errors.HeadraceError",
        "__connect.errors.exception.message": "transforms.a: it holds what fails",
        "__connect.errors.exception.stacktrace": "transforms.a: it holds what fails [test.failed]. "
        "Nothing.",
    }
    assert headers(outcomes[6])["__connect.errors.topic"] == "t"


def test_a_dead_letter_is_rendered_by_the_converters_beside_good_records() -> None:
    chain = read_chain(properties("r,a", r=ROUTE, a=OWN))
    pieces = LETTERS.run(chain, read_records([record(value=text) for text in "afc"]))
    converter = SliceConverter(*[JsonConverter(JsonOptions()) for _ in range(3)])
    (batch,) = converter.convert(pieces, Sequences(1))
    good, letter, other = batch.to_pylist()
    assert [(each["topic"], each["value"]) for each in (good, letter, other)] == [
        ("t-x", '"a"'), ("dead", '"f"'), ("t-x", '"c"'),
    ]  # fmt: skip
    assert good["headers"] == other["headers"] == []
    headers = {header["key"]: header["value"] for header in letter["headers"]}
    assert headers["__connect.errors.topic"] == b'"t"'
    assert headers["__connect.errors.exception.message"] == b'"transforms.a: it holds what fails"'


def test_without_a_topic_for_them_they_are_left_out_and_logged_where_that_is_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert list(run(FailurePolicy(tolerates=True), "afc")) == [0, 2]
        assert caplog.messages == []
        assert list(run(FailurePolicy(tolerates=True, logs=True), "afc")) == [0, 2]
    assert caplog.messages == [
        "A record of u is left out: transforms.a: it holds what fails [test.failed]. Nothing."
    ]


def test_dead_letters_may_have_no_reason() -> None:
    policy = FailurePolicy(tolerates=True, dead_letters="dead", has_context=False)
    assert run(policy, "f")[0]["headers"] == []


def test_without_tolerance_the_first_failure_ends_the_query() -> None:
    with pytest.raises(HeadraceError, match="it holds what fails"):
        run(FailurePolicy(dead_letters="dead"), "abf")


def test_any_exception_of_ones_own_transform_is_reported_with_its_alias_and_tolerated() -> None:
    step = {"type": "tests.transforms.test_failures:divided"}
    chain = read_chain(properties("a", a=step))
    entries = [record("t", text) for text in "10"]
    outcomes = write_records(LETTERS.run(chain, read_records(entries)))
    assert {place: each["topic"] for place, each in outcomes.items()} == {0: "t", 1: "dead"}
    with pytest.raises(HeadraceError, match=r"transforms\.a: ZeroDivisionError"):
        chain(read_records(entries))


def divided(records: Records, _options: Mapping[str, str]) -> Iterable[Records]:
    """Raises for a value of 0."""
    assert records.shape.value is not None
    for text in values(records, records.shape.value).to_pylist():
        _ = 1 / int(text)
    return [records]


@pytest.mark.parametrize("name", ["unreachable", "large"])
def test_an_error_that_waiting_corrects_is_not_taken_for_a_broken_record(name: str) -> None:
    step = {"type": f"tests.transforms.test_failures:{name}"}
    chain = read_chain(properties("a", a=step))
    with pytest.raises(HeadraceError) as raised:
        LETTERS.run(chain, read_records([record("t", "1"), record("t", "2")]))
    assert raised.value.retriable
    assert raised.value.message.startswith("transforms.a: ")


def unreachable(_records: Records, _options: Mapping[str, str]) -> Iterable[Records]:
    """Asks a service that is away for a moment."""
    raise HeadraceError("test.unreachable", "no answer", "Wait.", retriable=True)


def large(_records: Records, _options: Mapping[str, str]) -> Iterable[Records]:
    """Asks for memory that the process does not have."""
    raise MemoryError


def test_the_properties_of_a_connector_choose_the_policy() -> None:
    properties_of_both = {
        "connector.class": "postgresql", "topic.prefix": "p", "database.hostname": "h",
        "database.user": "u", "database.dbname": "d", "errors.tolerance": "all",
        "errors.log.enable": "true", "errors.deadletterqueue.topic.name": "dead",
        "errors.log.include.messages": "true", **properties(a=ROUTE),
    }  # fmt: skip
    config = parse_configuration(properties_of_both)
    assert FailurePolicy.of(config) == FailurePolicy(
        tolerates=True, logs=True, dead_letters="dead", connector="p"
    )
    assert "errors.log.include.messages" in [warning.property for warning in config.warnings]
    assert chain_and_policy(config) is chain_and_policy(config)
    compatible = properties_of_both | {"headrace.compatibility": "debezium-3.6"}
    assert chain_and_policy(parse_configuration(compatible)) is not chain_and_policy(config)
