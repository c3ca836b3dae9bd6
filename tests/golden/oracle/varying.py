"""Values that differ between two runs of one workload: clocks, and how many heartbeats come while
nothing else does. SCNs, times and ROWIDs are those that the script gives; the script's clock stands
in the year 2024."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from tests.golden.normalise import Path, kind_of, settled, token_of, walk, without_payload

_UNITS = {"ts_ms": 1_000, "ts_us": 1_000_000, "ts_ns": 1_000_000_000}
_SCRIPTED = 1_735_689_600
"""Times before 2025 are scripted (seconds since 1970)."""
HEARTBEATS = "__debezium-heartbeat."
"""The prefix of topics of heartbeats."""
_HEARTBEAT = f'{{"topic":"{HEARTBEATS}'


def normalise(lines: Iterable[str]) -> list[str]:
    """The lines with tokens in place of clocks; of heartbeats that follow each other, the last."""
    settled_lines = [walk(line, _leaf) for line in settled(lines)]
    return [
        line
        for line, following in pairwise([*settled_lines, ""])
        if not (line.startswith(_HEARTBEAT) and following.startswith(_HEARTBEAT))
    ]


def _leaf(path: Path, raw: str) -> str:
    kind = kind_of(path)
    match without_payload(path):
        case ("value", "source", "ts_ms" | "ts_us" | "ts_ns" as unit) if raw != "null":
            # A schema that a snapshot reads has no time of the database.
            kind = "clock" if int(raw) // _UNITS[unit] >= _SCRIPTED else None
        case ("value", "ts_ms"):
            kind = "clock"
    return raw if kind is None or raw == "null" else token_of(kind, path, raw)
