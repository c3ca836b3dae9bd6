"""The list of kernels that a start compiles."""

from __future__ import annotations

import errno
import os
import pkgutil
import re
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numba
import pytest
from numba.core.dispatcher import Dispatcher

import headrace
from headrace.connectors.registry import definitions
from headrace.spark.kernels import compiled, compiler, needed, process
from headrace.spark.sinks.registry import built_in as own_sinks
from tests.spark.kernels.calls import called_in


def modules() -> list[ModuleType]:
    names = (m.name for m in pkgutil.walk_packages(headrace.__path__, "headrace."))
    return [import_module(n) for n in names if not n.endswith(("__main__", "spark.daemon"))]


def listed() -> set[Dispatcher]:
    return {
        getattr(import_module(m), name)
        for m, names in needed.all_kernels().items()
        for name in names
    }


def test_every_kernel_that_python_calls_is_listed() -> None:
    called = set().union(*(called_in(module) for module in modules()))
    assert called == listed()


def test_a_compilation_that_was_killed_leaves_the_rest_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    kernels = {"a": ("x", "y")}
    assert compiled.missing_kernels(kernels) == [("a", "x"), ("a", "y")]
    compiled.mark_compiled("a", "x")
    assert compiled.missing_kernels(kernels) == [("a", "y")]
    loaded: list[tuple[str, str]] = []
    monkeypatch.setattr(compiler, "load_kernel", lambda *kernel: loaded.append(kernel))
    assert compiler.compile_kernels(kernels) == 1
    assert loaded == [("a", "y")]


def test_the_daemon_of_workers_loads_what_tasks_run_and_not_the_planner() -> None:
    script = "from headrace.spark import daemon; daemon.preload(); import sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert {
        module for definition in definitions() for module in definition.worker_modules
    } <= loaded
    assert "headrace.connectors.postgresql.reading.snapshot_source" not in loaded


_LOADED_WITHOUT_COMPILER = """
import sys
from importlib import import_module
from headrace.spark.kernels.beforehand import compile_beforehand
from headrace.spark.kernels.compiled import load_compiled, missing_kernels
from headrace.spark.kernels.needed import all_kernels, kernels_by_name, listed
compile_beforehand(kernels_by_name(["postgresql", "json"]))
missing = missing_kernels(all_kernels())
compiled = [kernel for kernel in listed(all_kernels()) if kernel not in missing]
kernels = [getattr(import_module(module), name) for module, name in compiled]
load_compiled()
for kernel in kernels:
    (entry,) = kernel.nopython_signatures
    assert kernel.stats.cache_hits[entry.args] == 1, kernel
print(len(kernels) >= 20, "numba.np.arraymath" in sys.modules)
"""


def test_no_kernel_needs_what_numba_compiles_to_be_loaded() -> None:
    command = [sys.executable, "-c", _LOADED_WITHOUT_COMPILER]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == "True False\n"


def test_a_process_that_starts_beside_a_compilation_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    compiled_by_second = []
    monkeypatch.setattr(compiler, "load_kernel", lambda *kernel: compiled_by_second.append(kernel))
    notes: list[object] = []
    waits = threading.Event()

    def wait() -> None:
        notes.append("waits")
        waits.set()

    with compiler._only_compiler():
        second = threading.Thread(
            target=compiler.compile_kernels,
            args=({"a": ("x",)}, lambda done, total: notes.append((done, total)), wait),
        )
        second.start()
        assert waits.wait(60)
        compiled.mark_compiled("a", "x")
    second.join()
    assert compiled_by_second == []
    assert notes == [(0, 1), "waits", (1, 1)]


def test_a_kernel_whose_files_were_deleted_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    index, code = tmp_path / "a" / "x.nbi", tmp_path / "a" / "x.nbc"
    index.parent.mkdir()
    for file in (index, code):
        file.touch()
    compiled.mark_compiled("a", "x", [index, code])
    assert compiled.missing_kernels({"a": ("x",)}) == []
    code.unlink()
    assert compiled.missing_kernels({"a": ("x",)}) == [("a", "x")]


@pytest.mark.parametrize("content", [b"", b"\377\376", b"files 1\n" + b"x" * 300, b"files 2\na\n"])
def test_a_stamp_that_is_not_whole_is_as_good_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    (tmp_path / "a").touch()
    compiled.mark_compiled("a", "x")
    compiled._stamp("a", "x").write_bytes(content)
    assert compiled.missing_kernels({"a": ("x",)}) == [("a", "x")]


