"""What differs between two runs of one workload: clocks only. SCNs, times and ROWIDs are those
that the script gives."""

from __future__ import annotations

from collections.abc import Iterable

from tests.golden.normalise import Path, kind_of, settled, token_of, walk


def normalise(lines: Iterable[str]) -> list[str]:
    """The lines with tokens in place of clocks."""
    return [walk(line, _leaf) for line in settled(lines)]


def _leaf(path: Path, raw: str) -> str:
    kind = kind_of(path)
    return raw if kind is None or raw == "null" else token_of(kind, path, raw)
