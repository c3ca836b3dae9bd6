"""Entries, which Python calls, and parts, which only kernels call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.numba_internals import PLAIN_PARTS

_SAMPLE = """
import numpy as np
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.postgresql.reading.copy_text import transcode_rows
from headrace.connect.kernels.functions import entry
from headrace.converters.json.kernels.cells import encode
from headrace.connect.encoding import Encoding

@entry
def call(address, length, encoding, out):
    return encode(address, length, encoding, 2, out)

for text in (b"1", b"-17.250", b"2024-02-29", b"caf\\xc3\\xa9 \\"x\\"", b"t", b"1e400", b"NaN"):
    for encoding in sorted(map(int, Encoding)):
        source = np.frombuffer(text + bytes(PADDING), np.uint8).copy()
        out = np.zeros(4096, np.uint8)
        end = call(address_of(source), len(text), encoding, address_of(out))
        print(encoding, text, bytes(out[: end - address_of(out)]) if end > 0 else end)
"""


@part
def _double(number):  # type: ignore[no-untyped-def]
    return 2 * number


@inlined_part
def _triple(number):  # type: ignore[no-untyped-def]
    return 3 * number


@entry
def _sum(number):  # type: ignore[no-untyped-def]
    return _double(number) + _double(1) + _double(5) + _triple(1) + _triple(5)


def test_a_part_is_typed_once_and_constants_are_no_types() -> None:
    assert _sum(4) == 8 + 2 + 10 + 3 + 15
    assert list(_double.overloads) == [(numba.int64,)]
    assert len(_triple.overloads) == 2


def test_python_cannot_call_a_part() -> None:
    with pytest.raises(TypeError, match="is a part of kernels, and Python cannot call it"):
        _double(1)


def run(tmp_path: Path, script: str, **variables: str) -> str:
    (tmp_path / "sample.py").write_text(script)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")} | variables
    done = subprocess.run(
        [sys.executable, "sample.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_only_the_entry_has_a_file(tmp_path: Path) -> None:
    run(tmp_path, _SAMPLE)
    files = {file.name.split("-")[0] for file in (tmp_path / "kernels").rglob("*.nbc")}
    assert files == {"__main__.call"} or files == {"sample.call"}


def test_parts_that_plain_numba_compiles_give_the_same(tmp_path: Path) -> None:
    parts = run(tmp_path, _SAMPLE)
    assert parts.count("\n") > 100
    assert run(tmp_path, _SAMPLE, **{PLAIN_PARTS: "1"}) == parts


def test_a_numba_with_other_private_names_compiles_parts_plainly(tmp_path: Path) -> None:
    script = (
        "import numba.core.typed_passes as passes; del passes.NativeLowering\n"
        "from headrace.connect.kernels.functions import entry, part\n"
        "@part\ndef double(number): return 2 * number\n"
        "@entry\ndef call(number): return double(number)\n"
        "print(call(4), double(5))\n"
    )
    assert run(tmp_path, script) == "8 10\n"
