"""Our transforms against the recordings of the real ones, schemas and order of members included.

What differs on purpose is in `differences/`, a file per recording: `case | record: …`, under
`# reason`. A difference that is gone must leave the file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.transforms import apply_json
from headrace.transforms.registry import find_predicate, find_transform
from tests.golden.on_purpose import brief, on_purpose
from tests.golden.transforms.cases import Case, cases, recordings, same

HERE = Path(__file__).parent


def is_implemented(case: Case) -> bool:
    """Whether all classes of a case are there."""
    for name, text in case.properties.items():
        find = find_predicate if name.startswith("predicates.") else find_transform
        if name.endswith(".type") and name.count(".") == 2:
            try:
                find(text)
            except HeadraceError as error:
                if error.code == "transforms.unknown":
                    return False
                raise
    return True


RECORDED = {name: list(cases(name)) for name in recordings()}
IMPLEMENTED = [case for recorded in RECORDED.values() for case in recorded if is_implemented(case)]


def test_every_recorded_class_is_implemented() -> None:
    recorded = sum(map(len, RECORDED.values()))
    assert recorded == len(IMPLEMENTED) > 0


def first_difference(ours: Any, theirs: Any, path: str = "") -> str | None:
    """The first difference of two values of JSON, with its path; None if they are equal."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if list(ours) != list(theirs):
            return f"{path} has members {list(ours)} → {list(theirs)}"
        pairs = [(f"{path}.{name}", ours[name], theirs[name]) for name in ours]
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = [(f"{path}[{i}]", ours[i], theirs[i]) for i in range(len(ours))]
    elif same(ours, theirs):
        return None
    else:
        return f"{path} {json.dumps(ours)} → {json.dumps(theirs)}"
    differences = (first_difference(our_part, other, inner) for inner, our_part, other in pairs)
    return next(filter(None, differences), None)


def comparable_payload(schema: Any, payload: Any) -> Any:
    """A payload with the entries of its maps in the order of their keys, as Java's have none, and
    with all digits of its single floats, of which older Java writes too many."""
    if isinstance(payload, float) and schema is not None and schema["type"] == "float":
        return struct.unpack("f", struct.pack("f", payload))[0]
    if isinstance(payload, dict) and (schema is None or schema["type"] == "map"):
        inner = None if schema is None else schema["values"]
        return {name: comparable_payload(inner, payload[name]) for name in sorted(payload)}
    if isinstance(payload, list) and schema is not None and schema["type"] == "map":
        parts = (schema["keys"], schema["values"])
        pairs = [
            [comparable_payload(*each) for each in zip(parts, pair, strict=True)]
            for pair in payload
        ]
        return sorted(pairs, key=json.dumps)
    if isinstance(payload, list):
        inner = None if schema is None else schema["items"]
        return [comparable_payload(inner, item) for item in payload]
    if isinstance(payload, dict):
        schemas = {field["field"]: field for field in schema["fields"]}
        return {name: comparable_payload(schemas.get(name), item) for name, item in payload.items()}
    return payload


def comparable(record: Any) -> Any:
    """A record without what is by chance."""
    plain_record = dict(record)
    for name in ("key", "value"):
        if plain_record[name] is not None:
            part = plain_record[name]
            payload = comparable_payload(part["schema"], part["payload"])
            plain_record[name] = {"schema": part["schema"], "payload": payload}
    plain_record["headers"] = [
        header | {"payload": comparable_payload(header["schema"], header["payload"])}
        for header in plain_record["headers"]
    ]
    return plain_record


def outcome_difference(ours: Any, theirs: Any) -> str | None:
    """The difference between two results of a record; the words of an error do not count."""
    outcomes = [
        "dropped" if result is None else "fails" if "error" in result else "passes"
        for result in (ours, theirs)
    ]
    if outcomes[0] != outcomes[1]:
        return f"{outcomes[0]} → {outcomes[1]}"
    if outcomes[0] == "passes":
        return first_difference(comparable(ours), comparable(theirs))
    return None


def differences(case: Case) -> Iterator[str]:
    """The differences as ours → theirs, a line per record."""
    try:
        ours = apply_json(case.properties, case.records())
    except HeadraceError as error:
        if case.refused is None:
            yield f"{case.name} | refused ({error.code}) → configured"
        return
    if case.refused is not None:
        yield brief(f"{case.name} | configured → refused ({case.refused})")
        return
    for name, our_outcome, other in zip(case.record_names, ours, case.results, strict=True):
        difference = outcome_difference(our_outcome, other)
        if difference is not None:
            yield brief(f"{case.name} | {name}: {difference}")


def listed(case: Case) -> list[str]:
    """The differences of a case that are on purpose."""
    lines = on_purpose(HERE, case.transform)
    return [line for line in lines if line.startswith(f"{case.name} | ")]


@pytest.mark.parametrize("case", IMPLEMENTED, ids=str)
def test_a_chain_makes_of_records_what_the_real_classes_make(case: Case) -> None:
    assert sorted(differences(case)) == sorted(listed(case))


@pytest.mark.parametrize("name", RECORDED)
def test_every_listed_difference_is_of_a_recorded_case(name: str) -> None:
    names = {case.name for case in RECORDED[name]}
    assert [line for line in on_purpose(HERE, name) if line.split(" | ")[0] not in names] == []
