"""Transforms of documents with `headrace.compatibility=debezium-3.6` against the recordings: equal,
every one of them but those that are refused at the start in every mode."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.golden.transforms.cases import Case, cases
from tests.golden.transforms.test_golden import differences

REFUSED = {
    "ExtractNewDocumentState": [
        "add.fields=foo.bar | refused (config.invalid) → configured",
        "add.headers=foo.bar | refused (config.invalid) → configured",
    ]
}
"""Fields that can never be in an event, which Debezium only notices when it writes the event."""


def compatible(case: Case) -> Case:
    return replace(case, properties={**case.properties, "headrace.compatibility": "debezium-3.6"})


@pytest.mark.parametrize("name", REFUSED)
def test_the_quirks_of_the_real_classes_are_reproduced_where_they_are_asked_for(name: str) -> None:
    lines = [line for case in cases(name) for line in differences(compatible(case))]
    assert lines == REFUSED[name]
