"""The kernels that a query needs are compiled before it starts; the command says how far it is."""

from __future__ import annotations

import fcntl
import io
import itertools
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from pathlib import Path

import numba
import pytest

from headrace.cli import main
from headrace.cli.compile import Compilation, start_compiling
from headrace.cli.messages import LogFormat, Messages
from headrace.errors import HeadraceError
from headrace.spark.kernels import __main__ as program
from headrace.spark.kernels import compiler, process
from headrace.spark.kernels.compiled import mark_compiled
from headrace.spark.kernels.needed import kernels_by_name, listed

KERNELS = {
    "headrace.spool.extract": ("_gather",),
    "headrace.streaming.kernels.count_kernel": ("count_rows",),
}


def minutes() -> Callable[[], float]:
    """A clock on which every look is a minute later."""
    times = itertools.count(60, 60)
    return lambda: float(next(times))


def wait_for(compilation: Compilation | None) -> None:
    assert compilation is not None
    while not compilation.is_over(60):
        pass


def test_the_first_start_says_how_many_kernels_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counts(kernels: Sequence[tuple[str, str]]) -> list[str]:
        assert list(kernels) == list(listed(KERNELS))
        return ["-c", "for n in range(1, 46): print(n, 45, flush=True)"]

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(process, "command", counts)
    stream = io.StringIO()
    wait_for(start_compiling(KERNELS, Messages(stream, log_format=LogFormat.JSON, clock=minutes())))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert lines[0]["message"] == "compiling kernels: 0 of 2, once per installation"
    assert [line["kernels"] for line in lines[1:]] == [*range(1, 46)]
    assert lines[-1]["message"] == "compiling kernels: 45 of 45"


def test_a_terminal_shows_the_progress_in_one_line(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "TERM": "xterm"}
    script = (
        "from headrace.cli.compile import start_compiling\n"
        "from headrace.cli.messages import Messages\n"
        f"compilation = start_compiling({KERNELS!r}, Messages())\n"
        "while not compilation.is_over(1): pass\n"
        "compilation.require_success()\n"
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-c", script], stderr=theirs, stdout=theirs, env=environment
    ) as process:
        os.close(theirs)
        output = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the terminal's end
                break
            if not piece:
                break
            output += piece
        os.close(ours)
    assert process.returncode == 0
    progress = re.findall(rb"compiling kernels: (\d of 2)", output)
    assert progress[0] == b"0 of 2"
    assert progress[-1] == b"2 of 2"


