"""Connections of a comparison."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.connectors import registry
from headrace.errors import HeadraceError
from headrace.spark.sinks.comparison import ComparisonRequest
from headrace.spark.sinks.definition import SinkQuery
from headrace.spark.sinks.registry import find_sink


def test_a_comparison_whose_lake_cannot_be_opened_closes_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition: Any = find_sink("iceberg")
    closed: list[bool] = []
    opened = SimpleNamespace(close=lambda: closed.append(True))

    def refused(*_: object) -> None:
        raise HeadraceError("iceberg.catalog", "the catalog does not answer", "Start it.")

    monkeypatch.setattr(registry, "current_rows", lambda _: opened)
    for name, replacement in (
        ("_checked", lambda *_: None),
        ("own_options", lambda *_: {}),
        ("format", lambda *_: SimpleNamespace(open=refused)),
    ):
        monkeypatch.setattr(type(definition), name, replacement)
    config: Any = None
    with pytest.raises(HeadraceError, match="does not answer"):
        next(definition.compare(None, SinkQuery(config, tmp_path, tmp_path), ComparisonRequest()))
    assert closed == [True]
