"""Definitions of sinks that other packages bring."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.config.formats import read_mapping
from headrace.connectors.registry import parse_configuration
from headrace.sinks.file.definition import FileDefinition
from headrace.spark.sinks import registry
from tests.cli.first_steps.configurations import SHOP


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    registry.forget_added()


class Named(FileDefinition):
    def __init__(self, name: str, kernels: object = ()) -> None:
        super().__init__()
        self.name = name
        self.kernels = kernels  # type: ignore[assignment, misc]


@pytest.mark.parametrize(
    ("definition", "fault"),
    [
        (Named("checkpoint", {}), "its name is 'checkpoint'"),
        (Named("../up", {}), "its name is '../up'"),
        (Named("kafka", {}), "there is a sink kafka already"),
        (Named("mine"), "kernels is not a mapping"),
        (Named, "is not a SinkDefinition"),
    ],
)
def test_a_definition_that_cannot_be_used_is_left_out_with_a_warning(
    definition: object, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[str] = []

    def load_entries(_group: str, _what: str, _skipped: object, faults_of: object) -> list[object]:
        faults.extend(faults_of(definition))  # type: ignore[operator]
        return []

    monkeypatch.setattr(registry, "load_entries", load_entries)
    registry.forget_added()
    names = [sink.name for sink in registry.sinks()]
    assert names == ["console", "delta", "event-log", "file", "iceberg", "kafka"]
    assert any(fault in each for each in faults)


def test_an_option_with_the_sinks_name_wins_over_one_without() -> None:
    for order in (1, -1):
        sink_properties = [("headrace.sink.path", "/a"), ("debezium.sink.file.path", "/b")][::order]
        config = parse_configuration(read_mapping(SHOP | dict(sink_properties)))
        assert FileDefinition().own_options(config) == {"path": "/b"}
