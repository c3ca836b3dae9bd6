"""What Spark says of a query is shown without its objects."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from headrace.spark.query import status as module


def test_an_object_of_spark_is_named_in_words(monkeypatch: Any) -> None:
    monkeypatch.setattr(module.failures, "error", lambda _query: None)
    monkeypatch.setattr(module, "_newest", lambda _query: None)
    text = "Getting offsets from org.apache.spark.sql.PythonMicroBatchStream@7a3f01bc"
    query: Any = SimpleNamespace(isActive=True, status={"message": text})
    assert module.status(query).message == "Getting offsets from the source"
