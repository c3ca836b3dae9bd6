"""The page on adding a transform, executed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from headrace.config.java_properties import parse_properties
from headrace.transforms import apply_json

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-transform.md"
ORDER = {
    "type": "struct",
    "optional": False,
    "fields": [
        {"field": "id", "type": "int32", "optional": False},
        {"field": "amount", "type": "int64", "optional": True},
    ],
}


def block(language: str) -> str:
    match = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert match is not None
    return match[1]


def order(amount: int | None) -> dict[str, Any]:
    value = {"schema": ORDER, "payload": {"id": 1, "amount": amount}}
    return {"topic": "orders", "partition": None, "timestamp": None, "key": None, "value": value,
            "headers": []}  # fmt: skip


@pytest.fixture
def properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    (tmp_path / "orders.py").write_text(block("python"))
    monkeypatch.syspath_prepend(tmp_path)
    return {entry.key: entry.value for entry in parse_properties(block("properties"))}


def test_the_transforms_of_the_page_do_what_it_says(properties: dict[str, str]) -> None:
    other = order(1) | {"topic": "others", "value": {"schema": {"type": "string"}, "payload": "x"}}
    gone = order(1) | {"value": None}
    made = apply_json(properties, [order(99), order(100), order(None), other, gone])
    assert made[0] is None
    payloads = [each and each["value"] and each["value"]["payload"] for each in made[1:]]  # type: ignore[index]
    assert payloads == [
        {"id": 1, "amount": 100, "total": 119},
        {"id": 1, "amount": None, "total": None},
        "x",
        None,
    ]
