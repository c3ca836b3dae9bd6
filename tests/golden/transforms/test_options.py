"""Every option of every transform is recorded at every value."""

from __future__ import annotations

import pytest

from tests.golden.transforms.cases import cases, declared_options, recordings
from tests.golden.transforms.workloads.every import WORKLOADS

FEWEST_CASES = 8
FEWEST_DOCUMENT_CASES = 150


def recorded_values(name: str) -> set[tuple[str, str, str]]:
    """Class, option and value of each step and predicate that is recorded."""
    values = set()
    for case in cases(name):
        types = {
            prop.removesuffix(".type"): text
            for prop, text in case.properties.items()
            if prop.endswith(".type")
        }
        for step, class_name in types.items():
            values |= {
                (class_name, prop.removeprefix(f"{step}."), text)
                for prop, text in case.properties.items()
                if prop.startswith(f"{step}.")
            }
    return values


def test_there_is_a_recording_of_each_workload() -> None:
    assert recordings() == sorted(WORKLOADS)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_recording_has_the_cases_of_its_workload(name: str) -> None:
    expected = [(case.name, case.properties, case.records) for case in WORKLOADS[name]().cases]
    assert expected == [(case.name, case.properties, case.record_names) for case in cases(name)]


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_value_of_every_option_is_recorded(name: str) -> None:
    listed = {
        (class_name, option.name, value)
        for class_name, options in WORKLOADS[name]().options.items()
        for option in options
        for value in option.values
    }
    assert listed - recorded_values(name) == set()


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_options_of_a_workload_are_those_that_the_classes_declare(name: str) -> None:
    options = WORKLOADS[name]().options
    for class_name, declared in declared_options(name).items():
        values: dict[str, set[str]] = {}
        for option in options[class_name]:
            values.setdefault(option.name, set()).update(option.values)
        assert declared.keys() - values.keys() == set()
        for option_name, kind in declared.items():
            assert kind != "BOOLEAN" or {"true", "false"} <= values[option_name], option_name


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_transform_has_at_least_eight_cases(name: str) -> None:
    few = FEWEST_DOCUMENT_CASES if name == "ExtractNewDocumentState" else FEWEST_CASES
    assert sum(1 for _ in cases(name)) >= few
