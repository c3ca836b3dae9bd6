"""Loads, stores and 16-byte comparisons on raw addresses, for kernels.

A kernel takes addresses as int64 and checks every length against the end of its input before it
calls these. Array arguments between compiled functions cost reference counts; addresses do not
(two to three times faster). The caller keeps the memory alive, and leaves `PADDING` readable
bytes after every input and `PADDING` writable bytes after every output, because copies move 16
bytes at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from headrace.connect.kernels.functions import part

PADDING = 64


_BYTES16 = ir.VectorType(ir.IntType(8), 16)
_LANE = ir.Constant(ir.IntType(32), 0)
_SAME_LANE = ir.Constant(ir.VectorType(ir.IntType(32), 16), [0] * 16)


def address_of(array: np.ndarray) -> int:
    """Return the address of an array's first byte; valid while the array lives."""
    try:
        return int(pa.py_buffer(array).address)  # ten times faster than `ctypes`
    except ValueError:  # the array is not contiguous
        return int(array.ctypes.data)


def _splat(byte: int) -> Any:
    return ir.Constant(_BYTES16, [ir.Constant(ir.IntType(8), byte)] * 16)


def _load(builder: Any, address: Any, kind: Any) -> Any:
    value = builder.load(builder.inttoptr(address, kind.as_pointer()))
    value.align = 1
    return value


def _store(builder: Any, value: Any, address: Any, kind: Any) -> None:
    store = builder.store(value, builder.inttoptr(address, kind.as_pointer()))
    store.align = 1


def _loader(bits: int, *, swap: bool = False, signed: bool = False) -> Any:
    kind = ir.IntType(bits)

    @intrinsic
    def load(typing_context, address):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            value = _load(builder, arguments[0], kind)
            if swap:
                function = builder.module.declare_intrinsic("llvm.bswap", [kind])
                value = builder.call(function, [value])
            if bits == 64:
                return value
            extend = builder.sext if signed else builder.zext
            return extend(value, ir.IntType(64))

        return types.int64(types.int64), generate

    return load


def _storer(bits: int) -> Any:
    kind = ir.IntType(bits)

    @intrinsic
    def store(typing_context, address, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            number = arguments[1]
            if bits != 64:
                number = builder.trunc(number, kind)
            _store(builder, number, arguments[0], kind)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return store


load8, load16, load32, load64 = _loader(8), _loader(16), _loader(32), _loader(64)
load32_signed = _loader(32, signed=True)
# Network byte order, unsigned except for the 64-bit one (int64, like all numbers here).
load16_be, load32_be, load64_be = (
    _loader(16, swap=True),
    _loader(32, swap=True),
    _loader(64, swap=True),
)
store8, store16, store32, store64 = _storer(8), _storer(16), _storer(32), _storer(64)


@intrinsic
def copy16(typing_context, target, source):  # type: ignore[no-untyped-def]
    """Copy 16 bytes from `source` to `target`."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        value = _load(builder, arguments[1], _BYTES16)
        _store(builder, value, arguments[0], _BYTES16)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def stack_memory(size: int) -> Any:
    """Return a function for kernels that returns the address of `size` bytes, which live until the
    kernel returns."""

    @intrinsic
    def allocate(typing_context):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            memory = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(64), -(-size // 8)))
            return builder.ptrtoint(memory, ir.IntType(64))

        return types.int64(), generate

    return allocate


def caller_of(count: int) -> Any:
    """Return a function for kernels that calls the kernel at an address with `count` arguments, all
    int64. The called kernel is compiled separately: see `headrace.connect.kernels.loading`."""
    integer = ir.IntType(64)
    kind = ir.FunctionType(integer, [integer] * count)

    @intrinsic
    def call(typing_context, address, arguments):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            function = builder.inttoptr(values[0], kind.as_pointer())
            return builder.call(function, cgutils.unpack_tuple(builder, values[1], count))

        return types.int64(types.int64, types.UniTuple(types.int64, count)), generate  # type: ignore[attr-defined]

    return call


def _mask(builder: Any, condition: Any) -> Any:
    return builder.zext(builder.bitcast(condition, ir.IntType(16)), ir.IntType(64))


@intrinsic
def copy16_json_mask(typing_context, target, source):  # type: ignore[no-untyped-def]
    """Copy 16 bytes; return a mask: bit i is set if JSON must escape byte i, or if it begins a
    character beyond the basic plane (four bytes of UTF-8)."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        value = _load(builder, arguments[1], _BYTES16)
        _store(builder, value, arguments[0], _BYTES16)
        control = builder.icmp_unsigned("<", value, _splat(32))
        quote = builder.icmp_unsigned("==", value, _splat(34))
        backslash = builder.icmp_unsigned("==", value, _splat(92))
        beyond = builder.icmp_unsigned(">=", value, _splat(240))
        either = builder.or_(builder.or_(control, quote), builder.or_(backslash, beyond))
        return _mask(builder, either)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def copy16_plain_mask(typing_context, target, source):  # type: ignore[no-untyped-def]
    """Copy 16 bytes; return a mask: bit i is clear if byte i is a printable ASCII character, and
    neither a quote nor a backslash."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        value = _load(builder, arguments[1], _BYTES16)
        _store(builder, value, arguments[0], _BYTES16)
        # As signed numbers, bytes from 128 on are less than the space, too.
        control = builder.icmp_signed("<", value, _splat(32))
        delete = builder.icmp_unsigned("==", value, _splat(127))
        quote = builder.icmp_unsigned("==", value, _splat(34))
        backslash = builder.icmp_unsigned("==", value, _splat(92))
        either = builder.or_(builder.or_(control, delete), builder.or_(quote, backslash))
        return _mask(builder, either)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def copy_text_mask16(typing_context, source):  # type: ignore[no-untyped-def]
    """Return a mask of 16 bytes: bit i is set if byte i is a tab, a newline or a backslash (COPY's
    text format)."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        value = _load(builder, arguments[0], _BYTES16)
        tab = builder.icmp_unsigned("==", value, _splat(9))
        newline = builder.icmp_unsigned("==", value, _splat(10))
        backslash = builder.icmp_unsigned("==", value, _splat(92))
        return _mask(builder, builder.or_(builder.or_(tab, newline), backslash))

    return types.int64(types.int64), generate


@intrinsic
def byte_mask16(typing_context, source, byte):  # type: ignore[no-untyped-def]
    """Return a mask: bit i is set if byte i of 16 is `byte`."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        value = _load(builder, arguments[0], _BYTES16)
        lane = builder.trunc(arguments[1], ir.IntType(8))
        first = builder.insert_element(ir.Constant(_BYTES16, ir.Undefined), lane, _LANE)
        every = builder.shuffle_vector(first, ir.Constant(_BYTES16, ir.Undefined), _SAME_LANE)
        return _mask(builder, builder.icmp_unsigned("==", value, every))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def unequal_mask16(typing_context, left, right):  # type: ignore[no-untyped-def]
    """Return a mask: bit i is set if the bytes i of two times 16 differ."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        a, b = (_load(builder, address, _BYTES16) for address in arguments)
        return _mask(builder, builder.icmp_unsigned("!=", a, b))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def count_trailing_zeros(typing_context, value):  # type: ignore[no-untyped-def]
    """Return the index of the lowest set bit; 64 if no bit is set."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


@part
def copy(source, length, target):  # type: ignore[no-untyped-def]
    """Copy `length` bytes in steps of 16; return the end of the copy."""
    for offset in range(0, length, 16):
        copy16(target + offset, source + offset)
    return target + length
