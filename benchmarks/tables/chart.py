"""Draws the cost of micro-batches and of reads of replicas as curves, from `results/curves.json`.

`python -m benchmarks.tables.chart` prints the SVG; `make docs` writes it to
docs/pictures/maintenance.svg.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

from benchmarks.chart import STYLE, Results, conditions, read, svg_text

Points = Sequence[tuple[float, float]]
FORMATS = {"iceberg": "Iceberg", "delta": "Delta"}
CURVES = {"every 20 micro-batches": "with", "never": "without"}
"""The names of the curves, and their classes in the style."""


@dataclass(frozen=True)
class Panel:
    """One diagram: its title, and the points of a curve."""

    title: str
    points: Callable[[Mapping[str, Any]], Points]


def _costs(curve: Mapping[str, Any]) -> Points:
    """The mean of some micro-batches, in the middle of them."""
    means = curve["micro_batches"]
    half = means[0]["batch"] / 2
    return [(each["batch"] - half, each["cpu_seconds"]) for each in means]


def _reads(figure: str) -> Callable[[Mapping[str, Any]], Points]:
    return lambda curve: [(each["batch"], each[figure]) for each in curve["reads"]]


PANELS = (
    Panel("CPU-s per micro-batch", _costs),
    Panel("Data files", _reads("files")),
    Panel("CPU-s per full read", _reads("cpu_seconds")),
)

_WIDTH, _MARGIN, _GAP = 920, 24, 40
_PANEL_WIDTH = (_WIDTH - 2 * _MARGIN - (len(PANELS) - 1) * _GAP) / len(PANELS)
_AXIS = 44  # left of a diagram, for its numbers
_HEIGHT = 110  # of a diagram
_ROW = 190  # from a format to the next
_TOP = 112  # of the first diagram
_LINE = 18  # of the notes
_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
_LINES = """\
polyline, .grid { fill: none; stroke-width: 2 }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.with { stroke: #0969da }
.without { stroke: #8c959f }
@media (prefers-color-scheme: dark) {
  .grid { stroke: #3d444d }
  .with { stroke: #4493f8 }
  .without { stroke: #6e7681 }
}"""


def chart(results: Results) -> str:
    """The chart as an SVG document."""
    curve = results["iceberg"]["never"]
    batches, averaged = curve["reads"][-1]["batch"], curve["micro_batches"][0]["batch"]
    notes = [
        f"{batches} micro-batches of at most 2,000 changes into a table of 200,000 rows. CPU-s per "
        f"micro-batch: means of {averaged}, with compaction where it ran.",
        "Full reads: Iceberg by PyIceberg, Delta by delta-rs, with the start of neither.",
        conditions("PostgreSQL", results),
    ]
    notes_top = _TOP + _ROW * len(FORMATS)
    height = notes_top + _LINE * len(notes) + 4
    title = "The cost of micro-batches and reads, with compaction and without"
    drawn = [svg_text(_MARGIN, 36, title, "title"), *_legend()]
    for row, (table_format, name) in enumerate(FORMATS.items()):
        for column, panel in enumerate(PANELS):
            left = _MARGIN + column * (_PANEL_WIDTH + _GAP)
            drawn += _diagram(f"{name}: {panel.title}", panel, results[table_format], left, row)
    for number, note in enumerate(notes):
        drawn.append(svg_text(_MARGIN, notes_top + number * _LINE, note, "note"))
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
            f"<title>{title}</title>",
            f"<style>\n{STYLE}\n{_LINES}\n</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{height}" rx="6"/>',
            *drawn,
            "</svg>\n",
        )
    )


def _legend() -> list[str]:
    drawn = []
    for number, (name, kind) in enumerate(CURVES.items()):
        left = _MARGIN + number * 280
        drawn.append(f'<polyline class="{kind}" points="{left},58 {left + 24},58"/>')
        drawn.append(svg_text(left + 32, 62, f"compaction {name}"))
    return drawn


def _diagram(
    title: str, panel: Panel, curves: Mapping[str, Mapping[str, Any]], left: float, row: int
) -> list[str]:
    """A title, the axes with their greatest numbers, and a line of each curve."""
    top = _TOP + row * _ROW
    points = {name: panel.points(curves[name]) for name in CURVES}
    most_x = max(curve["reads"][-1]["batch"] for curve in curves.values())
    most_y = ceiling(max(y for line in points.values() for _, y in line))
    start, width = left + _AXIS, _PANEL_WIDTH - _AXIS
    drawn = [
        svg_text(left, top - 14, title, "group"),
        f'<path class="grid" d="M{start:.1f} {top}v{_HEIGHT}h{width:.1f}M{start:.1f} {top}'
        f'h{width:.1f}"/>',
        svg_text(start - 6, top + 4, f"{most_y:g}", "note", anchor="end"),
        svg_text(start - 6, top + _HEIGHT, "0", "note", anchor="end"),
        svg_text(
            start + width, top + _HEIGHT + 16, f"{most_x:g} micro-batches", "note", anchor="end"
        ),
    ]
    for name, kind in CURVES.items():
        line = " ".join(
            f"{start + x / most_x * width:.1f},{top + _HEIGHT - y / most_y * _HEIGHT:.1f}"
            for x, y in points[name]
        )
        drawn.append(f'<polyline class="{kind}" points="{line}"/>')
    return drawn


def ceiling(value: float) -> float:
    """The least of _STEPS, times a power of ten, that is not below a positive value."""
    power = floor(log10(value))
    return next(
        most for step in (*_STEPS, 10.0) if (most := float(f"{step}e{power}")) >= value * (1 - 1e-9)
    )


def main() -> None:
    """Prints the chart of the results that are kept."""
    print(chart(read("curves")), end="")


if __name__ == "__main__":
    main()
