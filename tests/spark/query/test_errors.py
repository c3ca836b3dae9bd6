"""Errors as a user of PySpark meets them in a notebook: one sentence each, and no trace of ours."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace
from tests.servers.postgresql import Database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader


def text_of(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is shown
        return str(error)
    return "nothing"


def wait_while(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.spark
@pytest.mark.postgres
def test_every_mistake_is_answered_in_one_sentence(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    right = database.properties()
    named = "headrace.checkpoint.dir"
    answers: dict[str, list[Any]] = {}

    def stream() -> DataStreamReader:
        return spark.readStream.format("headrace")

    def started(reader: DataStreamReader, name: str) -> StreamingQuery:
        writer = reader.load().writeStream.format("noop")
        return writer.option("checkpointLocation", str(tmp_path / name)).start()

    answers["no options"] = [text_of(stream().load)]
    table = spark.read.format("headrace").options(**headrace.options(right))
    answers["a table"] = [text_of(lambda: table.load().collect())]
    mistake = {"snapshot.mode": "initail", named: str(tmp_path / "late")}
    wrong = stream().schema("topic string").options(**right, **mistake)
    answers["late"] = [text_of(lambda: started(wrong, "late").awaitTermination())]

    other = {**right, named: str(tmp_path / "no")}
    refused = started(stream().options(**headrace.options(other, database_dbname="nosuch")), "no")
    answers["refused"] = [text_of(refused.awaitTermination), headrace.error(refused)]

    path_option = {named: str(tmp_path / "away")}
    retries = path_option | {
        "errors.max.retries": "2",
        "retriable.restart.connector.wait.ms": "2000",
    }
    away = stream().options(**headrace.options({**right, **retries}, database_port=1))
    query = started(away, "away")
    wait_while(lambda: query.isActive and headrace.status(query).error is None)
    status = headrace.status(query)
    answers["given up"] = [text_of(query.awaitTermination)]
    given_up = headrace.error(query)
    assert headrace.status(query).state == "failed"

    going = {**right, named: str(tmp_path / "right")}
    query = started(stream().options(**headrace.options(going)), "right")
    wait_while(lambda: query.isActive and headrace.status(query).state != "streaming")
    assert (headrace.status(query).state, headrace.error(query)) == ("streaming", None)
    query.stop()
    assert (headrace.status(query).state, headrace.error(query)) == ("stopped", None)

    for name in ("no options", "a table", "late", "refused", "given up"):
        (text, *_) = answers[name]
        assert "Traceback" not in text, text
        assert "UnboundLocalError" not in text, text
        assert text.index("HeadraceError: ") < 400, text
    assert "Pass a configuration: .options(**headrace.options({...}))." in answers["no options"][0]
    assert "Use spark.readStream" in answers["a table"][0]
    assert "did you mean initial?" in answers["late"][0]
    _, error = answers["refused"]
    assert error.code == "postgresql.unknown_database"
    assert error.remedy == "Check database.dbname."
    assert error.message.startswith("PostgreSQL at ")
    assert status.error is not None
    assert (status.state, status.error.code) == ("starting", "postgresql.unreachable")
    assert "cannot be reached" in status.message
    assert status.attempts >= 1
    assert given_up is not None
    assert given_up.code == "postgresql.unreachable"
