"""The tables of the monitoring guide, and the names that dashboards and alerts ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from headrace.connectors.registry import definitions
from headrace.spark.monitoring.debezium import HELP, PREFIX
from headrace.spark.monitoring.declarations import OWN
from tests.docs.pages import ROOT

GUIDE = "docs/guides/monitoring.md"
FOLDER = ROOT / "deploy" / "monitoring"
HEADINGS = {"Queries": "headrace_", "Replicas": "headrace_table_", "Databases": "", "Debezium": ""}


def rows(section: str) -> list[tuple[str, str]]:
    """Name and text of each metric of a section of the guide."""
    text = (ROOT / GUIDE).read_text().split(f"### {section}\n")[1].split("\n## ")[0]
    text = text.split("\n### ")[0]
    return re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.M)


def declared() -> dict[str, list[tuple[str, str]]]:
    """The content of the sections, by the declarations."""
    own_metrics = [(metric.name, metric.help) for metric in OWN]
    of_tables = [metric for metric in own_metrics if metric[0].startswith("headrace_table_")]
    of_databases = [
        (f"headrace_{metric.name}", metric.help)
        for definition in definitions()
        if definition.name in ("postgresql", "mongodb", "oracle", "db2")
        for metric in definition.database_metrics
    ]
    return {
        "Queries": [metric for metric in own_metrics if metric not in of_tables],
        "Replicas": of_tables,
        "Databases": of_databases,
        "Debezium": [(f"{PREFIX}{name}", text) for name, text in HELP.items()],
    }


def alerts() -> list[dict[str, Any]]:
    """The rules of all groups."""
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    """The dashboard."""
    read: dict[str, Any] = json.loads((FOLDER / "grafana-dashboard.json").read_text())
    return read


def expressions() -> Iterator[str]:
    """Every expression of the dashboard and of the alerts."""
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]
    for rule in alerts():
        yield rule["expr"]


def named(texts: Sequence[str]) -> set[str]:
    """The metrics that expressions name."""
    return set(re.findall(r"\b(?:headrace|debezium_metrics)_\w+", " ".join(texts)))
