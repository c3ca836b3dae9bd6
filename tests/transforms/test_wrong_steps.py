"""Steps of a chain that cannot be what the properties make of them."""

from __future__ import annotations

import pytest

from headrace.config.properties.frames import examine_frame
from headrace.config.properties.transforms import TransformsConfig
from headrace.errors import HeadraceError
from headrace.transforms import apply_json

_FILTER = {"transforms": "f", "transforms.f.type": "KafkaFilter", "transforms.f.predicate": "p"}


@pytest.mark.parametrize("name", ["transforms", "predicates"])
def test_an_alias_that_occurs_twice_is_refused(name: str) -> None:
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
    (message,) = [problem.message for problem in problems if problem.property == "value.converter"]
    assert message == f"value.converter = {converter} is for the source of a connector"


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [("negat", "negate"), ("Negate", "negate"), ("predicat", "predicate"),
     ("perdicate", "predicate")],
)  # fmt: skip
def test_an_option_of_every_transform_that_is_misspelt_is_refused(
    misspelt: str, meant: str
) -> None:
    properties = {
        **_FILTER, "predicates": "p", "predicates.p.type": "RecordIsTombstone",
        f"transforms.f.{misspelt}": "true",
    }  # fmt: skip
    with pytest.raises(HeadraceError, match=f"did you mean transforms.f.{meant}"):
        apply_json(properties, [])


def test_options_that_a_chain_does_not_have_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    properties = {"type": "DropHeaders", "headers": "h", "elsewhere": "x"}
    steps = {f"transforms.f.{name}": text for name, text in properties.items()}
    with caplog.at_level("WARNING"):
        assert apply_json({"transforms": "f", **steps}, []) == []
    assert "transforms.f.elsewhere is not a property of transforms.f" in caplog.text
