"""Columns of documents in options of the sink."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.config.formats import read_mapping
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.declared_documents import DeclaredDocuments, DocumentColumns
from headrace.sinks.replicas.options import ReplicaOptions
from headrace.spark.sinks.registry import find_sink
from tests.cli.first_steps.configurations import SHOP
from tests.docs.pages import block

ORDERS = "_id STRING, total DECIMAL(10,2)"


def found(options: dict[str, str], topic: str) -> DocumentColumns | None:
    return DeclaredDocuments.of(options).of_topic(topic, "server")


def names(columns: DocumentColumns | None) -> list[str]:
    assert columns is not None
    return [each.name for each in columns.declared.fields]


def test_a_collection_has_the_columns_of_its_name_or_of_the_pattern_that_names_it() -> None:
    options = {
        "target.schema.shop.orders": ORDERS,
        "target.schema.tenant_*.orders": "_id INT, amount BIGINT",
        "promoted.keys.shop.events_*": "kind STRING",
    }
    assert names(found(options, "server.shop.orders")) == ["_id", "total"]
    assert names(found(options, "server.tenant_7.orders")) == ["_id", "amount"]
    events = found(options, "server.shop.events_2026")
    assert names(events) == ["kind"]
    assert events is not None
    assert events.has_text
    # A point is a point, and a pattern names whole names.
    assert found(options, "server.shopXorders") is None
    assert found(options, "server.tenant_7.orders_old") is None
    assert found({}, "server.shop.orders") is None


def test_the_name_of_a_collection_goes_before_patterns_and_two_patterns_are_an_error() -> None:
    options = {
        "target.schema.*.orders": "_id INT",
        "promoted.keys.shop.*": "kind STRING",
        "target.schema.shop.orders": ORDERS,
    }
    assert names(found(options, "server.shop.orders")) == ["_id", "total"]
    del options["target.schema.shop.orders"]
    with pytest.raises(HeadraceError, match=r"promoted\.keys\.shop\.\* name shop\.orders, too"):
        found(options, "server.shop.orders")


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [
        ("*.orders", "shop.*", True),
        ("a*c*", "*b", True),
        ("*", "x", False),
        ("tenant_*.orders", "shop.*", False),
        ("a*b", "a*c", False),
        ("*x", "*y", False),
    ],
)
def test_patterns_that_could_name_one_collection_are_warned_of(
    first: str, second: str, overlap: bool, tmp_path: Path
) -> None:
    options = {f"target.schema.{first}": "_id INT", f"target.schema.{second}": ORDERS}
    warnings = DeclaredDocuments.of(options).overlapping()
    assert [warning.code for warning in warnings] == ["replicas.patterns_overlap"] * overlap
    sink = {"type": "iceberg", "mode": "replica", "warehouse": str(tmp_path / "lake"), **options}
    config = {"skipped.operations": "none", "headrace.sink.jars": str(tmp_path)}
    config |= {f"headrace.sink.{name}": text for name, text in sink.items()}
    findings = find_sink("iceberg").check(parse_configuration(read_mapping(SHOP | config)))
    levels = {each.code: each.level for each in findings}
    assert levels.get("replicas.patterns_overlap") == ("warning" if overlap else None)


def test_a_pattern_within_another_one_is_refused() -> None:
    options = {"target.schema.tenant_*.orders": "_id INT", "promoted.keys.*.orders": "kind STRING"}
    with pytest.raises(HeadraceError, match=r"keys\.\*\.orders names all of them") as caught:
        DeclaredDocuments.of(options)
    assert caught.value.code == "replicas.option_invalid"


@pytest.mark.parametrize(
    "kind",
    [
        "STRUCT<b: INT, B: INT>",
        "ARRAY<STRUCT<b: INT, B: INT>>",
        "MAP<STRING, STRUCT<c: STRUCT<b: INT, B: INT>>>",
    ],
)
@pytest.mark.parametrize("option", ["target.schema.s.t", "promoted.keys.s.t"])
def test_members_of_structs_that_differ_in_case_only_are_refused(kind: str, option: str) -> None:
    with pytest.raises(HeadraceError, match="the members b and B of a struct") as caught:
        DeclaredDocuments.of({option: f"_id INT, a {kind}"})
    assert caught.value.code == "replicas.option_invalid"


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("target.schema.", "_id INT", "names no collection"),
        ("promoted.keys.", "kind STRING", "names no collection"),
        ("target.schema.s.t", "_id STRINGS", "the type STRINGS"),
        ("target.schema.s.t", "total INT", "lack _id"),
        ("target.schema.s.t", "sampled", "is not understood"),
        ("target.schema.s.t", "_id STRUCT<a: INT>", "_id is declared with parts"),
        ("target.schema.s.t", "_id INT, a INT, A STRING", "a and A have one name"),
        ("target.schema.s.t", "_id INT, __deleted BOOLEAN", "__deleted"),
        ("promoted.keys.s.t", "document STRING", "one name"),
        ("unknown.fields", "keep", "keep is not a valid value"),
    ],
)
def test_a_wrong_declaration_is_refused_by_the_name_of_its_option(
    option: str, text: str, message: str
) -> None:
    with pytest.raises(HeadraceError, match=message) as error:
        ReplicaOptions.of({option: text})
    assert error.value.code == "replicas.option_invalid"
    assert f"headrace.sink.{option}" in error.value.message


def test_the_example_of_the_guide_declares_three_collections() -> None:
    example = block("docs/guides/replicas.md", "promoted.keys.shop.events")
    properties = read_mapping(dict(line.split("=", 1) for line in example.text.splitlines()))
    declared = DeclaredDocuments.of(
        {n.removeprefix("headrace.sink."): properties[n] for n in properties}
    )
    orders = declared.of_topic("server.shop.orders", "server")
    assert names(orders) == ["_id", "total", "placed", "lines"]
    assert names(declared.of_topic("server.shop.events", "server")) == ["kind", "at"]
    assert "address" in names(declared.of_topic("server.tenant_7.customers", "server"))


def test_a_collection_has_either_a_schema_or_promoted_keys() -> None:
    with pytest.raises(HeadraceError, match=r"headrace\.sink\.target\.schema\.s\.t is there, too"):
        DeclaredDocuments.of({"target.schema.s.t": ORDERS, "promoted.keys.s.t": "kind STRING"})


def test_options_that_name_nothing_are_reported() -> None:
    declared = DeclaredDocuments.of(
        {"target.schema.s.t": ORDERS, "target.schema.s.u": ORDERS, "promoted.keys.x*": "a INT"}
    )
    assert declared.unused(["server.s.t", "server.y"], "server") == [
        "headrace.sink.target.schema.s.u",
        "headrace.sink.promoted.keys.x*",
    ]
