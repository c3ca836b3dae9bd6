"""The monitoring guide, the dashboard and the alert rules name metrics that exist."""

from __future__ import annotations

import shutil
import subprocess
from datetime import timedelta
from itertools import pairwise

import pytest

from headrace.spark.monitoring.report import STATES
from tests.docs.monitoring import (
    FOLDER,
    GUIDE,
    alerts,
    dashboard,
    declared,
    expressions,
    named,
    rows,
)
from tests.docs.pages import ROOT


@pytest.mark.parametrize("section", declared())
def test_the_guide_has_every_metric_with_the_text_that_prometheus_gets(section: str) -> None:
    assert len(rows(section)) > 5
    assert rows(section) == declared()[section]


def test_the_guide_names_every_state() -> None:
    text = (ROOT / GUIDE).read_text()
    assert all(f"`{state}`" in text for state in STATES)


def test_expressions_name_metrics_of_the_guide_only() -> None:
    known = {name for section in declared() for name, _ in rows(section)}
    named_metrics = named(list(expressions()))
    assert len(named_metrics) > 30
    assert named_metrics - known == set()
    variables = [variable["definition"] for variable in dashboard()["templating"]["list"][1:]]
    assert named(variables) == {"headrace_info"}


def test_expressions_are_those_of_prometheus() -> None:
    parser = pytest.importorskip("promql_parser")
    for expression in expressions():
        plain = expression.replace("$plugin", "postgres").replace("$name", "shop")
        assert "$" not in plain
        parser.parse(plain)
    with pytest.raises(ValueError, match=r"."):
        parser.parse("rate(headrace_rows_total[5m]")


def test_alert_rules_have_the_members_that_prometheus_asks_for() -> None:
    parser = pytest.importorskip("promql_parser")
    names = [rule["alert"] for rule in alerts()]
    assert len(names) == len(set(names)) > 10
    for rule in alerts():
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        assert rule["annotations"]["summary"].count("{{") == rule["annotations"]["summary"].count(
            "}}"
        )
        if "for" in rule:
            assert parser.parse_duration(rule["for"]) > timedelta(0)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_takes_the_rules() -> None:
    command = ["promtool", "check", "rules", str(FOLDER / "alerts.yml")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_panels_have_room_and_names_of_their_own() -> None:
    panels = dashboard()["panels"]
    places = [panel["gridPos"] for panel in panels]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(place["x"] + place["w"] <= 24 for place in places)
    assert all(before["y"] <= after["y"] for before, after in pairwise(places))
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
