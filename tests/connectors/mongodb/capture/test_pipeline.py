"""The change stream's pipeline is the one that Debezium's classes make (`pipelines/record.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bson import json_util
from bson.regex import Regex

from headrace.connectors.mongodb.capture.pipeline import change_stream_pipeline
from headrace.connectors.mongodb.config import MongoConfig

RECORDED = json.loads((Path(__file__).parent / "pipelines" / "pipelines.json").read_text())
REQUIRED = {"topic.prefix": "p", "mongodb.connection.string": "mongodb://h/?replicaSet=rs0"}


def pipeline(properties: dict[str, str]) -> list[dict[str, Any]]:
    return change_stream_pipeline(MongoConfig.parse({**REQUIRED, **properties}))


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: json.dumps(case["properties"]))
def test_stages_are_those_of_debezium(case: dict[str, Any]) -> None:
    stages = pipeline(case["properties"])
    relaxed = json_util.dumps(stages, json_options=json_util.RELAXED_JSON_OPTIONS)
    assert json.loads(relaxed) == case["stages"]


def condition(properties: dict[str, str]) -> dict[str, Any]:
    """The pipeline's condition on names."""
    stages = pipeline(properties)
    conditions: list[dict[str, Any]] = next(s["$match"]["$and"] for s in stages if "$match" in s)
    return conditions[0]


def test_a_comma_inside_of_an_expression_does_not_end_it() -> None:
    """Debezium's client takes `a.b{1,2}` as one expression and its server filter as two, so it
    loses the events of both."""
    expressions = condition({"collection.include.list": r"a\.b{1,2},c\,d"})
    assert expressions == {"namespace": Regex(r"a\.b{1,2}|c,d", "i")}


def test_groups_of_one_expression_are_not_counted_with_those_of_others() -> None:
    expressions = condition({"collection.include.list": r"(a)\.x,(b)\.\1"})
    assert expressions == {
        "$or": [{"namespace": Regex(r"(a)\.x", "i")}, {"namespace": Regex(r"(b)\.\1", "i")}]
    }


@pytest.mark.parametrize("mode", ["regex", "literal"])
def test_a_signal_collection_alone_takes_nothing_else_away(mode: str) -> None:
    """Debezium 3.6 captures the signal collection only, when no list is set."""
    properties = {"signal.data.collection": "db.signals", "filters.match.mode": mode}
    kind = "operationType" if mode == "literal" else "event.operationType"
    assert list(condition(properties)) == [kind]


@pytest.mark.parametrize("mode", ["literal", "regex"])
def test_where_collections_are_distinguished_every_drop_and_rename_comes(mode: str) -> None:
    """A name that is not captured may become one that is."""
    properties = {"collection.include.list": "d.c", "filters.match.mode": mode}
    stages = pipeline(properties | {"headrace.table.identity": "id"})
    (either,) = (stage["$match"]["$or"] for stage in stages if "$match" in stage)
    (conditions,) = (s["$match"]["$and"] for s in pipeline(properties) if "$match" in s)
    kind = "operationType" if mode == "literal" else "event.operationType"
    assert either == [{"$and": conditions}, {kind: {"$in": ["drop", "rename"]}}]
    assert len(stages) == len(pipeline(properties))
