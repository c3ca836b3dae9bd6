"""Statements of redo as ours reads and shows them, against recordings of Debezium's own parsers and
converters: schemas, keys and rows byte for byte.

What differs on purpose is, difference by difference, in `differences/`, and with its reason in
docs/guides/differences.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.golden.on_purpose import brief, on_purpose
from tests.golden.oracle.redo.cases import HERE, Case, cases
from tests.golden.oracle.redo.ours import OurReading

REDO = {case.title: case for case in cases() if case.kind == "redo"}
PARTS = ("SELECT_LOB_LOCATOR", "EXTENDED_STRING_BEGIN")


def comparable(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded answer in the words of ours: the length of a LOB's part is no answer of its own,
    and a value that is written apart is no change of a row."""
    answer = {name: value for name, value in recorded.items() if name != "length"}
    if answer.get("operation") in PARTS:
        del answer["operation"]
    return answer


def differences(case: Case) -> Iterator[str]:
    """The differences between our result and the recording."""
    schema, recorded = case.recorded()
    reading = OurReading(case)
    ours = reading.schema()
    for theirs, actual in zip(schema.pop("fields"), ours.pop("fields"), strict=True):
        if json.dumps(theirs) != json.dumps(actual):
            yield f"schema: expected {json.dumps(theirs)}, came {json.dumps(actual)}"
    assert ours == schema
    answers = reading.read(case.statements)
    rows = zip(case.statements, map(comparable, recorded), answers, strict=True)
    for number, (statement, theirs, actual) in enumerate(rows, 1):
        title = f"{number} {statement[:60]!r}"
        if "error" in theirs or "error" in actual:
            if "error" not in theirs or "error" not in actual:
                yield f"{title}: expected {_outcome(theirs)}, came {_outcome(actual)}"
            continue
        for name in theirs | actual:
            left, right = theirs.get(name), actual.get(name)
            if left != right:
                yield f"{title} {name}: expected {_short(left, right)}, came {_short(right, left)}"


def _outcome(answer: Mapping[str, Any]) -> str:
    return "an error" if "error" in answer else str(answer.get("after") or answer.get("before"))


def _short(text: object, other: object) -> object:
    """The fields of a row in JSON that differ from those of the other."""
    if not (isinstance(text, str) and isinstance(other, str) and text[:1] == other[:1] == "{"):
        return text
    fields, others = json.loads(text), json.loads(other)
    differing = {name: value for name, value in fields.items() if others.get(name, ...) != value}
    return json.dumps(differing, ensure_ascii=False) if differing else text


@pytest.mark.parametrize("title", REDO)
def test_statements_become_what_debezium_made_of_them(title: str) -> None:
    really = Counter(map(brief, differences(REDO[title])))
    expected = Counter(on_purpose(HERE, title))
    gone = [f"no longer different: {line}" for line in (expected - really).elements()]
    unexpected = [*(really - expected).elements(), *gone]
    assert not unexpected, "\n".join(unexpected[:20])


def test_every_difference_and_every_recording_is_of_a_case() -> None:
    titles = {case.title for case in cases()}
    named_cases = {
        file.stem for folder in ("recordings", "differences") for file in (HERE / folder).iterdir()
    }
    assert named_cases <= titles


def test_there_are_enough_statements() -> None:
    assert len({statement for case in REDO.values() for statement in case.statements}) >= 300
