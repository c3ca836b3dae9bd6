"""Custom transforms in Spark's workers, and the records that they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from tests.pipelines.stream import Stream
from tests.servers.postgresql import Database

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
CUSTOM_TRANSFORM = {
    "transforms": "unwrap,own",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.own.type": "tests.pipelines.own:with_length",
    "transforms.own.refused": "bad",
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": "dead",
    "errors.deadletterqueue.context.headers.enable": "true",
}


def test_a_custom_transform_runs_in_workers_and_a_refused_record_becomes_a_dead_letter(
    database: Database, stream: Callable[[Mapping[str, str]], Stream]
) -> None:
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v text);"
        "INSERT INTO t VALUES (1, 'one'), (2, 'bad'), (3, NULL)"
    )
    query = stream(database.properties() | CUSTOM_TRANSFORM)
    query.run()
    database.execute("INSERT INTO t VALUES (4, 'four'), (5, 'bad'), (6, 'é')")
    rows = query.run()
    good = {
        json.loads(row["key"])["id"]: json.loads(row["value"])["length"]
        for row in rows
        if row["topic"] == "headrace.public.t"
    }
    assert good == {1: 3, 3: None, 4: 4, 6: 1}
    letters = [row for row in rows if row["topic"] == "dead"]
    # Dead letters have the records as they were before the transforms.
    after = [json.loads(row["value"])["after"] for row in letters]
    assert after == [{"id": 2, "v": "bad"}, {"id": 5, "v": "bad"}]
    assert [json.loads(row["key"]) for row in letters] == [{"id": 2}, {"id": 5}]
    for row in letters:
        headers = {header["key"]: json.loads(header["value"]) for header in row["headers"]}
        assert headers["__connect.errors.topic"] == "headrace.public.t"
        assert headers["__connect.errors.class.name"] == CUSTOM_TRANSFORM["transforms.own.type"]
        assert headers["__connect.errors.exception.message"] == "transforms.own: v is refused"
    assert len(rows) == 6
