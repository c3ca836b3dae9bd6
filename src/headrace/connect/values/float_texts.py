"""Many floating-point numbers as Java writes them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headrace.connect.java_numbers import java_double, java_float, java_notation

_MIN_NORMAL = {4: 1.2e-38, 8: 2.3e-308}
_LEAST, _MOST = 1e-3, 1e7
"""The absolute numbers that Java writes without an exponent."""


def java_texts(numbers: np.ndarray) -> list[str]:
    """Return the texts of Java's `toString` for numbers (float32 or float64)."""
    width = numbers.dtype.itemsize
    sizes = np.abs(numbers)
    is_plain = (sizes >= _LEAST) & (sizes < _MOST)
    is_normal = (sizes >= _MIN_NORMAL[width]) & np.isfinite(sizes)
    exactly = java_float if width == 4 else java_double
    # Arrow writes the shortest digits, too; Java's differ only for subnormal numbers.
    return [
        (text if "." in text else f"{text}.0")
        if plain
        else (java_notation(text) if normal else exactly(number))
        for text, plain, normal, number in zip(
            pa.array(numbers).cast(pa.string()).to_pylist(),
            is_plain.tolist(),
            is_normal.tolist(),
            numbers.tolist(),
            strict=True,
        )
    ]
