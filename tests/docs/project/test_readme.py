"""README is short, and its figures are those that were measured."""

from __future__ import annotations

import math
import re

from benchmarks.chart import read

from tests.docs.pages import ROOT

TEXT = (ROOT / "README.md").read_text()
COLUMNS, MAX_LINES = 100, 120
"""Three screens."""
FIGURE = re.compile(r"\b\d+(?:\.\d+)?\s(?:times|ms|s)\b")


def measured() -> set[str]:
    """The figures of PostgreSQL's results, as README writes them."""
    results = read("postgresql")
    lanes = [lane for part in ("snapshot", "stream") for lane in results[part].values()]
    return {
        *(f"{lane['rate_ratio']:.1f} times" for lane in lanes),
        *(f"{lane['cpu_ratio']:.2f} times" for lane in lanes),
        *(f"{lane['p50_ms']:.0f} ms" for lane in results["latency"].values()),
        *(f"{lane['seconds']:.1f} s" for lane in results["start"].values()),
    }


def test_readme_has_three_screens() -> None:
    lines = [max(1, math.ceil(len(line) / COLUMNS)) for line in TEXT.splitlines()]
    assert sum(lines) <= MAX_LINES


def test_the_figures_of_readme_are_those_of_the_results() -> None:
    page_figures = [re.sub(r"\s", " ", figure) for figure in FIGURE.findall(TEXT)]
    assert len(page_figures) >= 8
    assert [figure for figure in page_figures if figure not in measured()] == []


def test_readme_names_the_cores_of_the_results() -> None:
    cores = {1: "one core", 2: "two cores"}.get(read("postgresql")["machine"]["cores"])
    assert cores is not None
    assert f"on {cores}," in TEXT
