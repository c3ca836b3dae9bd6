"""The page docs/map.md: each package, what it is, what it may not import, and where its tests are.

`python -m tests.docs.project.map` prints it; `make docs` writes it, `make check` compares it.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
SOURCES = ("src", "demo/src")
_TESTS = ROOT / "tests"
_GENERAL = ("chaos", "contract", "docs", "fuzz", "golden", "upgrades")
"""Folders of tests that are about no package."""
_HEAD = """\
# Map

The packages of headrace: what each is, what it may not import, and where its tests are.
[Architecture](architecture.md) explains how they work together. The tests are in the folder of the
same path below `tests`, or else in the folder with the most test files that import the package.
`make docs` generates this page from the docstrings of packages and the import contracts in
`pyproject.toml`; `make check` compares it.
"""
_LAYERS = """\
## Layers

A package imports only packages in layers below its own, and packages of its own layer if the table
says so. No packages of one folder import each other in a circle. Packages that are not in the table
are in no layer.
"""
_ELSEWHERE = """
## Packages of other projects

Only these modules import them by an `import` statement. "No module": the package is not imported,
or only by its name at run time, as `connectors/oracle` imports `oracledb`. `bson` and `gridfs` are
those of `pymongo`:
"""


@dataclass(frozen=True)
class Package:
    """A package by its dotted name, its folder (below the root), and its docstring's first
    sentence."""

    name: str
    folder: str
    summary: str


@dataclass(frozen=True)
class Layer:
    """The packages of one layer; `separate`: they do not import each other."""

    names: tuple[str, ...]
    separate: bool


def first_sentence(docstring: str) -> str:
    """The first sentence of a docstring, on one line."""
    text = " ".join(docstring.split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", text, maxsplit=1)[0]


@cache
def packages() -> tuple[Package, ...]:
    """All packages, by folder."""
    package_list = []
    for source in SOURCES:
        top = ROOT / source
        for file in top.rglob("__init__.py"):
            name = ".".join(file.parent.relative_to(top).parts)
            docstring = ast.get_docstring(ast.parse(file.read_text())) or ""
            folder = file.parent.relative_to(ROOT).as_posix()
            package_list.append(Package(name, folder, first_sentence(docstring)))
    return tuple(sorted(package_list, key=lambda package: package.folder.split("/")))


@cache
def contracts() -> Sequence[Mapping[str, Any]]:
    """The import contracts."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed: Sequence[Mapping[str, Any]] = project["tool"]["importlinter"]["contracts"]
    return listed


def layers() -> list[Layer]:
    """The layers, the highest first."""
    (contract,) = (each for each in contracts() if each["type"] == "layers")
    return [
        Layer(tuple(re.split(r"\s*[|:]\s*", text)), separate="|" in text)
        for text in contract["layers"]
    ]


def short(name: str) -> str:
    """A module below `headrace`, by its path."""
    return name.removeprefix("headrace.").replace(".", "/")


def _names(modules: Sequence[str]) -> str:
    return ", ".join(f"`{short(module)}`" for module in modules)


def _owner(pattern: str, package: str) -> str | None:
    """The module of the package that a contract's pattern names: "" the package itself, None
    something else. `**` stands for one name or more."""
    regex = re.escape(pattern).replace(r"\*\*", r"\w+(\.\w+)*")
    if re.fullmatch(regex, package):
        return ""
    parent, _, module = pattern.rpartition(".")
    if parent == package and f"{parent}.{module}" not in {each.name for each in packages()}:
        return module
    return None


def refused(package: str) -> list[str]:
    """What contracts say that the package, or a module in it, may not import."""
    by_module: dict[str, list[str]] = {}
    for contract in contracts():
        kind = contract["type"]
        if kind == "independence" and package in contract["modules"]:
            others = [each for each in contract["modules"] if each != package]
            by_module.setdefault("", []).extend(others)
        elif kind == "forbidden" and contract["source_modules"] != ["headrace"]:
            owners = {_owner(pattern, package) for pattern in contract["source_modules"]}
            for module in sorted(owner for owner in owners if owner is not None):
                by_module.setdefault(module, []).extend(contract["forbidden_modules"])
    alike: dict[str, list[str]] = {}
    for module, modules in sorted(by_module.items()):
        text = ", ".join(f"`{short(each)}`{_but(package, each)}" for each in dict.fromkeys(modules))
        alike.setdefault(text, []).append(module)
    return [
        (f"{_names(modules)}: " if any(modules) else "") + text for text, modules in alike.items()
    ]


