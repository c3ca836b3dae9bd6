"""Values that differ between two runs of one workload: commit times. LSNs are those that the
workload's Capture gives."""

from __future__ import annotations

from collections.abc import Iterable

from tests.golden.normalise import Path, kind_of, settled, token_of, walk, without_payload

_UNITS = {"ts_ms": 1, "ts_us": 1_000, "ts_ns": 1_000_000}


def normalise(lines: Iterable[str]) -> list[str]:
    """The lines with tokens in place of clocks and of times of commits."""
    return [_without_times(line) for line in settled(lines)]


def _without_times(line: str) -> str:
    milliseconds: set[int] = set()

    def collect(path: Path, raw: str) -> str:
        match without_payload(path):
            case ("value", "source", "ts_ms" | "ts_us" | "ts_ns" as unit) if raw != "null":
                milliseconds.add(int(raw) // _UNITS[unit])
        return raw

    walk(line, collect)

    def replace(path: Path, raw: str) -> str:
        match without_payload(path):
            case ("value", "source", "ts_ms" | "ts_us" | "ts_ns") if raw != "null":
                return '"<time>"' if len(milliseconds) == 1 else f'"<unrelated time {raw}>"'
        kind = kind_of(path)
        return raw if kind is None or raw == "null" else token_of(kind, path, raw)

    return walk(line, replace)
