"""All declarations are recorded: every option of every transform and predicate, every value of an
enumeration, eight cases of every class, over events of every database."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import pytest

from headrace.config.configuration import Configuration
from headrace.transforms.registry import predicates, transforms
from tests.golden.transforms.cases import cases, recordings, stored_records
from tests.golden.transforms.test_options import FEWEST_CASES, FEWEST_DOCUMENT_CASES

DEBEZIUM = "io.debezium.transforms."
DOCUMENTS = "io.debezium.connector.mongodb.transforms."
TABLES = ("postgresql", "oracle", "db2")
YOUNGER = {f"{DEBEZIUM}ToLogicalTopicRouter"}
"""Classes that Debezium 3.6.3 has not: there is nothing to record."""
OWN = {
    f"{DEBEZIUM}ExtractNewRecordState": {"headrace.compatibility"},
    f"{DOCUMENTS}ExtractNewDocumentState": {
        "unset.handling",
        "headrace.compatibility",
        "headrace.record.max.cells",
        "target.schema",
        "target.schema.unknown",
        "target.schema.conflict",
    },
    f"{DEBEZIUM}outbox.EventRouter": {"headrace.record.max.cells"},
    f"{DOCUMENTS}outbox.MongoEventRouter": {"headrace.record.max.cells"},
    f"{DEBEZIUM}Filter": {"language=python", "language=spark.sql"},
    f"{DEBEZIUM}ContentBasedRouter": {"language=python", "language=spark.sql"},
}
"""Options, and values of options, that are ours alone."""
BSON_TYPES = ("$oid", "$numberLong", "$date", "$timestamp", "$binary", "$regex", "$code", "$scope",
              "$undefined", "$minKey", "$maxKey", "$symbol", "$numberDecimal", "$ref", "null",
              "true", "[", "{")  # fmt: skip


@dataclass
class Recorded:
    """The recordings of a class: the number of cases, the texts of each option, the databases."""

    cases: int = 0
    options: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    databases: set[str] = field(default_factory=set)


@cache
def databases() -> dict[str, str]:
    """The database of each stored record whose value says it."""
    of_connectors = {f"io.debezium.connector.{name}.Source": name for name in TABLES}
    of_connectors["io.debezium.connector.mongo.Source"] = "mongodb"
    database_by_name = {}
    for name, record in stored_records().items():
        schema = json.dumps(record["value"] and record["value"]["schema"])
        for source, database in of_connectors.items():
            if f'"{source}"' in schema:
                database_by_name[name] = database
    return database_by_name


@cache
def recorded() -> dict[str, Recorded]:
    """All recordings by Java class."""
    recorded_classes: dict[str, Recorded] = defaultdict(Recorded)
    for case in (case for name in recordings() for case in cases(name)):
        for name, class_name in case.properties.items():
            if not (name.endswith(".type") and name.count(".") == 2):
                continue
            of_class = recorded_classes[class_name]
            of_class.cases += 1
            of_class.databases |= {databases().get(record, "") for record in case.record_names}
            prefix = name.removesuffix("type")
            for option, text in case.properties.items():
                if option.startswith(prefix):
                    of_class.options[option.removeprefix(prefix)].add(text.strip().lower())
    return recorded_classes


def declared() -> Iterator[tuple[str, type[Configuration]]]:
    """Our classes by their Java names, with their options."""
    for class_name, declaration in (*transforms(), *predicates()):
        if class_name not in YOUNGER:
            yield class_name, declaration.options


CLASSES = dict(declared())
each_class = pytest.mark.parametrize("class_name", CLASSES)


@each_class
def test_every_option_is_recorded_and_every_value_of_an_enumeration(class_name: str) -> None:
    options = recorded()[class_name].options
    lacking = {name for name in CLASSES[class_name].properties() if not options[name]}
    for name, declaration in CLASSES[class_name].properties().items():
        if name not in lacking:
            values = {
                value for value in declaration.kind.values if value.lower() not in options[name]
            }
            lacking |= {f"{name}={value}" for value in values}
    assert lacking == OWN.get(class_name, set())


@each_class
def test_a_class_has_at_least_eight_cases(class_name: str) -> None:
    is_of_documents = class_name.endswith(".ExtractNewDocumentState")
    fewest = FEWEST_DOCUMENT_CASES if is_of_documents else FEWEST_CASES
    assert recorded()[class_name].cases >= fewest


@each_class
def test_a_class_is_recorded_over_events_of_every_database(class_name: str) -> None:
    expected = {"mongodb"} if class_name.startswith(DOCUMENTS) else set(TABLES)
    assert expected - recorded()[class_name].databases == set()


def test_documents_of_every_bson_type_are_recorded() -> None:
    names = {name for case in cases("ExtractNewDocumentState") for name in case.record_names}
    texts = [
        json.dumps((stored_records()[name]["value"] or {}).get("payload")).replace('\\"', '"')
        for name in names
    ]
    for token in BSON_TYPES:
        assert any(token in text for text in texts), token


def test_chains_of_three_predicates_and_negated_ones_are_recorded() -> None:
    chains = list(cases("chains"))
    assert sum(case.properties["transforms"].count(",") >= 2 for case in chains) >= FEWEST_CASES
    names = {name.rpartition(".")[2] for case in chains for name in case.properties}
    assert {"predicate", "negate"} <= names
