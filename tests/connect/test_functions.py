"""Entries, which Python calls, and parts, which only kernels call."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from ctypes import CFUNCTYPE, c_int64
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.connect.kernels import numba_internals
from headrace.connect.kernels.functions import OPTIONS, entry, inlined, inlined_part, part
from headrace.connect.kernels.loading import address_of_kernel
from headrace.connect.kernels.memory import address_of
from headrace.connect.kernels.numba_internals import (
    LOWEST,
    PLAIN_PARTS,
    _is_damaged,
    address_of_code,
    files_of,
)

_SMALL_SAMPLE = """
import numpy as np
from headrace.connect.encoding import Encoding
from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.converters.json.kernels.cells import nanoseconds
from headrace.connect.kernels.json_text import put_string

@entry
def call(address, length, encoding, out):
    number = nanoseconds(address, length, encoding)
    return put_string(address, length, out) if number < 0 else -number

for text in (b"2024-02-29", b"13:14:15.25", b"-17.250", b"caf\\xc3\\xa9 \\"x\\"", b"t\\1" * 9):
    for encoding in sorted(map(int, Encoding)):
        source = np.frombuffer(text + bytes(PADDING), np.uint8).copy()
        out = np.zeros(4096, np.uint8)
        end = call(address_of(source), len(text), encoding, address_of(out))
        print(encoding, text, bytes(out[: end - address_of(out)]) if end > 0 else end)
"""
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


_double_in_place = inlined(_double)


@entry
def _sum(number):  # type: ignore[no-untyped-def]
    return _double(number) + _double(1) + _double(5) + _triple(1) + _triple(5)


def test_a_part_is_typed_once_and_constants_are_no_types() -> None:
    compiled_now = numba.njit(_sum.py_func)  # an entry may be on disk, of which no part is typed
    assert compiled_now(4) == 8 + 2 + 10 + 3 + 15
    assert list(_double.overloads) == [(numba.int64,)]
    assert len(_triple.overloads) == 2


def test_a_part_can_be_inlined_in_one_place_and_called_in_others() -> None:
    @numba.njit
    def compiled_now(number):  # type: ignore[no-untyped-def]
        return _double_in_place(number) + _double(number)

    assert compiled_now(4) == 16
    assert _double_in_place.targetoptions["forceinline"]
    assert not _double.targetoptions["forceinline"]


@entry
def _exchange(address, index, value):  # type: ignore[no-untyped-def]
    former = address[index]
    address[index] = value
    address[0] += 1
    return former


@given(
    words=st.lists(st.integers(-(2**63), 2**63 - 2), min_size=1, max_size=9),
    index=st.integers(0, 8),
    value=st.integers(-(2**63), 2**63 - 2),
    offset=st.integers(0, 7),
)
def test_the_words_at_an_address_are_those_of_python_s_array(
    words: list[int], index: int, value: int, offset: int
) -> None:
    index %= len(words)
    memory = np.zeros(8 * len(words) + 16, np.uint8)
    at = memory[offset : offset + 8 * len(words)]
    at[:] = np.array(words, np.int64).view(np.uint8)
    assert _exchange(address_of(at), index, value) == words[index]
    words[index] = value
    words[0] += 1
    assert at.tobytes() == np.array(words, np.int64).tobytes()
    assert not memory[offset + 8 * len(words) :].any()


def test_parts_are_used_with_the_numba_of_the_constraints() -> None:
    assert not numba_internals.PLAIN


def test_python_cannot_call_a_part() -> None:
    with pytest.raises(TypeError, match="is a part of kernels, and Python cannot call it"):
        _double(1)


def run(tmp_path: Path, script: str, **variables: str) -> str:
    """The output of the script."""
    return run_all(tmp_path, script, **variables).stdout


def run_all(tmp_path: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a program of its own."""
    (tmp_path / "sample.py").write_text(script)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")} | variables
    return subprocess.run(
        [sys.executable, "sample.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )


def test_only_the_entry_has_a_file(tmp_path: Path) -> None:
    run(tmp_path, _SMALL_SAMPLE)
    files = {file.name.split("-")[0] for file in (tmp_path / "kernels").rglob("*.nbc")}
    assert files == {"__main__.call"} or files == {"sample.call"}


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(_SMALL_SAMPLE, id="two parts"),
        # Plain Numba compiles each of its parts: many seconds.
        pytest.param(_SAMPLE, id="all cells", marks=pytest.mark.chaos),
    ],
)
def test_parts_that_plain_numba_compiles_give_the_same(tmp_path: Path, script: str) -> None:
    parts = run(tmp_path, script)
    assert parts.count("\n") > 80
    assert len(set(parts.splitlines())) > 10
    assert run(tmp_path, script, **{PLAIN_PARTS: "1"}) == parts