def test_a_compiler_whose_reader_was_killed_ends() -> None:
    script = (
        "from headrace.spark.kernels.__main__ import print_progress\n"
        "while True: print_progress(1, 2)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1 2\n"
        process.stdout.close()
        assert process.wait(60) == 1


def test_the_compiler_and_its_processes_die_with_the_command(tmp_path: Path) -> None:
    """The command, the compiler and its two workers have the pipe: its end is theirs."""
    sleeping = tmp_path / "sleeping.py"
    sleeping.write_text(
        "import os, sys, time\n"
        "from headrace.spark.kernels import __main__ as program, compiler\n"
        "def sleep(kernel):\n"
        "    os.write(2, b'.')\n"
        "    time.sleep(600)\n"
        "compiler._load, compiler._cores = sleep, lambda: 2\n"
        "if __name__ == '__main__':\n"
        "    program.main(['--progress', 'a:x', 'a:y'])\n"
    )
    script = (
        "import time\n"
        "from headrace.cli.compile import Compilation\n"
        "from headrace.cli.messages import Messages\n"
        f"Compilation([{str(sleeping)!r}], Messages())\n"
        "time.sleep(600)\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stderr is not None
        error_output = b""
        while error_output.count(b".") < 2:
            letter = process.stderr.read(1)
            assert letter, error_output
            error_output += letter
        process.kill()
        process.stderr.read()  # to the end of the pipe, which all of them have


def test_a_compiler_whose_worker_is_killed_ends_with_an_error_and_leaves_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    killing = tmp_path / "killing.py"
    killing.write_text(
        "import os, signal\n"
        "from headrace.spark.kernels import __main__ as program, compiler\n"
        "def end(kernel):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "compiler._load, compiler._cores = end, lambda: 2\n"
        "if __name__ == '__main__':\n"
        "    program.main(['--progress', 'a:x', 'a:y', 'a:z'])\n"
    )
    compilation = Compilation([str(killing)], Messages(io.StringIO()))
    try:
        assert compilation.is_over(120), "it waits for the process that was killed"
    finally:
        compilation.kill()
    with pytest.raises(HeadraceError, match="exit status 1") as failed:
        compilation.require_success()
    assert failed.value.code == "kernels.not_compiled"
    (path,) = tmp_path.rglob("compiling.lock")
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_compiler_that_fails_is_an_error() -> None:
    compilation = Compilation(["-c", "raise SystemExit(3)"], Messages(io.StringIO()))
    wait_for(compilation)
    with pytest.raises(HeadraceError, match="exit status 3") as failed:
        compilation.require_success()
    assert failed.value.code == "kernels.not_compiled"


def test_later_starts_say_and_compile_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for kernel in listed(KERNELS):
        mark_compiled(*kernel)
    assert start_compiling(KERNELS, Messages()) is None
    assert capsys.readouterr().err == ""


def test_the_verb_says_that_what_is_named_was_compiled_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    kernels = kernels_by_name(["postgresql", "json"])
    for kernel in listed(kernels):
        mark_compiled(*kernel)
    assert main(["compile", "postgresql", "json"]) == 0
    count = len(list(listed(kernels)))
    assert f"{count} kernels were compiled already, in {tmp_path}" in capsys.readouterr().err


def test_what_the_verb_compiled_is_loaded_without_compiling_it_again(tmp_path: Path) -> None:
    def run(script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    verb = run(
        "from headrace.cli import main\n"
        "from headrace.spark.kernels import needed\n"
        f"needed.kernels_by_name = lambda names: {KERNELS!r}\n"
        "raise SystemExit(main(['compile', 'postgresql', 'json']))\n"
    )
    assert verb.returncode == 0, verb.stderr
    assert "2 kernels are compiled, in " in verb.stderr
    loading = run(
        "from importlib import import_module\n"
        "from headrace.spark.kernels import compiled, needed\n"
        f"for module, name in needed.listed({KERNELS!r}):\n"
        "    compiled.load_kernel(module, name)\n"
        "    stats = getattr(import_module(module), name).stats\n"
        "    print(sum(stats.cache_hits.values()), dict(stats.cache_misses))\n"
    )
    assert loading.stdout == "1 {}\n" * 2, loading.stderr


def test_the_program_says_what_it_compiled_and_fails_when_that_was_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    kernels = list(listed(kernels_by_name(["postgresql", "json"])))
    loaded: list[tuple[str, str]] = []

    def load_kernel(*kernel: str) -> None:
        loaded.append(kernel)
        mark_compiled(*kernel)
        (tmp_path / "one.nbc").touch()

    monkeypatch.setattr(compiler, "load_kernel", load_kernel)
    for kernel in kernels[1:]:
        mark_compiled(*kernel)
    summary_pattern = re.compile(rf"\d+\.\d CPU-s, (\d) kernels compiled, 1 files in {tmp_path}\n")
    for status, count in ((0, "1"), (1, "0")):
        assert program.main(["postgresql", "json"]) == status
        match = summary_pattern.fullmatch(capsys.readouterr().out)
        assert match is not None
        assert match[1] == count
    assert loaded == kernels[:1]


def test_the_verb_names_what_is_close_to_a_wrong_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "postgres"]) == 1
    assert "did you mean postgresql? [kernels.unknown_name]" in capsys.readouterr().err


def test_a_module_in_the_working_directory_is_not_the_compilers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "resource.py").write_text("raise SystemExit('of the working directory')")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.chdir(tmp_path)
    kernel = ("headrace.connect.kernels.text", "hash_bytes")
    compiling = process.start(process.command([kernel]))
    assert list(process.read_progress(compiling))[-1] == (1, 1)
    compiling.wait(120)
    process.require_success(compiling)


@pytest.mark.parametrize(
    ("quota", "cores"), [("150000 100000", 2), ("max 100000", 8), ("", 8), (None, 8), ("5 100", 1)]
)
def test_the_compiler_takes_no_more_cores_than_its_container_may(
    quota: str | None, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(quota)
    monkeypatch.setattr(compiler, "_CPU_MAX", file)
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: range(64))
    assert compiler._cores() == cores