def _but(package: str, forbidden: str) -> str:
    """What a contract allows the package's own `__init__.py` that it forbids its modules."""
    pair = f"{package} -> {forbidden}"
    is_allowed = any(pair in contract.get("ignore_imports", ()) for contract in contracts())
    return " (except in `__init__`)" if is_allowed else ""


def foreign() -> Iterator[tuple[str, list[str]]]:
    """Packages of other projects that a contract forbids all of headrace, and where they are
    allowed."""
    for contract in contracts():
        if contract["type"] == "forbidden" and contract["source_modules"] == ["headrace"]:
            for forbidden in contract["forbidden_modules"]:
                pairs = (each.split(" -> ") for each in contract.get("ignore_imports", ()))
                yield forbidden, [module for module, imported in pairs if imported == forbidden]


@cache
def _importing() -> Mapping[str, Counter[str]]:
    """For each package how many files of each folder of tests import something of it."""
    counts: dict[str, Counter[str]] = {package.name: Counter() for package in packages()}
    for file in _TESTS.rglob("test_*.py"):
        folder = file.parent.relative_to(_TESTS)
        if folder.parts[:1] in {(name,) for name in _GENERAL}:
            continue
        text = file.read_text()
        imported = set(re.findall(r"^\s*(?:from|import) (headrace[\w.]*)", text, re.M))
        for name in {parent for module in imported for parent in _with_parents(module)}:
            if name in counts:
                counts[name][folder.as_posix()] += 1
    return counts


def _with_parents(module: str) -> Iterator[str]:
    while module:
        yield module
        module = module.rpartition(".")[0]


def folder_of_tests(package: Package) -> str:
    """The folder of the package's tests, below `tests`: the one of the same path; else the one with
    the most files that import the package; else that of the package around it. "": no
    folder."""
    parts = package.name.split(".")[1:]
    mirrored = _TESTS.joinpath(*parts)
    if parts and any(mirrored.rglob("test_*.py")):
        return "/".join(parts)
    counted = _importing().get(package.name)
    if parts and counted:
        return min(counted, key=lambda folder: (-counted[folder], folder))
    while parts and not any(_TESTS.joinpath(*parts).rglob("test_*.py")):
        parts.pop()
    return "/".join(parts)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(packages_of_section: Sequence[Package]) -> Iterator[str]:
    yield "| Package | What it is | May not import | Tests |"
    yield "|---|---|---|---|"
    for package in packages_of_section:
        tests = folder_of_tests(package)
        yield _row(
            (
                f"[{short(package.name)}](../{package.folder})",
                package.summary.replace("|", "\\|"),
                "; ".join(refused(package.name)),
                f"[{tests}](../tests/{tests})" if tests else "",
            )
        )


def page() -> str:
    """The page."""
    lines = [_HEAD, _LAYERS, "| Layer | Packages |", "|---|---|"]
    for number, layer in enumerate(layers(), 1):
        listed = _names(layer.names)
        if len(layer.names) > 1 and not layer.separate:
            listed += " (these may import each other)"
        lines.append(_row((str(number), listed)))
    lines += [_ELSEWHERE, "| Package | Imported in |", "|---|---|"]
    for forbidden, allowed in foreign():
        places = _names([each.removesuffix(".**") for each in allowed])
        lines.append(_row((f"`{forbidden}`", places or "no module")))
    sections: dict[str, list[Package]] = {}
    for package in packages():
        top = package.name.split(".")[:2]
        title = top[1] if top[0] == "headrace" and len(top) > 1 else "Top-level packages"
        sections.setdefault(title, []).append(package)
    for title, listed_packages in sections.items():
        lines += [f"\n## {title}\n", *_table(listed_packages)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
