"""The number of generated examples of a test."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> int:
    """Half of `count` for `make test`, which tries the same ones in each run, and in order; all of
    them for `make fuzz` and a given SEED, which try others."""
    return count // 2 if settings.default is not None and settings.default.derandomize else count
