"""Floating-point numbers from their texts, by C's functions: correctly rounded.

The rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import copy, load64, stack_memory, store8

_MAX_BYTES = 64
_number_text = stack_memory(_MAX_BYTES + 16)
_end_of_number = stack_memory(8)


def _from_text(name, width):
    """Return an intrinsic for C's strtod or strtof that returns the bits of the number."""
    result = ir.DoubleType() if width == 64 else ir.FloatType()

    @intrinsic
    def read(typing_context, text, end):  # noqa: ARG001
        def generate(_context, builder, _signature, arguments):
            pointer = ir.IntType(8).as_pointer()
            kind = ir.FunctionType(result, [pointer, pointer.as_pointer()])
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            number = builder.call(
                function,
                [
                    builder.inttoptr(arguments[0], pointer),
                    builder.inttoptr(arguments[1], pointer.as_pointer()),
                ],
            )
            bits = builder.bitcast(number, ir.IntType(width))
            return bits if width == 64 else builder.zext(bits, ir.IntType(64))

        return types.int64(types.int64, types.int64), generate

    return read


_strtod, _strtof = _from_text("strtod", 64), _from_text("strtof", 32)


@part
def float_bits(address, length, width):
    """Return the bits of a float of `width` bits for a text that has only characters of decimal
    numbers; -1 if the text is not a number, has more than 64 bytes, or is too large for a float."""
    if length < 1 or length > _MAX_BYTES:
        return np.int64(-1)
    text = _number_text()
    copy(address, length, text)
    store8(text + length, 0)
    end = _end_of_number()
    bits = _strtod(text, end) if width == 64 else _strtof(text, end)
    if load64(end) != text + length:
        return np.int64(-1)
    # Numbers that are too large are parsed as infinity.
    if width == 64:
        if (bits >> 52) & 0x7FF == 0x7FF:
            return np.int64(-1)
    elif (bits >> 23) & 0xFF == 0xFF:
        return np.int64(-1)
    return bits