def test_a_loaded_kernel_notes_its_files(tmp_path: Path) -> None:
    script = (
        "from headrace.spark.kernels import compiled, needed;"
        "kernel = ('headrace.connect.evaluation.units', '_count_units');"
        "compiled.load_kernel(*kernel);"
        "print(*sorted({path.suffix for path in compiled.folder().rglob('*')}));"
        "next(compiled.folder().rglob('*.nbc')).unlink();"
        "print(compiled.missing_kernels({kernel[0]: (kernel[1],)}) == [kernel])"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    suffixes, is_missing = run.stdout.splitlines()
    assert {".nbc", ".nbi"} <= set(suffixes.split())
    assert is_missing == "True"


def test_a_kernel_of_another_packages_sink_that_cannot_be_compiled_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    faulty: Any = SimpleNamespace(name="faulty", kernels={"no_such_module": ("read",)})
    monkeypatch.setattr(compiled, "sinks", lambda: (*own_sinks(), faulty))
    compiled.load_kernel("no_such_module", "read")
    assert "The kernel no_such_module.read of the sink faulty cannot be used: " in caplog.text
    with pytest.raises(ModuleNotFoundError):
        compiled.load_kernel("another_module", "read")


def test_the_log_says_once_that_another_process_compiles(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = ("0 2", process.ANOTHER_COMPILES, "what a module prints", "2 2")
    script = f"for line in {lines!r}: print(line)"
    caplog.set_level("INFO")
    with process.start(["-c", script]) as started:
        assert list(process.read_progress(started)) == [(0, 2), (2, 2)]
    assert caplog.messages == [
        "compiling kernels: another process compiles them, and this one waits for it"
    ]


def test_a_file_system_without_locks_only_means_that_processes_do_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    loaded: list[tuple[str, str]] = []
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("fcntl.flock", fails)
    monkeypatch.setattr(compiler, "load_kernel", lambda *kernel: loaded.append(kernel))
    compiler.compile_kernels({"a": ("x",)})
    assert loaded == [("a", "x")]


def test_the_compiler_finds_modules_where_the_process_does_that_started_it(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "own_kernels.py").write_text(
        "from headrace.connect.kernels.functions import entry\n"
        "@entry\ndef twice(number):\n    return 2 * number\n"
    )
    script = (
        "import sys; sys.path.append('elsewhere');"
        "from headrace.spark.kernels.beforehand import compile_beforehand;"
        "compile_beforehand({'own_kernels': ('twice',)});"
        "from headrace.spark.kernels.compiled import missing_kernels;"
        "print(missing_kernels({'own_kernels': ('twice',)}))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "[]\n", run.stderr


_OF_DAMAGED = r"""
import logging, sys
from pathlib import Path
from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.loading import load

logging.basicConfig(format="%(message)s")

def doubled(number):
    return 2 * number

def loaded_from_file():
    kernel = entry(doubled)
    load(kernel)
    assert kernel(4) == 8
    return bool(kernel.stats.cache_hits)

assert not loaded_from_file()
assert loaded_from_file()
(file,) = Path("kernels").rglob("*." + sys.argv[1])
whole = file.read_bytes()
code = max(whole.find(b"\x7fELF"), whole.find(b"\xcf\xfa\xed\xfe"))
bitcode = max(whole.find(b"BC\xc0\xde"), whole.find(b"\xde\xc0\x17\x0b"))
assert sys.argv[1] == "nbi" or 0 < code < bitcode
inside = (code, code + 1000, bitcode, bitcode + 1000) if code > 0 else ()
places = {0, 1, 2, 10, len(whole) // 3, len(whole) // 2, *inside, len(whole) - 20, len(whole) - 1}
for place in sorted(places):
    changed = bytearray(whole)
    changed[place] ^= 0x10
    file.write_bytes(changed)
    assert not loaded_from_file(), place
    assert loaded_from_file(), place
for size in (0, 10, 60, len(whole) - 1):
    file.write_bytes(whole[:size])
    assert not loaded_from_file(), size
    assert loaded_from_file(), size
print(len(places) + 4)
"""


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_kernel_is_compiled_again_whatever_is_damaged_of_its_files(
    tmp_path: Path, suffix: str
) -> None:
    """A flipped bit of a pickle raises anything, and one of machine code gives wrong numbers."""
    (tmp_path / "sample.py").write_text(_OF_DAMAGED)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    run = subprocess.run(
        [sys.executable, "sample.py", suffix],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    lines = run.stderr.splitlines()
    assert len(lines) == int(run.stdout) >= 10
    warning = rf"the compiled kernel in {tmp_path}/\S+doubled-\S+\.{suffix} is damaged"
    assert [
        line for line in lines if not re.match(f"{warning}, and is compiled again$", line)
    ] == []
