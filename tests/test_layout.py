"""Files, folders and functions stay small enough to be read."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = sorted(path for top in ("src", "demo", "tests") for path in (ROOT / top).rglob("*.py"))
MAX_LINES, MAX_FILES, MAX_FUNCTION_LINES = 500, 15, 100
PACKAGE = ROOT / "src/headrace"


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def statements(path: Path) -> Iterator[ast.AST]:
    """The statements of a file, also those inside of others; expressions, which most nodes are,
    contain no statements."""
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            block_statements = getattr(node, block, ())
            waiting += block_statements if isinstance(block_statements, list) else ()


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_files_are_found() -> None:
    assert Path(__file__) in FILES
    assert {path.parts[len(ROOT.parts)] for path in FILES} == {"src", "demo", "tests"}


def test_no_file_is_longer_than_500_lines() -> None:
    assert {name(path): lines(path) for path in FILES if lines(path) > MAX_LINES} == {}


def test_no_folder_has_more_than_15_modules() -> None:
    """`__init__.py` does not count: it says what the folder is."""
    modules = Counter(name(path.parent) for path in FILES if path.name != "__init__.py")
    assert {folder: count for folder, count in modules.items() if count > MAX_FILES} == {}


def test_no_function_is_longer_than_100_lines() -> None:
    long = {
        f"{name(path)}:{node.lineno} {node.name}"
        for path in FILES
        if lines(path) > MAX_FUNCTION_LINES
        for node in statements(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > MAX_FUNCTION_LINES
    }
    assert long == set()


def paths_with_kernels() -> set[Path]:
    decorators = {"entry", "part", "inlined_part"}
    return {
        path
        for path in FILES
        if PACKAGE in path.parents
        for node in statements(path)
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(d, ast.Name) and d.id in decorators for d in node.decorator_list)
    }


def test_kernels_of_shared_rooms_stand_in_packages_called_kernels() -> None:
    """The import contracts name them there."""
    rooms = [PACKAGE / room for room in ("streaming", "converters", "documents")]
    with_kernels = {
        path for path in paths_with_kernels() if any(room in path.parents for room in rooms)
    }
    assert len(with_kernels) > 30
    assert {name(path) for path in with_kernels if path.parent.name != "kernels"} == set()


OF_DOCUMENTS = {
    "headrace.connectors.mongodb.reading.document_images",
    "headrace.connectors.mongodb.streaming.event_parts",
    "headrace.connectors.mongodb.streaming.frames",
}
"""Modules whose kernels are made of those of documents, because their rows are documents."""


def kernel_contracts() -> list[dict[str, list[str]]]:
    """The import contracts of kernels."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return [
        contract
        for contract in contracts["contracts"]
        if {"headrace.converters", "headrace.documents"} & {*contract.get("forbidden_modules", ())}
    ]


def is_named(module: str, sources: list[str]) -> bool:
    """Whether a contract names the module or a package that has it. `**` is one name or more."""
    patterns = (re.escape(source).replace(r"\*\*", r"\w+(\.\w+)*") for source in sources)
    return any(re.fullmatch(rf"{pattern}(\..+)?", module) for pattern in patterns)


def test_what_kernels_import_is_in_a_contract_or_an_exception() -> None:
    """Imports of a kernel are linked into it."""
    modules = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in paths_with_kernels()
        if path.relative_to(PACKAGE).parts[0] not in ("connect", "documents")
    }
    contracts = kernel_contracts()
    assert len(contracts) == 2
    unnamed = {
        module
        for module in modules
        if not any(is_named(module, contract["source_modules"]) for contract in contracts)
    }
    assert unnamed == OF_DOCUMENTS
