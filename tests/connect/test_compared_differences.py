"""Differences in kernels."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import headrace

SOURCES = Path(headrace.__file__).parent
COMPILED = ("entry", "part", "inlined_part")
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def kernels() -> Iterator[tuple[Path, ast.FunctionDef]]:
    """Every compiled function with its file."""
    for file in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and any(
                ast.unparse(decorator) in COMPILED for decorator in node.decorator_list
            ):
                yield file, node


def is_difference(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)


def is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def test_no_kernel_takes_the_order_of_two_numbers_from_the_sign_of_their_difference() -> None:
    """Numba's differences of signed integers must not overflow: the compiler makes `a > b` of
    `a - b > 0`."""
    count, wrong = 0, []
    for file, function in kernels():
        count += 1
        for node in ast.walk(function):
            if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ORDERS):
                continue
            compared = [node.left, *node.comparators]
            if any(map(is_zero, compared)) and any(map(is_difference, compared)):
                wrong.append(f"{file.relative_to(SOURCES)}:{node.lineno}: {ast.unparse(node)}")
    assert count > 400
    assert not wrong
