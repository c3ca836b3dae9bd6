"""Situations of sources, read as rows: the way of Spark Connect."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import StructType

from headrace.spark.data_source import HeadraceDataSource
from headrace.spark.query import status_files
from headrace.spark.query.situations import SituationsReader, newest_on_server
from headrace.spark.query.source_options import SITUATIONS
from headrace.spark.query.status_files import own_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def situation(server: str, state: str) -> str:
    return json.dumps({"source": {"plugin": "postgres", "server": server}, "state": state})


def session_with(*written: str) -> Any:
    """A session for `newest_on_server`, whose driver has sources that wrote this."""
    answers = SimpleNamespace(collect=lambda: [(text,) for text in written])
    options = SimpleNamespace(load=lambda: answers)
    reader = SimpleNamespace(option=lambda _name, _value: options)
    return SimpleNamespace(read=SimpleNamespace(format=lambda _name: reader))


def ended(server: str) -> dict[str, Any]:
    return {"sources": [{"endOffset": json.dumps({"v": 1, "server": server})}]}


@pytest.mark.parametrize(
    ("written", "progress", "state"),
    [
        ((), None, None),
        ((("a", "starting"),), None, "starting"),
        ((("a", "starting"), ("b", "streaming")), None, None),
        ((("a", "starting"), ("b", "streaming")), ended("b"), "streaming"),
        ((("b", "streaming"), ("b", "starting")), ended("b"), "streaming"),
        ((("a", "starting"),), ended("b"), None),
        ((("a", "starting"),), {"sources": [{"endOffset": "12"}]}, "starting"),
    ],
)
def test_a_source_is_known_by_its_server_or_by_being_the_only_one(
    written: tuple[tuple[str, str], ...], progress: Any, state: str | None
) -> None:
    newest_situation = newest_on_server(
        session_with(*(situation(*arguments) for arguments in written)), progress
    )
    assert (newest_situation and newest_situation["state"]) == state


def test_the_newest_text_of_each_source_under_the_same_driver_comes_first() -> None:
    written = []
    for number, (driver, text) in enumerate(
        ((os.getppid(), "old"), (os.getppid(), "new"), (f"{os.getpid()}000", "of another driver"))
    ):
        path = own_file(f"{driver}-{number}", "json")
        assert path is not None
        path.write_text(text)
        os.utime(path, (number, number))
        written.append(path)
    try:
        reader = SituationsReader()
        (partition,) = reader.partitions()
        texts = [text for (text,) in reader.read(partition)]
    finally:
        for path in written:
            path.unlink()
    assert [text for text in texts if text in ("old", "new")] == ["new", "old"]
    assert "of another driver" not in texts


def test_the_options_of_that_read_need_no_configuration() -> None:
    source = HeadraceDataSource({SITUATIONS: "true"})
    assert source.schema() == "written string not null"
    assert isinstance(source.reader(StructType()), SituationsReader)


@pytest.mark.spark
def test_a_batch_read_shows_what_the_sources_of_its_driver_wrote(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    pid = int(jvm.java.lang.ProcessHandle.current().pid())
    paths = []
    for name, text in ((f"{pid}-x", "ours"), (f"{os.getpid()}000-y", "of another driver")):
        path = own_file(name, "json")
        assert path is not None
        path.write_text(text)
        paths.append(path)
    try:
        read = spark.read.format("headrace").option(SITUATIONS, "true").load()
        assert read.columns == ["written"]
        assert "ours" in [row.written for row in read.collect()]
        assert "of another driver" not in [row.written for row in read.collect()]
    finally:
        for path in paths:
            path.unlink()


def test_ancestors_are_known_up_to_the_first_process() -> None:
    above = list(status_files.ancestors())
    assert above[0] == os.getppid()
    assert len(above) == len(set(above))
