"""Compiled functions: entries, which Python calls, and parts, which only kernels call.

In both, an address may be indexed: `state[INDEXED]` is the int64 at `state + 8 * INDEXED`, and may
be assigned, as in the array that Python has there.

Compiled files are kept in a folder per content of the sources.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import __version__ as numba_version
from numba import config
from numba.core import types
from numba.extending import lower_builtin, type_callable

from headrace.connect.cache_folders import kernel_folder
from headrace.connect.kernels.numba_internals import (
    PLAIN,
    make_entry,
    make_part,
    share_kernels,
)
from headrace.connect.kernels.other_packages import releases
from headrace.connect.kernels.sources import content_digest


def _sources_digest() -> str:
    """Return the digest that names the folder of compiled kernels. It covers:

    - the content of the sources that make kernels: Numba does not notice changes in the modules
      that a kernel calls
    - the version of Numba: two versions would overwrite each other's files
    - plain parts: their machine code differs
    - the installation and the releases of other packages, where Numba keeps files by the paths of
      sources; elsewhere each kernel of another package has its release, see `release_of`
    """
    package = Path(__file__).resolve().parents[2]
    state = hashlib.sha256()
    if not share_kernels():
        state.update(bytes(package) + str(releases()).encode())
    state.update(f"{numba_version}\n{'plain' if PLAIN else ''}\n".encode())
    state.update(content_digest(package).encode())
    return state.hexdigest()[:16]


config.CACHE_DIR = str(kernel_folder(_sources_digest()))

# Kernels release the GIL, and divide as C does.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


entries: list[Any] = []
"""The entries of the modules that this process has."""


def entry(function: Callable[..., Any]) -> Any:
    """A kernel that Python calls, or another kernel by its address: compiled, kept on disk and
    optimised as one with the parts that it calls. All its arguments are int64."""
    entries.append(make_entry(function, OPTIONS))
    return entries[-1]


def part(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call: it is linked into them, and has no file of its
    own."""
    return make_part(function, is_inlined=False, options=OPTIONS)


def inlined_part(function: Callable[..., Any]) -> Any:
    """Compile a part of a hot loop: it is compiled into its caller as if written there, once for
    each set of constants."""
    return make_part(function, is_inlined=True, options=OPTIONS)


def inlined(known_part: Any) -> Any:
    """Return the same part, compiled into its callers: for loops that call it for each row or cell,
    where a call takes 3 to 5 ns."""
    return inlined_part(known_part.py_func)


_INT64 = ir.IntType(64)


@type_callable(operator.getitem)
def _type_of_load(context: Any) -> Callable[..., Any]:  # noqa: ARG001
    def type_of(address: Any, index: Any) -> Any:
        return types.int64 if _are_integers(address, index) else None

    return type_of


@type_callable(operator.setitem)
def _type_of_store(context: Any) -> Callable[..., Any]:  # noqa: ARG001
    def type_of(address: Any, index: Any, value: Any) -> Any:
        return types.void if _are_integers(address, index, value) else None

    return type_of


def _are_integers(*values: Any) -> bool:
    return all(isinstance(value, types.Integer) for value in values)


@lower_builtin(operator.getitem, types.Integer, types.Integer)
def _load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    address, index = _as_int64(context, builder, signature, arguments)
    word = builder.load(_pointer(builder, address, index))
    word.align = 1
    return word


@lower_builtin(operator.setitem, types.Integer, types.Integer, types.Integer)
def _store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    address, index, value = _as_int64(context, builder, signature, arguments)
    store = builder.store(value, _pointer(builder, address, index))
    store.align = 1
    return context.get_dummy_value()


def _as_int64(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    return [
        context.cast(builder, value, kind, types.int64)
        for value, kind in zip(arguments, signature.args, strict=True)
    ]


def _pointer(builder: Any, address: Any, index: Any) -> Any:
    place = builder.add(address, builder.mul(index, ir.Constant(_INT64, 8)))
    return builder.inttoptr(place, _INT64.as_pointer())
