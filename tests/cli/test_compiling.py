"""A first start says what it waits for."""

import io
import itertools
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numba

from headrace.cli.compiling import compile_kernels
from headrace.cli.messages import LogFormat, Messages
from headrace.spark import kernels


def steps():
    """A clock on which every look is a minute later."""
    minutes = itertools.count(60, 60)
    return lambda: float(next(minutes))


def test_the_first_start_of_an_installation_says_that_it_compiles(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(
        kernels, "COMPILE", "for n in range(1, 46): print(n, 45, flush=True)\nprint('45 45')"
    )
    stream = io.StringIO()
    compilation = compile_kernels(Messages(stream, log_format=LogFormat.JSON, clock=steps()))
    assert compilation is not None
    while not compilation.is_over(60):
        pass
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert lines[0]["message"].startswith("compiling kernels, once per installation")
    assert [line["kernels"] for line in lines[1:]] == [*range(1, 46)]
    assert lines[-1]["message"].endswith("45 of 45 kernels")


def test_a_start_where_some_kernels_are_missing_says_how_many(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "COMPILE", "")
    listed = {"headrace.sinks.file.lines": ("_write_lines",), "other.kernels": ("read", "write")}
    monkeypatch.setattr(kernels, "all_kernels", lambda: listed)
    folder = tmp_path / "sinks.file.lines"
    folder.mkdir()
    for missing, phase in ((3, "about four minutes"), (2, "kernels that are missing (2)")):
        assert kernels.missing_kernels() == (missing, 3)
        stream = io.StringIO()
        compilation = compile_kernels(Messages(stream, log_format=LogFormat.JSON))
        assert compilation is not None
        assert compilation.is_over(60)
        assert phase in stream.getvalue()
        (folder / "lines._write_lines-150.py311.nbi").touch()


def test_a_kernel_that_was_compiled_is_not_missing(tmp_path):
    script = (
        "from headrace.spark import kernels\n"
        "from headrace.connect.kernels.loading import load\n"
        "from headrace.sinks.file.merge import _gather\n"
        "before, total = kernels.missing_kernels()\n"
        "load(_gather)\n"
        "assert kernels.missing_kernels() == (before - 1, total), kernels.missing_kernels()\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


def test_kernels_that_are_loaded_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "all_kernels", lambda: {"a": ("x", "y"), "b": ("z",)})
    monkeypatch.setattr(kernels, "import_module", lambda name: SimpleNamespace(x=1, y=2, z=3))
    monkeypatch.setattr(kernels, "load", lambda kernel: None)
    seen = []
    kernels.load_kernels(lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_compiler_whose_reader_was_killed_ends(tmp_path):
    script = "from headrace.spark.kernels import print_progress\nwhile True: print_progress(1, 2)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"1 2\n"
        process.stdout.close()
        assert process.wait(60) == 1


def test_the_compiler_dies_with_the_command():
    script = (
        "import os, time\n"
        "from headrace.cli.compiling import Compilation\n"
        "from headrace.cli.messages import Messages\n"
        "Compilation('import os, time; os.write(2, b\"up\"); time.sleep(600)', Messages())\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE) as process:
        assert process.stderr.read(2) == b"up"
        process.kill()
        # The end of the pipe, which the compiler has, too.
        assert process.stderr.read() == b""


def test_later_starts_say_and_compile_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "all_kernels", dict)
    kernels.load_kernels()
    assert compile_kernels(Messages()) is None
    assert capsys.readouterr().err == ""
