"""Definitions of sinks that other packages bring."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.config.formats import read_mapping
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.sinks.file.definition import FileDefinition
from headrace.spark.sinks import registry
from tests.cli.first_steps.configurations import SHOP
from tests.sinks.broken_package import install_broken_sink


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

    def load_entries(
        _group: str, _what: str, _skipped: object, faults_of: object, _left_out: object
    ) -> list[object]:
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


@pytest.mark.parametrize("prefix", ["headrace.sink.", "headrace.sink.file."])
def test_an_unknown_option_is_named_as_it_is_written(prefix: str) -> None:
    definition = FileDefinition()
    config = parse_configuration(read_mapping(SHOP | {f"{prefix}pathh": "/a"}))
    with pytest.raises(HeadraceError) as caught:
        definition.option_warnings(config)
    assert caught.value.message == (
        f"{prefix}pathh: the sink file has no such option; did you mean {prefix}path?"
    )
    assert caught.value.remedy == f"Write {prefix}path."
    config = parse_configuration(read_mapping(SHOP | {f"{prefix}colour": "red"}))
    (warning,) = definition.option_warnings(config)
    assert warning.message.startswith(f"{prefix}colour: ")
    assert warning.remedy.startswith("Remove the option, or correct its name")


def test_all_remedies_of_unknown_options_are_shown() -> None:
    properties = {"headrace.sink.pathh": "/a", "headrace.sink.file.pathe": "/a"}
    with pytest.raises(HeadraceError) as caught:
        FileDefinition().option_warnings(parse_configuration(read_mapping(SHOP | properties)))
    assert set(caught.value.remedy.split(". ")) == {
        "Write headrace.sink.path",
        "Write headrace.sink.file.path.",
    }


def test_a_sink_whose_definition_cannot_be_loaded_is_an_error_if_it_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_broken_sink(tmp_path, monkeypatch)
    registry.forget_added()
    with pytest.raises(HeadraceError, match=r"\[cli\.sink_left_out\]") as caught:
        registry.find_sink("broken")
    assert "The sink broken of another package cannot be used: ModuleNotFoundError" in str(
        caught.value
    )
    assert registry.find_sink("file").name == "file"
