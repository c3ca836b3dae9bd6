"""Steps of a chain that cannot be what the properties make of them."""

from __future__ import annotations

import pytest

from headrace.config.properties.frames import examine_frame
from headrace.config.properties.transforms import TransformsConfig
from headrace.errors import HeadraceError
from headrace.transforms import apply_json

_FILTER = {"transforms": "f", "transforms.f.type": "KafkaFilter", "transforms.f.predicate": "p"}


@pytest.mark.parametrize("name", ["transforms", "predicates"])
def test_an_alias_that_stands_twice_is_refused(name: str) -> None:
    _, problems = TransformsConfig.examine({name: "a,b,a"})
    assert f"{name} has a more than once" in [problem.message for problem in problems]


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        ({**_FILTER, "predicates": "p", "predicates.p.type": "os.path:join"}, "predicates.p.type"),
        (
            {
                "transforms": "t",
                "transforms.t.type": "headrace.transforms.predicates:RECORD_IS_TOMBSTONE",
            },
            "transforms.t.type",
        ),
    ],
)
def test_a_function_is_no_predicate_and_a_predicate_no_transform(
    properties: dict[str, str], name: str
) -> None:
    with pytest.raises(HeadraceError, match=name):
        apply_json(properties, [])


@pytest.mark.parametrize("converter", ["variant", "row"])
def test_a_dataframes_values_are_not_written_as_columns(converter: str) -> None:
    properties = {"value.converter": converter, "headrace.input.value.converter": "json"}
    _, problems = examine_frame(properties)
    (message,) = [one.message for one in problems if one.property == "value.converter"]
    assert message == f"value.converter = {converter} is for the source of a connector"
