"""Values that differ between two runs of one workload: cluster times, wall-clock times and session
ids.

They are replaced by tokens that keep what can be compared: which events have one place in the
oplog, and which sessions are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from tests.golden.normalise import Path, kind_of, settled, token_of, walk, without_payload

# A session's id, in Extended JSON that is a JSON text itself, or part of a transaction's id.
_SESSION = re.compile(r'(?<=\\"id\\": {\\"\$binary\\": \\")[A-Za-z0-9+/]{22}==(?=\\")')
_TIMES = {"ts_ms": 1, "ts_us": 1_000, "ts_ns": 1_000_000}
_NO_PLACE = "-1"
_LONGEST_LAG_MS = 60_000
_CHUNK = '"snapshot":"incremental"'


def normalise(lines: Iterable[str]) -> list[str]:
    """The lines with tokens such as `"<place 3>"` in place of what differs from run to run."""
    settled_lines = _name_sessions(_in_key_order(settled(lines)))
    places: dict[tuple[str, str], int] = {}
    return [_with_places(line, places) for line in settled_lines]


def _with_places(line: str, places: dict[tuple[str, str], int]) -> str:
    """Places are numbered as they come; `source.ord` and the wall-clock time together are one,
    because another second begins with the same numbers."""
    source: dict[str, str] = {}

    def collect(path: Path, raw: str) -> str:
        match without_payload(path):
            case ("value", "source", name):
                source[name] = raw
        return raw

    walk(line, collect)
    # A user's pipeline may take it away; the times are those of the cluster then.
    wall = source.get("wallTime", "null")

    def replace(path: Path, raw: str) -> str:
        kind = kind_of(path)
        if kind is not None and raw != "null":
            return token_of(kind, path, raw)
        match without_payload(path):
            case ("value", "source", "ord") if _CHUNK in line:
                return '"<place of a window>"'
            case ("value", "source", "ord") if raw not in (_NO_PLACE, "null"):
                when = source.get("ts_ms", "null") if wall == "null" else wall
                return f'"<place {places.setdefault((when, raw), len(places))}>"'
            case ("value", "source", "wallTime") if raw != "null":
                return '"<time>"'
            case ("value", "source", "ts_ms") if "rs" in source and wall != "null":
                return _cluster_second(int(raw), int(wall))
            case ("value", "source", "ts_ms" | "ts_us" | "ts_ns" as name) if raw != "null":
                if wall == "null":  # a document that was read
                    return token_of("clock", path, raw)
                same = int(raw) == int(wall) * _TIMES[name]
                return '"<time>"' if same else f'"<unrelated time {raw}>"'
        return raw

    return walk(line, replace)


def _cluster_second(millis: int, wall: int) -> str:
    """The time that events of format 2.5 show: the second of the cluster time."""
    is_second = millis % 1000 == 0 and abs(millis - wall) < _LONGEST_LAG_MS
    return '"<second of the cluster>"' if is_second else f'"<unrelated time {millis}>"'


def _in_key_order(lines: list[str]) -> list[str]:
    """The documents of a chunk come in the order in which Debezium's threads read them."""
    ordered: list[str] = []
    for of_chunk, group in groupby(lines, key=lambda line: _CHUNK in line):
        neighbours = list(group)
        ordered += sorted(neighbours, key=_topic_and_key) if of_chunk else neighbours
    return ordered


def _topic_and_key(line: str) -> str:
    return line.partition(',"value":')[0]


def _name_sessions(lines: list[str]) -> list[str]:
    """Session ids by the order in which they come."""
    names: dict[str, str] = {}

    def name(session_id: re.Match[str]) -> str:
        return names.setdefault(session_id[0], f"<session {len(names)}>")

    return [_SESSION.sub(name, line) for line in lines]
