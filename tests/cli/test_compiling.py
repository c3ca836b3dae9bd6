"""A first start says what it waits for."""

import numba

from headrace.cli.messages import Messages
from headrace.cli.pipeline import compile_kernels
from headrace.spark import kernels


def test_the_first_start_of_an_installation_says_that_it_compiles(tmp_path, monkeypatch, capsys):
    compiled = tmp_path / "compiled"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(
        kernels, "COMPILE", f"from pathlib import Path; Path({str(compiled)!r}).touch()"
    )
    process = compile_kernels(Messages())
    assert process is not None
    assert process.wait() == 0
    assert compiled.exists()
    assert "compiling kernels, once per installation" in capsys.readouterr().err


def test_later_starts_say_and_compile_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "all_kernels", dict)
    kernels.load_kernels()
    assert compile_kernels(Messages()) is None
    assert capsys.readouterr().err == ""