_PLAIN_SAMPLE = """
from headrace.connect.kernels import numba_internals
from headrace.connect.kernels.functions import entry, part

@part
def double(number): return 2 * number

@entry
def call(number): return double(number)

print(call(4), double(5), numba_internals.share_kernels())
"""


@pytest.mark.parametrize(
    "change",
    [
        "import numba.core.typed_passes as passes; del passes.NativeLowering",
        "from numba.core.codegen import CPUCodeLibrary as library; made = library.__init__\n"
        "def make(self, *given): made(self, *given); del self._linking_libraries\n"
        "library.__init__ = make; import headrace.connect.kernels.numba_internals\n"
        "library.__init__ = made",
        "import numba.core.compiler_machinery as machinery; machinery.register_pass = lambda: None",
        "import numba; numba.version_info = numba.version_info._replace(short=(99, 0))\n"
        "from numba.core.compiler import _LowerResult; _LowerResult._replace = None",
    ],
    ids=[
        "a class",
        "what a constructor sets",
        "arguments",
        "a later one that fails as it compiles",
    ],
)
def test_a_numba_with_other_private_names_compiles_parts_plainly(
    tmp_path: Path, change: str
) -> None:
    completed = run_all(tmp_path, f"{change}\n{_PLAIN_SAMPLE}")
    assert completed.stdout == "8 10 True\n"
    (warned,) = completed.stderr.splitlines()
    assert warned.startswith(f"Numba {numba.__version__} has other private names")


_INTERRUPTED = """
import errno
from pathlib import Path
from headrace.connect.kernels import numba_internals

folder = Path("files")
folder.mkdir()

class Full(numba_internals._Files):
    def _open_for_write(self, filepath):
        if filepath.endswith(SUFFIX):
            raise OSError(errno.ENOSPC, "No space left on device")
        return super()._open_for_write(filepath)

def files(release, made=numba_internals._Files):
    return made(str(folder), "kernel-1.py", release)

files("1").save("types", "code of 1")
assert files("1").load("types") == "code of 1"
try:
    files("2", Full).save("types", "code of 2")
except OSError as error:
    assert error.errno == errno.ENOSPC
else:
    raise AssertionError
assert files("1").load("types") == "code of 1"
assert files("2").load("types") is None
files("2").save("types", "code of 2")
files("2").save("other types", "code of 2, too")
assert files("2").load("types") == "code of 2"
assert files("2").load("other types") == "code of 2, too"
assert len(list(folder.glob("*.nbc"))) == 2
"""


@pytest.mark.parametrize("suffix", [".nbc", ".nbi"])
def test_code_of_a_former_release_is_not_loaded_after_a_full_disk(
    tmp_path: Path, suffix: str
) -> None:
    run(tmp_path, f"SUFFIX = {suffix!r}\n{_INTERRUPTED}")


def test_parts_that_are_plain_because_somebody_asks_for_it_are_no_warning(tmp_path: Path) -> None:
    completed = run_all(tmp_path, _PLAIN_SAMPLE, **{PLAIN_PARTS: "1"})
    assert (completed.stdout, completed.stderr) == ("8 10 True\n", "")


