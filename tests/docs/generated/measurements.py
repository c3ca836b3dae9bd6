"""Tables of what `make bench` measured, made of the files in benchmarks/results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isnan
from typing import Any

from benchmarks.chart import Results, read

Lane = Mapping[str, Any]


def measured(database: str, part: str) -> str:
    """A table of the results of a database: `steady` (rates, CPU and memory of each scenario),
    `start` or `latency`. Raises KeyError for another part."""
    head, rows = PARTS[part]
    columns = [cell.strip() for cell in head.split("|")]
    rule = "|".join(["---", *["--:"] * (len(columns) - 1)])
    lines = (f"| {' | '.join(cells)} |" for cells in rows(read(database)))
    return "\n".join(["", f"| {' | '.join(columns)} |", f"|{rule}|", *lines, ""])


def _steady(results: Results) -> Iterator[list[str]]:
    for scenario, lanes in results.items():
        if scenario == "machine" or not isinstance(lanes, Mapping):
            continue
        for name, lane in lanes.items():
            if "events_per_second" not in lane:
                continue
            yield [
                f"{scenario}: {name}",
                _number(lane["events_per_second"], ",.0f"),
                f"{lane['cpu_per_million']:.1f}",
                f"{lane['memory'] / 1e6:,.0f} MB",
                _number(lane.get("rate_ratio"), ".1f", "×"),
                _number(lane.get("cpu_ratio"), ".2f", "×"),
            ]


def _start(results: Results) -> Iterator[list[str]]:
    for name, lane in results["start"].items():
        yield [name, f"{lane['seconds']:.1f}", f"{lane['cpu_seconds']:.1f}"]


def _latency(results: Results) -> Iterator[list[str]]:
    for name, lane in results["latency"].items():
        yield [
            name,
            *(f"{lane[f'{percentile}_ms']:.0f} ms" for percentile in ("p50", "p95", "p99")),
        ]


def _number(value: float | None, form: str, unit: str = "") -> str:
    """A figure with its unit; nothing for one that the results lack or could not tell."""
    return "" if value is None or isnan(value) else f"{value:{form}}{unit}"


PARTS: Mapping[str, tuple[str, Callable[[Results], Iterator[list[str]]]]] = {
    "steady": ("steady state | events/s | CPU-s per million | memory | rate | CPU", _steady),
    "start": ("launch to first event, warm | seconds | CPU-s", _start),
    "latency": ("commit to sink at a trickle | p50 | p95 | p99", _latency),
}
"""The head of each table, and what makes its rows."""
