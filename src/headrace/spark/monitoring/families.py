"""Reports as metrics of Prometheus: Debezium's, by the names in its example configuration of the
JMX exporter, and headrace's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    UnknownMetricFamily,
)
from prometheus_client.registry import Collector

from headrace.connectors.definition import DatabaseMetric
from headrace.connectors.registry import definitions
from headrace.spark.monitoring.debezium import DEBEZIUM, PREFIX, help_of
from headrace.spark.monitoring.declarations import OWN, Sample
from headrace.spark.monitoring.report import Report

_QUERY = ("plugin", "name", "query")
_MAX_TABLES = 1000
"""The most tables of a query that have series of their own."""
_SCANNED = "RowsScanned"


def exposition(reports: Sequence[Report], now: float) -> bytes:
    """Return the text format 0.0.4 of Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(reports, now))
    return generate_latest(registry)


class _Families(Collector):
    def __init__(self, reports: Sequence[Report], now: float) -> None:
        self._reports, self._now = reports, now

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the metrics are known only when they are collected."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics that have a value."""
        families: dict[str, Metric] = {}
        for report in self._reports:
            labels = _labels(report)
            _add_own(families, report, labels, self._now)
            _add_database(families, report, labels)
            _add_debezium(families, report, labels)
        yield from families.values()


def _labels(report: Report) -> dict[str, str]:
    values = (report.plugin or "", report.server or "", report.name or report.query)
    return dict(zip(_QUERY, values, strict=True))


def _add_own(
    families: dict[str, Metric], report: Report, labels: Mapping[str, str], now: float
) -> None:
    for metric in OWN:
        for sample in _bounded(metric.samples(report, now)):
            kind = CounterMetricFamily if metric.is_counter else GaugeMetricFamily
            _put(families, kind, metric.name, metric.help, {**labels, **sample[0]}, sample[1])


def _bounded(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Limit the series of tables, whatever a query captures."""
    tables = 0
    for sample in samples:
        tables += "table" in sample[0]
        if tables > _MAX_TABLES:
            return
        yield sample


def _add_database(families: dict[str, Metric], report: Report, labels: Mapping[str, str]) -> None:
    for metric in database_metrics(report.plugin):
        value = report.database.get(metric.member)
        if value is None:
            continue
        samples: list[Sample] = [({}, value)]
        if metric.states:
            samples = [({"status": state}, float(value == state)) for state in metric.states]
        for sample in samples:
            name = f"headrace_{metric.name}"
            labelled = {**labels, **sample[0]}
            _put(families, GaugeMetricFamily, name, metric.help, labelled, sample[1])


def database_metrics(plugin: str | None) -> Sequence[DatabaseMetric]:
    """Return the declarations of the database's metrics for the connector with this plugin."""
    for definition in definitions():
        if definition.metrics_plugin == plugin:
            return definition.database_metrics
    return ()


def _add_debezium(families: dict[str, Metric], report: Report, labels: Mapping[str, str]) -> None:
    for context in DEBEZIUM:
        for name, value in ((report.metrics or {}).get(context) or {}).items():
            for table, number in _numbers(name, value):
                labelled = {**labels, "context": context, **table}
                family_name = f"{PREFIX}{name}"
                _put(families, UnknownMetricFamily, family_name, help_of(name), labelled, number)


def _numbers(name: str, value: Any) -> Iterator[Sample]:
    """Yield the samples of a value as the JMX exporter makes them of a bean's attribute: numbers
    and booleans, and the rows of each table."""
    if isinstance(value, bool | int | float):
        yield {}, float(value)
    elif name == _SCANNED and isinstance(value, Mapping):
        yield from _bounded(({"table": table}, float(rows)) for table, rows in value.items())


def _put(
    families: dict[str, Metric],
    kind: type[Metric],
    name: str,
    text: str,
    labels: Mapping[str, str],
    value: float,
) -> None:
    family = families.get(name)
    if family is None:
        family = families[name] = kind(name, text)  # type: ignore[call-arg]
    family.add_sample(name, dict(labels), float(value))
