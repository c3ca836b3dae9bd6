"""Draws rate and CPU of headrace beside Debezium as bars, from `results/`.

`python -m benchmarks.chart` prints the SVG; `make docs` writes it to docs/pictures/benchmark.svg.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from math import isnan
from typing import Any

from benchmarks.report import RESULTS

Results = Mapping[str, Any]
"""A file of `results/`."""


@dataclass(frozen=True)
class Comparison:
    """One scenario of one database: the scenario and headrace's lane as the results name them."""

    title: str
    database: str
    scenario: str
    lane: str


@dataclass(frozen=True)
class Measure:
    """What one panel shows: a figure of each lane, and its ratio to Debezium's."""

    title: str
    direction: str
    figure: str
    ratio: str
    value_text: Callable[[float], str]
    ratio_text: Callable[[float], str]


PEER = "Debezium"
DATABASES = {"postgresql": "PostgreSQL", "mongodb": "MongoDB"}
COMPARISONS = (
    Comparison("PostgreSQL, snapshot", "postgresql", "snapshot", "headrace"),
    Comparison(
        "PostgreSQL, changes from a backlog", "postgresql", "stream", "headrace, key slices"
    ),
    Comparison("MongoDB, snapshot", "mongodb", "snapshot", "headrace"),
    Comparison("MongoDB, changes from a backlog", "mongodb", "stream", "headrace"),
)
MEASURES = (
    Measure(
        "Rate",
        "longer is better",
        "events_per_second",
        "rate_ratio",
        lambda value: f"{value:,.0f} events/s",
        lambda ratio: f"{ratio:.1f}×",
    ),
    Measure(
        "CPU time per million events",
        "shorter is better",
        "cpu_per_million",
        "cpu_ratio",
        lambda value: f"{value:.1f} CPU-s",
        lambda ratio: f"{ratio:.2f}×",
    ),
)

_WIDTH, _MARGIN, _GAP = 920, 24, 24
_PANEL_WIDTH = (_WIDTH - 2 * _MARGIN - _GAP) / len(MEASURES)
_NAME_WIDTH = 72  # of a lane's name, left of its bar
_VALUE_WIDTH = 164  # of a value, right of the longest bar
_BAR, _STEP, _GROUP = 18, 22, 76  # heights: a bar, from bar to bar, from scenario to scenario
_TOP = 88  # of the first scenario
_LINE = 18  # of the notes

# A program that shows no dark mode draws the first rules.
STYLE = """\
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.paper { fill: #f6f8fa }
.title { font-size: 17px; font-weight: 600 }
.group { font-weight: 600 }
.note { font-size: 12px; fill: #59636e }
.peer { fill: #8c959f }
.own { fill: #0969da }
.ratio { font-weight: 700 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .paper { fill: #151b23 }
  .note { fill: #9198a1 }
  .peer { fill: #6e7681 }
  .own { fill: #4493f8 }
}"""


def read(database: str) -> Results:
    """The results of a database that are kept."""
    results: Results = json.loads((RESULTS / f"{database}.json").read_text())
    return results


def chart(results: Mapping[str, Results]) -> str:
    """The chart as an SVG document. `results` has a file's content for each of DATABASES."""
    notes = [
        "Each bar is the steady state: the difference between runs of two sizes, "
        "so that it contains no start. × is the ratio to Debezium.",
        *(conditions(name, results[database]) for database, name in DATABASES.items()),
    ]
    notes_top = _TOP + _GROUP * len(COMPARISONS) + 12
    height = notes_top + _LINE * len(notes) + 4
    drawn = [svg_text(_MARGIN, 36, "headrace beside Debezium", "title")]
    for number, measure in enumerate(MEASURES):
        drawn += _panel(measure, results, _MARGIN + number * (_PANEL_WIDTH + _GAP))
    for number, note in enumerate(notes):
        drawn.append(svg_text(_MARGIN, notes_top + number * _LINE, note, "note"))
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
            "<title>Rate and CPU time of headrace beside Debezium</title>",
            f"<style>\n{STYLE}\n</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{height}" rx="6"/>',
            *drawn,
            "</svg>\n",
        )
    )


def figures_of(comparison: Comparison, results: Mapping[str, Results]) -> dict[str, Any]:
    """The figures of Debezium and of headrace in a scenario, by the names of the bars."""
    lanes = results[comparison.database][comparison.scenario]
    return {PEER: lanes[PEER], "headrace": lanes[comparison.lane]}


def _panel(measure: Measure, results: Mapping[str, Results], left: float) -> list[str]:
    """The title of a measure, and the bars of each scenario below it."""
    drawn = [
        svg_text(left, 64, measure.title, "group"),
        svg_text(left + _PANEL_WIDTH, 64, measure.direction, "note", anchor="end"),
    ]
    compared = [(comparison, figures_of(comparison, results)) for comparison in COMPARISONS]
    values = [lane[measure.figure] for _, lanes in compared for lane in lanes.values()]
    longest = max(value for value in values if not isnan(value))
    scale = (_PANEL_WIDTH - _NAME_WIDTH - _VALUE_WIDTH) / longest
    for number, (comparison, lanes) in enumerate(compared):
        top = _TOP + number * _GROUP
        drawn.append(svg_text(left, top + 8, comparison.title, "group"))
        for row, (name, lane) in enumerate(lanes.items()):
            drawn += _bar(measure, name, lane, scale, left, top + 16 + row * _STEP)
    return drawn


def _bar(
    measure: Measure, name: str, lane: Mapping[str, float], scale: float, left: float, top: float
) -> list[str]:
    """The name of a lane, its bar, and its value with the unit; for headrace also the ratio. A rate
    that is not a number (the runs were too short to tell it) has no bar."""
    value, bottom = lane[measure.figure], top + _BAR - 5
    drawn = [svg_text(left, bottom, name)]
    start = left + _NAME_WIDTH
    if isnan(value):
        return [*drawn, svg_text(start, bottom, "no clear figure", "note")]
    width = max(1.0, value * scale)
    kind = "peer" if name == PEER else "own"
    drawn.append(
        f'<rect class="{kind}" x="{start:.1f}" y="{top:.1f}" width="{width:.1f}" height="{_BAR}"/>'
    )
    label = escape(measure.value_text(value))
    if name != PEER and not isnan(lane[measure.ratio]):
        label += f' <tspan class="ratio" dx="6">{measure.ratio_text(lane[measure.ratio])}</tspan>'
    return [*drawn, f'<text x="{start + width + 6:.1f}" y="{bottom:.1f}">{label}</text>']


def conditions(name: str, results: Results) -> str:
    """How often and where the figures of a database were measured, and when, if the results say
    it."""
    machine = results["machine"]
    runs = f"medians of {results['runs']} runs" if results["runs"] > 1 else "one run"
    where = f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}"
    when = f", {results['date']}" if "date" in results else ""
    return f"{name}: {runs} on {where}{when}."


def svg_text(x: float, y: float, text: str, kind: str = "", *, anchor: str = "") -> str:
    attributes = f' class="{kind}"' if kind else ""
    attributes += f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{escape(text)}</text>'


def main() -> None:
    """Prints the chart of the results that are kept."""
    print(chart({database: read(database) for database in DATABASES}), end="")


if __name__ == "__main__":
    main()
