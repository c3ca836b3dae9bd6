"""The bar chart of the benchmark has the figures of the results that are kept."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from benchmarks.chart import COMPARISONS, DATABASES, MEASURES, PEER, chart, figures_of, read
from hypothesis import given
from hypothesis import strategies as st

from tests.docs.pages import ROOT

SVG = "{http://www.w3.org/2000/svg}"
RESULTS = {database: read(database) for database in DATABASES}
POSITIVE = st.floats(0.01, 1e7)
PAIRS = st.lists(st.tuples(POSITIVE, POSITIVE), min_size=8, max_size=8)


def results(pairs: list[tuple[float, float]], **more: object) -> dict[str, Any]:
    """Results with a pair of figures, Debezium's and headrace's, for each bar of headrace."""
    machine = {"cpu": "A <fast> processor", "cores": 8, "python": "3.13.1"}
    by_database: dict[str, Any] = {
        database: {"machine": machine, "runs": 1, **more} for database in DATABASES
    }
    left = iter(pairs)
    for comparison in COMPARISONS:
        peer: dict[str, float] = {}
        own_figures: dict[str, float] = {}
        for measure in MEASURES:
            peer[measure.figure], own_figures[measure.figure] = next(left)
            own_figures[measure.ratio] = own_figures[measure.figure] / peer[measure.figure]
        by_database[comparison.database][comparison.scenario] = {
            PEER: peer,
            comparison.lane: own_figures,
        }
    return by_database


def bars(svg: str) -> list[float]:
    """The lengths of the bars, panel after panel, Debezium's before headrace's."""
    drawn = ET.fromstring(svg).iter(f"{SVG}rect")
    return [float(bar.attrib["width"]) for bar in drawn if bar.get("class") in ("peer", "own")]


def texts(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(svg).iter(f"{SVG}text")]


def test_the_chart_of_the_documentation_is_that_of_the_results() -> None:
    assert (ROOT / "docs/pictures/benchmark.svg").read_text() == chart(RESULTS), "run make docs"


def test_each_bar_has_its_figure_with_a_unit_and_the_ratio_to_debezium() -> None:
    chart_texts = texts(chart(RESULTS))
    for comparison in COMPARISONS:
        debezium, own_figures = figures_of(comparison, RESULTS).values()
        assert chart_texts.count(comparison.title) == len(MEASURES)
        assert f"{debezium['events_per_second']:,.0f} events/s" in chart_texts
        assert (
            f"{own_figures['events_per_second']:,.0f} events/s {own_figures['rate_ratio']:.1f}×"
            in chart_texts
        )
        assert (
            f"{own_figures['cpu_per_million']:.1f} CPU-s {own_figures['cpu_ratio']:.2f}×"
            in chart_texts
        )


@given(PAIRS)
def test_the_bars_of_a_measure_are_as_long_as_their_figures(
    pairs: list[tuple[float, float]],
) -> None:
    lengths = bars(chart(results(pairs)))
    half = len(lengths) // len(MEASURES)
    for number, panel in enumerate((lengths[:half], lengths[half:])):
        figures = [figure for pair in pairs[number :: len(MEASURES)] for figure in pair]
        longest = panel[figures.index(max(figures))]
        for length, figure in zip(panel, figures, strict=True):
            # A bar is drawn to a tenth of a pixel, and at least one pixel long.
            assert length == pytest.approx(max(1.0, longest * figure / max(figures)), abs=0.2)


def test_a_rate_that_no_run_could_tell_has_no_bar() -> None:
    changed_results = results([(1.0, 2.0)] * 8)
    first = COMPARISONS[0]
    own_figures = changed_results[first.database][first.scenario][first.lane]
    own_figures["events_per_second"] = own_figures["rate_ratio"] = float("nan")
    assert len(bars(chart(changed_results))) == 15
    assert "no clear figure" in texts(chart(changed_results))


def test_the_chart_names_the_machine_the_runs_and_the_date_of_the_results() -> None:
    chart_texts = texts(chart(results([(1.0, 2.0)] * 8, date="2026-11-22")))
    where = "one run on A <fast> processor, 8 cores, Python 3.13.1, 2026-11-22."
    assert [f"{name}: {where}" for name in DATABASES.values()] == chart_texts[-2:]
    dated = [bool(re.search(r"\d{4}-\d\d-\d\d", text)) for text in texts(chart(RESULTS))[-2:]]
    assert dated == ["date" in database_results for database_results in RESULTS.values()]
