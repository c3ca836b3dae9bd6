"""Values that differ between two runs of one workload, whatever the database, and how they are
compared.

Wall-clock times, random ids and the run id are replaced by tokens that keep what can be compared.
Each connector's folder does the same with its positions (`varying.py`). Everything else stays as
it was written, because the text is scanned, never parsed and printed again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable

Path = tuple[str, ...]
Leaf = Callable[[Path, str], str]
Normalise = Callable[[Iterable[str]], list[str]]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_INSTANT = re.compile(r"(WindowTimestamp[^0-9]*)\d{4}-\d\d-\d\dT[\d:.]+Z")
# Members of a map, whose order Java chooses again in every process.
_ADDITIONAL = re.compile(r'(?<="additional_data":){"[^{}]*}')


def settled(lines: Iterable[str]) -> list[str]:
    """The lines that are not empty, with tokens for random ids and for the instants of watermarks,
    and without the times of rows that were read by a chunk."""
    return _name_uuids([_watermarks(line.strip()) for line in lines if line.strip()])


def without_payload(path: Path) -> Path:
    """A member's path, whether the converter wrote schemas or not."""
    return tuple(name for place, name in enumerate(path) if not (place == 1 and name == "payload"))


def kind_of(path: Path) -> str | None:
    """The kind of value that varies at this member in every database's events: clock, run, or
    None."""
    match without_payload(path):
        case ("value", "ts_ms" | "ts_us" | "ts_ns" | "timestamp"):
            return "clock"
        case ("headers", "__debezium.context.runId", *_):
            return "run" if path[-1] != "schema" else None
    return None


def token_of(kind: str, path: Path, raw: str) -> str:
    """The token of a clock or a run."""
    return f'"<{path[-1]} of {len(raw)} digits>"' if kind == "clock" else f'"<{kind}>"'


def _watermarks(line: str) -> str:
    """Clocks in the text of a watermark; the times of rows that were read, which no log has."""
    line = _INSTANT.sub(r"\1<instant>", line)
    line = _ADDITIONAL.sub(lambda match: _sorted(match[0]), line)
    if '"snapshot":"incremental"' in line:
        line = re.sub(r'("source":{.*?"ts_[mun]s":)\d+', r"\1null", line)
        line = re.sub(r'("source":{.*?"ts_us":)\d+(,"ts_ns":)\d+', r"\1null\2null", line)
    return line


def _sorted(text: str) -> str:
    members = sorted(json.loads(text).items())
    return json.dumps(dict(members), ensure_ascii=False, separators=(",", ":"))


def _name_uuids(lines: list[str]) -> list[str]:
    """Random ids by the order in which they come; the run id has its own token."""
    names: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f"<uuid {len(names)}>")

    return [
        line if "runId" in line and not _MARK.search(line) else _named(line, name) for line in lines
    ]


def _named(line: str, name: Callable[[re.Match[str]], str]) -> str:
    head, separator, headers = line.rpartition('"headers":')
    return _UUID.sub(name, head) + separator + headers


_MARK = re.compile(_UUID.pattern + "-(open|close)")


def compare(expected: Iterable[str], actual: Iterable[str], normalise: Normalise) -> list[str]:
    """The differences, readable: line number, member and both texts; empty if both are equal."""
    expected_lines, actual_lines = normalise(expected), normalise(actual)
    differences = []
    if len(expected_lines) != len(actual_lines):
        differences.append(f"{len(expected_lines)} events expected, {len(actual_lines)} came")
    for number, (left, right) in enumerate(zip(expected_lines, actual_lines, strict=False), 1):
        if left == right:
            continue
        left_leaves, right_leaves = leaves_of(left), leaves_of(right)
        named = dict(right_leaves)
        where = f"line {number} ({dict(left_leaves).get(('topic',), '?')})"
        before = len(differences)
        for path, raw in left_leaves:
            other = named.pop(path, None)
            if other != raw:
                differences.append(f"{where} {'.'.join(path)}: expected {raw}, came {other}")
        differences += [
            f"{where} {'.'.join(path)}: not expected, came {raw}" for path, raw in named.items()
        ]
        if len(differences) == before:
            differences.append(f"{where} differs in the order of members:\n  {left}\n  {right}")
    return differences


def leaves_of(line: str) -> list[tuple[Path, str]]:
    leaves: list[tuple[Path, str]] = []

    def keep(path: Path, raw: str) -> str:
        leaves.append((path, raw))
        return raw

    walk(line, keep)
    return leaves


def walk(line: str, leaf: Leaf) -> str:
    """The text with each scalar replaced by `leaf(path, raw)`; empty containers are scalars.

    Paths start at topic, key, value or headers; array members are numbered.
    """
    out: list[str] = []
    tokens = _TOKEN.findall(line)
    place = 0
    meta = '.transaction","key"' in line  # Debezium's topic of transaction borders

    def value(path: Path) -> None:
        nonlocal place
        token = tokens[place]
        if token in ("{", "["):
            closing = "}" if token == "{" else "]"
            place += 1
            if tokens[place] == closing:
                out.append(leaf(path, token + closing))
                place += 1
                return
            out.append(token)
            number = 0
            while True:
                if token == "{":
                    name = tokens[place]
                    out.append(name + ":")
                    place += 2
                    value((*path, json.loads(name)))
                else:
                    value((*path, str(number)))
                    number += 1
                place += 1
                if tokens[place - 1] == closing:
                    out.append(closing)
                    return
                out.append(",")
        else:
            border = meta and path in (
                ("key", "id"),
                ("value", "id"),
                ("key", "payload", "id"),
                ("value", "payload", "id"),
            )
            out.append(leaf(("border", path[0]) if border else path, token))
            place += 1

    value(())
    return "".join(out)
