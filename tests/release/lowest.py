"""The lowest versions that headrace asks for, as constraints of pip:
`python -m tests.release.lowest`.

What `pyproject.toml` asks for with `>=`, also in the extras of the product, is at that version; the
tools of the tests are as `constraints.txt` has them; what both need follows.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLLOWING = {
    "authlib", "botocore", "import-linter", "llvmlite", "psycopg-binary", "py4j", "s3transfer",
    "twine",
}  # fmt: skip
"""Packages that these need, or that need one of these: pip takes a version that fits."""
TOOLS = ("dev", "golden", "release", "site")
_BOUND = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,.-]+\])?>=(?P<version>[\d.]+)")


def bounds(project: dict[str, Any]) -> dict[str, str]:
    """The lowest versions by name."""
    lowest_versions: dict[str, str] = {}
    for text in _requirements(project):
        bound = _BOUND.match(text)
        if bound is not None:
            lowest_versions[_normal(bound["name"])] = bound["version"]
    return lowest_versions


def constraints(project: dict[str, Any], pinned: str) -> str:
    """The lines for pip; `pinned` are those of `constraints.txt`."""
    lowest = bounds(project)
    other_lines = [
        line
        for line in pinned.splitlines()
        if _normal(line.partition("==")[0]) not in lowest.keys() | FOLLOWING
    ]
    return "".join(
        f"{line}\n" for line in (*(f"{n}=={v}" for n, v in lowest.items()), *other_lines)
    )


def _requirements(project: dict[str, Any]) -> Iterator[str]:
    yield from project["dependencies"]
    for extra, texts in project["optional-dependencies"].items():
        if extra not in TOOLS:
            yield from texts


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    print(constraints(project, (ROOT / "constraints.txt").read_text()), end="")
