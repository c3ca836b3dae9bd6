"""The kernels that the Python of a module calls."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

from numba.core.dispatcher import Dispatcher


def called_in(module: ModuleType) -> set[Dispatcher]:
    """Kernels that the module's Python calls."""
    tree = ast.parse(Path(module.__file__ or "").read_text())
    compiled = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(d, ast.Name) and d.id in ("entry", "part", "inlined_part")
            for d in node.decorator_list
        )
        for inner in ast.walk(node)
    }
    dispatchers = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or node in compiled:
            continue
        match node.func:
            case ast.Name(id="address_of_kernel" | "staticmethod") if node.args:
                # Another kernel calls it by its address, or a SegmentReader as its own.
                called = getattr(module, ast.unparse(node.args[0]), None)
            case ast.Name(id=name):
                called = getattr(module, name, None)
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                called = getattr(getattr(module, owner, None), name, None)
            case _:
                continue
        if isinstance(called, Dispatcher):
            dispatchers.add(called)
    return dispatchers