def test_a_numba_whose_cache_has_other_private_names_keeps_files_by_the_paths_of_sources(
    tmp_path: Path,
) -> None:
    script = (
        "import numba.core.caching as caching; del caching._SourceFileBackedLocatorMixin\n"
        "from headrace.connect.kernels import numba_internals\n"
        "from headrace.transforms.debezium.java_hashes import _hash_texts\n"
        "print(numba_internals.share_kernels(), _hash_texts._cache.cache_path)\n"
    )
    shared, place = run(tmp_path, script).split()
    assert shared == "False"
    assert Path(place).is_relative_to(tmp_path / "kernels")
    assert Path(place).name.startswith("debezium_")  # the folder of the source, and its hash


_LOADED = """
import sys
from headrace.connect.evaluation.units import _count_units
from headrace.connect.kernels.loading import load
load(_count_units)
print(sum(_count_units.stats.cache_hits.values()), "numba.np.arraymath" in sys.modules)
"""
"""Says whether a kernel was loaded from its file, and whether Numba has the functions of NumPy."""


def test_a_kernel_is_loaded_without_what_numba_compiles(tmp_path: Path) -> None:
    assert run(tmp_path, _LOADED) == "0 True\n"
    assert run(tmp_path, _LOADED) == "1 False\n"


@pytest.mark.parametrize(
    "change",
    [
        "import numba; numba.version_info = numba.version_info._replace(short=(99, 0))",
        "import numba; import numba.core.runtime as runtime; del runtime.rtsys",
        "import numba; import numba.core.caching as caching\n"
        "class Cache(caching.FunctionCache): pass\n"
        "caching.FunctionCache = Cache",
    ],
    ids=["a later one", "a name", "another class"],
)
def test_another_numba_loads_kernels_in_its_own_way(tmp_path: Path, change: str) -> None:
    for loaded in (0, 1):
        assert run(tmp_path, f"{change}\n{_LOADED}") == f"{loaded} True\n"


def test_a_numba_that_is_older_than_was_tried_is_used_by_its_public_names(tmp_path: Path) -> None:
    change = (
        "import numba; number = numba.version_info\n"
        f"numba.version_info = number._replace(short=({LOWEST[0]}, {LOWEST[1] - 1}))\n"
    )
    assert run(tmp_path, change + _PLAIN_SAMPLE) == "8 10 False\n"


def test_the_oldest_numba_that_can_be_installed_is_the_oldest_whose_private_names_are_used() -> (
    None
):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    (requirement,) = (
        requirement for requirement in project["dependencies"] if requirement.startswith("numba")
    )
    assert requirement == f"numba>={LOWEST[0]}.{LOWEST[1]}"


def test_private_names_of_numba_stand_in_one_file() -> None:
    sources = Path(headrace.__file__).parent
    private = re.compile(
        r"numba\.core(?! import (?:cgutils, )?types$)|\bfndesc\b|\.overloads\b|_locator_classes",
        re.M,
    )
    files = {path.name for path in sources.rglob("*.py") if private.search(path.read_text())}
    assert files == {"numba_internals.py"}


def test_a_numba_whose_kernels_have_no_address_makes_callbacks_of_them() -> None:
    ours = address_of_kernel(_sum)
    lacking = SimpleNamespace(py_func=_sum.py_func)  # a kernel without `overloads`
    callback = address_of_code(lacking, OPTIONS)
    assert callback != ours
    assert address_of_code(lacking, OPTIONS) == callback
    for address in (ours, callback):
        assert CFUNCTYPE(c_int64, c_int64)(address)(4) == _sum(4)
    # The callback is in no file, where it would replace the kernel's.
    files = files_of(_sum)
    assert files
    assert not any(map(_is_damaged, files))
