"""The table of features by versions of Spark, made of the runs of the tests on each of them.

`python -m tests.spark.versions.table build/spark-4.1.4.xml …` prints it. A feature is there where
all of its tests passed, and `skipped` where none ran; a version without a run has no column.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from pathlib import Path

FEATURES: Mapping[str, str] = {
    "A query of yours: restart, acknowledgement, folders": r"tests\.spark\.versions\.",
    "`availableNow` in bounded memory": r"versions\.test_queries.*available_now",
    "Columns of Spark's types (`row`), VARIANT, `headrace.table`, `headrace.fold`": (
        r"tests\.spark\.tables\."
    ),
    "Transforms and converters in a stream": r"tests\.pipelines\.",
    "Transforms of DataFrames": r"tests\.spark\.frames\.",
    "`headrace run`, `headrace events`: triggers, stop, restart": r"tests\.cli\.",
    "Sinks `file`, `kafka`, `console`": r"tests\.sinks\.(?!lake|replicas)",
    "Replicas (Iceberg, Delta)": r"tests\.sinks\.(lake|replicas)\.",
    "The conformance suite of connectors": r"tests\.contract\.",
    "Metrics, status, signals": r"tests\.spark\.(test_metrics|query)",
    "Five kills": r"tests\.chaos\.test_kills",
}
_FILE = re.compile(r"(?:spark|kills)-(\d+\.\d+\.\d+)")

Results = Mapping[str, Iterable[tuple[str, str]]]
"""Results by version: the names of tests, and `passed`, `failed` or `skipped`."""


def read(files: Iterable[Path]) -> dict[str, list[tuple[str, str]]]:
    """The results of runs, by the version in the names of their files."""
    results: dict[str, list[tuple[str, str]]] = {}
    for file in files:
        found = _FILE.search(file.name)
        if found is None:
            continue
        of_version = results.setdefault(found[1], [])
        for case in ET.parse(file).iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            kinds = {child.tag for child in case}
            outcome = "skipped" if "skipped" in kinds else "passed"
            of_version.append((name, "failed" if kinds & {"failure", "error"} else outcome))
    return results


def table(results: Results) -> str:
    """The page."""
    versions = sorted(results)
    lines = [
        "# Features by version of Spark",
        "",
        "Generated from the runs of the tests by `make nightly`: passed tests of those that ran.",
        "",
        f"| | {' | '.join(versions)} |",
        f"|---|{'---|' * len(versions)}",
    ]
    for feature, pattern in FEATURES.items():
        cells = [_cell(results[version], re.compile(pattern)) for version in versions]
        lines.append(f"| {feature} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(results: Iterable[tuple[str, str]], pattern: re.Pattern[str]) -> str:
    outcomes = [outcome for name, outcome in results if pattern.search(name)]
    ran = [outcome for outcome in outcomes if outcome != "skipped"]
    if not ran:
        return "skipped" if outcomes else "not run"
    passed = ran.count("passed")
    return f"yes ({passed})" if passed == len(ran) else f"{passed} of {len(ran)}"


if __name__ == "__main__":
    sys.stdout.write(table(read(map(Path, sys.argv[1:]))))
