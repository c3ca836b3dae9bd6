"""Values that differ between two runs of one workload: LSNs, transaction ids and the slot's xmin.

They are replaced by tokens that keep what can be compared: which are equal, and in which order
they come.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable

from tests.golden.normalise import Path, kind_of, settled, token_of, walk, without_payload

_DIGITS = re.compile(r"\d+")


def normalise(lines: Iterable[str]) -> list[str]:
    """The lines with tokens such as `"<lsn 3>"` in place of what differs from run to run."""
    settled_lines = settled(lines)
    values_by_kind: dict[str, set[int]] = {"lsn": set(), "tx": set(), "time": set()}
    milliseconds: set[int] = set()

    def collect(path: Path, raw: str) -> str:
        kind = _kind(path)
        if kind in ("lsn", "sequence") and raw != "null":
            values_by_kind["lsn"].update(map(int, _DIGITS.findall(raw)))
            if streamed:
                of_rows.add(int(_DIGITS.findall(raw)[-1]))
        elif kind == "tx" and raw != "null":
            values_by_kind["tx"].add(int(raw))
        elif kind == "txlsn" and raw != "null":
            transaction, lsn = map(int, _DIGITS.findall(raw))
            values_by_kind["tx"].add(transaction)
            values_by_kind["lsn"].add(lsn)
        elif kind == "time" and path[-1] == "ts_us" and raw != "null":
            values_by_kind["time"].add(int(raw))
        elif kind == "time" and path[-1] == "ts_ms" and raw != "null":
            milliseconds.add(int(raw))
        return raw

    of_rows: set[int] = set()
    streamed = False
    for line in settled_lines:
        # A message outside of transactions has the place where it ends, as a commit has.
        outside = '"op":"m"' in line and '"txId":null' in line
        streamed = '"snapshot":"false"' in line and not outside
        walk(line, collect)
    if not values_by_kind["time"]:  # older events have milliseconds only
        values_by_kind["time"] = {1000 * value for value in milliseconds}
    # The server writes records of its own between transactions, when it likes: a commit counts
    # as ending where the next row is.
    ends = {value: _next_row(value, sorted(of_rows)) for value in values_by_kind["lsn"]}
    values_by_kind["lsn"] = set(ends.values())
    rank = {
        kind: {value: place for place, value in enumerate(sorted(values))}
        for kind, values in values_by_kind.items()
    }
    rank["lsn"] = {value: rank["lsn"][end] for value, end in ends.items()}
    by_millisecond = {
        value // 1000: value for value in sorted(values_by_kind["time"], reverse=True)
    }

    def token(kind: str, value: int) -> str:
        return f"<{kind} {rank[kind][value]}>"

    def replace(path: Path, raw: str) -> str:
        kind = _kind(path)
        if kind is None or raw == "null":
            return raw
        if kind in ("clock", "run", "xmin"):
            return token_of(kind, path, raw)
        if kind == "time":
            number = int(raw)
            if path[-1] == "ts_ms":
                microseconds = by_millisecond.get(number)
            else:
                microseconds = number if path[-1] == "ts_us" else number // 1000
            if microseconds not in rank["time"] or (path[-1] == "ts_ns" and number % 1000):
                return f'"<unrelated time {raw}>"'
            # Milliseconds cannot distinguish neighbours: they are only known to be consistent.
            return '"<time>"' if path[-1] == "ts_ms" else f'"{token("time", microseconds)}"'
        if kind == "tx":
            return f'"{token("tx", int(raw))}"'
        if kind == "txlsn":
            transaction, lsn = map(int, _DIGITS.findall(raw))
            return f'"{token("tx", transaction)}:{token("lsn", lsn)}"'
        if kind == "lsn":
            return f'"{token("lsn", int(raw))}"'
        return _DIGITS.sub(lambda match: token("lsn", int(match[0])), raw)

    return [walk(line, replace) for line in settled_lines]


def _next_row(value: int, rows: list[int]) -> int:
    place = bisect.bisect_left(rows, value)
    return rows[place] if place < len(rows) else value


def _kind(path: Path) -> str | None:
    """The kind of value that varies at this member: clock, run, xmin, time, lsn, sequence, tx,
    txlsn, or None."""
    match without_payload(path):
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
    return kind_of(path)
