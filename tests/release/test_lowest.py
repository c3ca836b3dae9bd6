"""`make test LOWEST=1` installs the lowest versions that headrace asks for."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.installation import ROOT
from tests.release.lowest import TOOLS, bounds, constraints

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINNED = (ROOT / "constraints.txt").read_text()


def requirements() -> list[Requirement]:
    """The requirements of headrace and of its extras, except those with tools."""
    extras = PROJECT["optional-dependencies"]
    texts = [text for extra, texts in extras.items() if extra not in TOOLS
             for text in texts]  # fmt: skip
    all_requirements = map(Requirement, [*PROJECT["dependencies"], *texts])
    return [each for each in all_requirements if not each.name.startswith("headrace")]


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_what_is_required_has_a_lowest_version_or_exactly_one(requirement: Requirement) -> None:
    operators = {each.operator for each in requirement.specifier}
    assert operators & {">=", "=="}
    if ">=" in operators:
        lowest = bounds(PROJECT)[requirement.name.lower().replace("_", "-")]
        assert requirement.specifier.contains(lowest)


def test_each_version_is_said_once_and_tools_keep_theirs() -> None:
    lines = constraints(PROJECT, PINNED).splitlines()
    names = [line.partition("==")[0].lower().replace("_", "-") for line in lines]
    assert len(names) == len(set(names))
    assert f"pyspark=={bounds(PROJECT)['pyspark']}" in lines
    assert "py4j" not in names
    (pytest_line,) = (line for line in PINNED.splitlines() if line.startswith("pytest=="))
    assert pytest_line in lines
