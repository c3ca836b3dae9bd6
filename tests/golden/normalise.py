"""Makes two recordings of one workload comparable byte for byte.

Wall-clock times, LSNs, transaction ids and the run id differ from run to run. They are replaced by
tokens that keep what can be compared: which are equal, and in which order they come. Everything
else stays as it was written, because the text is scanned, never parsed and printed again.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Callable, Iterable

Path = tuple[str, ...]
Leaf = Callable[[Path, str], str]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_DIGITS = re.compile(r"\d+")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_INSTANT = re.compile(r"(WindowTimestamp[^0-9]*)\d{4}-\d\d-\d\dT[\d:.]+Z")
# Members of a map, whose order Java chooses anew in every process.
_ADDITIONAL = re.compile(r'(?<="additional_data":){"[^{}]*}')
_CLOCKS = {"ts_ms": 1_000_000, "ts_us": 1_000, "ts_ns": 1}


def normalise(lines: Iterable[str]) -> list[str]:
    """The lines with tokens such as `"<lsn 3>"` in place of what differs from run to run."""
    kept = [_watermarks(line.strip()) for line in lines if line.strip()]
    kept = _name_uuids(kept)
    found: dict[str, set[int]] = {"lsn": set(), "tx": set(), "time": set()}
    milliseconds: set[int] = set()

    def collect(path: Path, raw: str) -> str:
        kind = _kind(path)
        if kind in ("lsn", "sequence") and raw != "null":
            found["lsn"].update(map(int, _DIGITS.findall(raw)))
            if streamed:
                of_rows.add(int(_DIGITS.findall(raw)[-1]))
        elif kind == "tx" and raw != "null":
            found["tx"].add(int(raw))
        elif kind == "txlsn" and raw != "null":
            transaction, lsn = map(int, _DIGITS.findall(raw))
            found["tx"].add(transaction)
            found["lsn"].add(lsn)
        elif kind == "time" and path[-1] == "ts_us" and raw != "null":
            found["time"].add(int(raw))
        elif kind == "time" and path[-1] == "ts_ms" and raw != "null":
            milliseconds.add(int(raw))
        return raw

    of_rows: set[int] = set()
    streamed = False
    for line in kept:
        # A message outside of transactions has the place where it ends, as a commit has.
        outside = '"op":"m"' in line and '"txId":null' in line
        streamed = '"snapshot":"false"' in line and not outside
        _walk(line, collect)
    if not found["time"]:  # older events have milliseconds only
        found["time"] = {1000 * value for value in milliseconds}
    # The server writes records of its own between transactions, when it likes: a commit counts
    # as ending where the next row is.
    ends = {value: _next_row(value, sorted(of_rows)) for value in found["lsn"]}
    found["lsn"] = set(ends.values())
    rank = {
        kind: {value: place for place, value in enumerate(sorted(values))}
        for kind, values in found.items()
    }
    rank["lsn"] = {value: rank["lsn"][end] for value, end in ends.items()}
    by_millisecond = {value // 1000: value for value in sorted(found["time"], reverse=True)}

    def token(kind: str, value: int) -> str:
        return f"<{kind} {rank[kind][value]}>"

    def replace(path: Path, raw: str) -> str:
        kind = _kind(path)
        if kind is None or raw == "null":
            return raw
        if kind == "clock":
            return f'"<{path[-1]} of {len(raw)} digits>"'
        if kind in ("run", "xmin"):
            return f'"<{kind}>"'
        if kind == "time":
            number = int(raw)
            if path[-1] == "ts_ms":
                microseconds = by_millisecond.get(number)
            else:
                microseconds = number if path[-1] == "ts_us" else number // 1000
            if microseconds not in rank["time"] or (path[-1] == "ts_ns" and number % 1000):
                return f'"<unrelated time {raw}>"'
            # Milliseconds cannot tell neighbours apart: they are only known to be consistent.
            return '"<time>"' if path[-1] == "ts_ms" else f'"{token("time", microseconds)}"'
        if kind == "tx":
            return f'"{token("tx", int(raw))}"'
        if kind == "txlsn":
            transaction, lsn = map(int, _DIGITS.findall(raw))
            return f'"{token("tx", transaction)}:{token("lsn", lsn)}"'
        if kind == "lsn":
            return f'"{token("lsn", int(raw))}"'
        return _DIGITS.sub(lambda match: token("lsn", int(match[0])), raw)

    return [_walk(line, replace) for line in kept]


def _next_row(value: int, rows: list[int]) -> int:
    place = bisect.bisect_left(rows, value)
    return rows[place] if place < len(rows) else value


def _watermarks(line: str) -> str:
    """Clocks in the text of a watermark; the times of rows that were read, which no log has."""
    line = _INSTANT.sub(r"\1<instant>", line)
    line = _ADDITIONAL.sub(lambda found: _sorted(found[0]), line)
    if '"snapshot":"incremental"' in line:
        line = re.sub(r'("source":{.*?"ts_[mun]s":)\d+', r"\1null", line)
        line = re.sub(r'("source":{.*?"ts_us":)\d+(,"ts_ns":)\d+', r"\1null\2null", line)
    return line


def _sorted(text: str) -> str:
    found = sorted(json.loads(text).items())
    return json.dumps(dict(found), ensure_ascii=False, separators=(",", ":"))


def _name_uuids(lines: list[str]) -> list[str]:
    """Random ids by the order in which they come; the run id has its own token."""
    names: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"<uuid {len(names)}>")

    return [
        line if "runId" in line and not _MARK.search(line) else _named(line, name) for line in lines
    ]


def _named(line: str, name: Callable[[re.Match[str]], str]) -> str:
    head, separator, headers = line.rpartition('"headers":')
    return _UUID.sub(name, head) + separator + headers


_MARK = re.compile(_UUID.pattern + "-(open|close)")


def compare(expected: Iterable[str], actual: Iterable[str]) -> list[str]:
    """Differences, readable: line number, member and both texts; empty when there is none."""
    wanted, got = normalise(expected), normalise(actual)
    differences = []
    if len(wanted) != len(got):
        differences.append(f"{len(wanted)} events expected, {len(got)} came")
    for number, (left, right) in enumerate(zip(wanted, got, strict=False), 1):
        if left == right:
            continue
        left_leaves, right_leaves = _leaves(left), _leaves(right)
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


def _leaves(line: str) -> list[tuple[Path, str]]:
    leaves: list[tuple[Path, str]] = []

    def keep(path: Path, raw: str) -> str:
        leaves.append((path, raw))
        return raw

    _walk(line, keep)
    return leaves


def _kind(path: Path) -> str | None:
    """What varies at this member: clock, run, xmin, time, lsn, sequence, tx, txlsn, or None."""
    path = tuple(name for place, name in enumerate(path) if not (place == 1 and name == "payload"))
    match path:
        case ("value", "ts_ms" | "ts_us" | "ts_ns"):
            return "clock"
        case ("headers", "__debezium.context.runId", *_):
            return "run" if path[-1] != "schema" else None
        case ("value", "timestamp"):
            return "clock"
        case ("value", "source", "ts_ms" | "ts_us" | "ts_ns"):
            return "time"
        case ("value", "source", "xmin"):
            return "xmin"  # where the slot was when it was looked at
        case ("value", "source", "lsn"):
            return "lsn"
        case ("value", "source", "sequence"):
            return "sequence"
        case ("value", "source", "txId"):
            return "tx"
        case ("value", "transaction", "id") | ("border", _):
            return "txlsn"
    return None


def _walk(line: str, leaf: Leaf) -> str:
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
