"""The chart of the cost of micro-batches has the figures of the results that are kept."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from benchmarks.chart import read
from benchmarks.tables.chart import CURVES, FORMATS, PANELS, ceiling, chart
from hypothesis import given
from hypothesis import strategies as st

from tests.docs.pages import ROOT

SVG = "{http://www.w3.org/2000/svg}"
POSITIVE = st.floats(0.01, 1e6)
READS = 4
AVERAGED = 20


def results(figures: list[float]) -> dict[str, Any]:
    """Results in which every curve has the same figures."""
    curve = {
        "micro_batches": [
            {"batch": AVERAGED * number, "cpu_seconds": figure}
            for number, figure in enumerate(figures, 1)
        ],
        "reads": [
            {"batch": AVERAGED * number, "files": figure, "cpu_seconds": figure}
            for number, figure in enumerate([figures[0], *figures])
        ],
    }
    machine = {"cpu": "A <fast> processor", "cores": 8, "python": "3.13.1"}
    formats: dict[str, Any] = {name: dict.fromkeys(CURVES, curve) for name in FORMATS}
    return formats | {"machine": machine, "runs": 1}


def lines(svg: str) -> list[list[tuple[float, float]]]:
    """The points of the curves."""
    drawn = list(ET.fromstring(svg).iter(f"{SVG}polyline"))[len(CURVES) :]  # after the legend
    return [
        [
            (float(x), float(y))
            for x, y in (point.split(",") for point in each.attrib["points"].split())
        ]
        for each in drawn
    ]


def test_the_chart_of_the_documentation_is_that_of_the_results() -> None:
    drawn = (ROOT / "docs/pictures/maintenance.svg").read_text()
    assert drawn == chart(read("curves")), "run make docs"


@given(st.lists(POSITIVE, min_size=READS, max_size=READS))
def test_the_points_of_a_curve_are_as_high_as_their_figures(figures: list[float]) -> None:
    drawn = lines(chart(results(figures)))
    assert len(drawn) == len(FORMATS) * len(PANELS) * len(CURVES)
    most = ceiling(max(figures))
    for line in drawn:
        assert len(line) in (READS, READS + 1)
        ground = line[0][1] + figures[0] / most * 110
        for (_, y), figure in zip(line, [figures[0], *figures][-len(line) :], strict=True):
            assert ground - y == pytest.approx(figure / most * 110, abs=0.2)
        assert [x for x, _ in line] == sorted(x for x, _ in line)


@given(st.floats(1e-6, 1e9))
def test_the_scale_of_an_axis_is_a_round_number_from_the_greatest_figure_on(value: float) -> None:
    most = ceiling(value)
    assert value <= most * (1 + 1e-9)
    assert most <= value * 1.5 * (1 + 1e-9)
    assert float(f"{most:.1e}") == most
