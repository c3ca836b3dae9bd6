"""The list of kernels that a start compiles."""

from __future__ import annotations

import ast
import errno
import pkgutil
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numba
import pytest
from numba.core.dispatcher import Dispatcher

import headrace
from headrace.connectors.registry import definitions
from headrace.spark import kernels


def modules() -> list[ModuleType]:
    names = (m.name for m in pkgutil.walk_packages(headrace.__path__, "headrace."))
    return [import_module(n) for n in names if not n.endswith(("__main__", "spark.daemon"))]


def called_in(module: ModuleType) -> set[Dispatcher]:
    """Kernels that the module's Python calls."""
    tree = ast.parse(Path(module.__file__ or "").read_text())
    compiled = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(d, ast.Name) and d.id in ("kernel", "inlined_kernel")
            for d in node.decorator_list
        )
        for inner in ast.walk(node)
    }
    found = set()
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
            found.add(called)
    return found


def listed() -> set[Dispatcher]:
    return {
        getattr(import_module(m), name)
        for m, names in kernels.all_kernels().items()
        for name in names
    }


def test_every_kernel_that_python_calls_is_listed() -> None:
    called = set().union(*(called_in(module) for module in modules()))
    assert called == listed()


def test_a_compilation_that_was_killed_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    (tmp_path / "json_kernel").mkdir()
    (tmp_path / "json_kernel" / "kernel-1.py311.nbi").touch()
    assert not kernels.kernels_are_compiled()
    monkeypatch.setattr(kernels, "all_kernels", dict)
    kernels.load_kernels()
    assert kernels.kernels_are_compiled()


def test_the_daemon_of_workers_loads_what_tasks_run_and_not_the_planner() -> None:
    script = "from headrace.spark import daemon; daemon.preload(); import sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert {module for one in definitions() for module in one.worker_modules} <= loaded
    assert "headrace.connectors.postgresql.reading.snapshot_source" not in loaded


def test_a_process_that_starts_beside_a_compilation_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    asked, is_compiled = threading.Event(), []

    def asks() -> bool:
        made = kernels._stamp().exists()
        asked.set()
        return made

    monkeypatch.setattr(kernels, "kernels_are_compiled", asks)
    monkeypatch.setattr(
        kernels, "_load_kernels", lambda _: is_compiled.append(kernels._stamp().exists())
    )
    with kernels._compiler():
        second = threading.Thread(target=kernels.load_kernels)
        second.start()
        assert asked.wait(60)
        kernels._stamp().touch()
    second.join()
    assert is_compiled == [True]


def test_a_file_system_without_locks_only_means_that_processes_do_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    loaded: list[bool] = []
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("fcntl.flock", fails)
    monkeypatch.setattr(kernels, "_load_kernels", lambda _: loaded.append(True))
    kernels.load_kernels()
    assert loaded == [True]
