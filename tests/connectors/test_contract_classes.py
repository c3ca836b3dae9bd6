"""A missing part of a connector is named in the error."""

from __future__ import annotations

import argparse
from types import SimpleNamespace

import pytest

from headrace.cli import check
from headrace.connectors.definition import ConnectorDefinition
from headrace.connectors.engine import Engine
from headrace.connectors.source import Source
from headrace.snapshots.snapshot_source import SnapshotSource
from tests.connectors.lines import LineSource, Query


@pytest.mark.parametrize(
    ("contract", "method"),
    [(Source, "begin"), (SnapshotSource, "hold"), (ConnectorDefinition, "caught_up")],
)
def test_a_method_without_default_is_missed_when_the_object_is_made(
    contract: type, method: str
) -> None:
    class Empty(contract):  # type: ignore[misc]
        pass

    with pytest.raises(TypeError, match=rf"abstract methods.*\b{method}\b"):
        Empty()


@pytest.mark.parametrize("attribute", ["server", "position_type", "metrics"])
def test_a_source_without_an_attribute_is_refused_by_its_name(attribute: str) -> None:
    query = Query(LineSource())
    attributes = ("server", "position_type", "metrics")
    source = SimpleNamespace(
        **{name: getattr(query.source, name) for name in attributes if name != attribute}
    )
    with pytest.raises(TypeError, match=f"must have an attribute {attribute}"):
        Engine(source, query.options, query.engine._waiting, None)  # type: ignore[type-var]


def test_a_connector_without_checks_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = SimpleNamespace(
        connector_class="lines",
        headrace_sink={},
        headrace_sink_type=None,
        headrace_checkpoint_dir=None,
        is_set=lambda _: False,
    )
    pipeline = SimpleNamespace(config=config, spark={}, validate=lambda _: None)
    monkeypatch.setattr(check, "read_pipeline", lambda *_: pipeline)
    monkeypatch.setattr(check, "check", lambda *_: ())
    arguments = argparse.Namespace(file="f", json=False, fix_sql=False, state=None)
    assert check.run(arguments) == 0
    says = "No errors: the connector has no checks beside those of a start\n"
    assert capsys.readouterr().out == says
