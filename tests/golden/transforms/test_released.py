"""Transforms of documents with `headrace.compatibility=debezium-3.6` against the recordings: equal
but for what is listed in `differences/NAME as released.txt`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.golden.on_purpose import on_purpose
from tests.golden.transforms.cases import Case, cases
from tests.golden.transforms.test_golden import HERE, differences

NAMES = ("ExtractNewDocumentState",)


def as_released(case: Case) -> Case:
    return replace(case, properties={**case.properties, "headrace.compatibility": "debezium-3.6"})


@pytest.mark.parametrize("name", NAMES)
def test_the_quirks_of_the_real_classes_are_reproduced_where_they_are_asked_for(name: str) -> None:
    made = [line for case in cases(name) for line in differences(as_released(case))]
    assert sorted(made) == sorted(on_purpose(HERE, f"{name} as released"))
