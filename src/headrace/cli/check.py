"""Is this database ready: each finding with its remedy; exit status 1 on an error."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.text import Text

from headrace.cli.pipeline import Pipeline, read_pipeline
from headrace.connectors.registry import check
from headrace.findings import Finding, Findings

_STYLES = {"ok": "green", "warning": "yellow", "error": "bold red"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("file", metavar="FILE", help="Debezium configuration: properties or JSON")


def run(arguments: argparse.Namespace) -> int:
    """Prints findings; 1 when one is an error."""
    pipeline = read_pipeline(arguments.file, {})
    findings = [*check(pipeline.config), *_of_sink(pipeline)]
    console = Console(soft_wrap=True, highlight=False)
    if not findings:
        name = pipeline.config.connector_class
        console.print(f"The connector {name} has no checks: nothing was looked at")
        return 0
    for finding in findings:
        line = Text(f"{finding.level:<8}", style=_STYLES[finding.level])
        line.append(f"{finding.message} [{finding.code}]", style="default")
        console.print(line)
        if finding.level != "ok" and finding.remedy:
            console.print(Text(f"{'':8}{finding.remedy}", style="dim"))
    errors = sum(finding.level == "error" for finding in findings)
    warnings = sum(finding.level == "warning" for finding in findings)
    console.print(f"{len(findings)} checks, {errors} errors, {warnings} warnings")
    return 1 if errors else 0


def _of_sink(pipeline: Pipeline) -> list[Finding]:
    """What there is to say of the sink, where it is one that can be asked."""
    if pipeline.config.headrace_sink_type != "kafka":
        return []
    from headrace.sinks.kafka.checks import check as check_kafka
    from headrace.spark.sinks.kafka_source import sink_options

    findings = Findings()
    findings.guard(lambda: findings.extend(check_kafka(sink_options(pipeline.config))))
    return findings
