"""The page of features by version of Spark, made of reports of the tests on each version.

`python -m tests.spark.versions.table PAGE build/spark-4.1.4.xml …` writes PAGE. The exit status is
1 if a test failed, or could not run because something cannot be fetched, or if a report does not
exist or has no tests.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
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
    "Sinks `file`, `kafka`, `console`, `event-log`": r"tests\.sinks\.(?!lake|replicas)",
    "Replicas (Iceberg, Delta)": r"tests\.(sinks\.(lake|replicas)|chaos\.replicas)\.",
    "Metrics, status, errors of a query": (
        r"tests\.(spark\.(test_metrics|query|monitoring)|cli\.monitoring)\."
    ),
    "Examples of the guides": r"tests\.docs\.",
    "Checkpoints of former releases": r"tests\.upgrades\.",
    "Kills of every process": r"tests\.chaos\.",
}
REST = "Everything else"
"""The row of tests that are of no feature."""
_NOT_FETCHED = re.compile(r"\bcannot (be )?fetch")
"""The words of a test that was skipped because something that it needs cannot be fetched."""
_FILE = re.compile(r"(?:spark|kills)-(\d+\.\d+\.\d+)\.xml")

Results = Mapping[str, Sequence[tuple[str, str]]]
"""Results by version: the names of tests, and `passed`, `failed`, `skipped` or `not fetched`."""


def read(files: Iterable[Path]) -> dict[str, list[tuple[str, str]]]:
    """Return the results of reports by the version in the names of their files. Raises ValueError
    for a file with another name, and for a report without tests; FileNotFoundError."""
    results: dict[str, list[tuple[str, str]]] = {}
    for file in files:
        named = _FILE.fullmatch(file.name)
        if named is None:
            raise ValueError(f"{file} has no version of Spark in its name")
        outcomes = [(_name(case), _outcome(case)) for case in ET.parse(file).iter("testcase")]
        if not outcomes:
            raise ValueError(f"{file} has no tests")
        results.setdefault(named[1], []).extend(outcomes)
    return results


def _name(case: ET.Element) -> str:
    return f"{case.get('classname')}.{case.get('name')}"


def _outcome(case: ET.Element) -> str:
    reasons = {child.tag: child.get("message", "") for child in case}
    if reasons.keys() & {"failure", "error"}:
        return "failed"
    if "skipped" not in reasons:
        return "passed"
    return "not fetched" if _NOT_FETCHED.search(reasons["skipped"]) else "skipped"


def table(results: Results) -> str:
    """Return the page."""
    versions = sorted(results, key=lambda version: [*map(int, version.split("."))])
    lines = [
        "# Features by version of Spark",
        "",
        "Generated from the runs of the tests by `make nightly`. *yes (N)*: all N tests that ran "
        "passed; *N of M*: N of the M tests that ran passed; *skipped*: this version does not need "
        "the feature, or cannot have it; *not run*: there was no test, or what its tests need "
        "could not be fetched.",
        "",
        f"| | {' | '.join(versions)} |",
        f"|---|{'---|' * len(versions)}",
    ]
    for feature in (*FEATURES, REST):
        cells = [_cell(results[version], feature) for version in versions]
        lines.append(f"| {feature} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def features_of(name: str) -> list[str]:
    """Return the features that a test is of."""
    named = [feature for feature, pattern in FEATURES.items() if re.search(pattern, name)]
    return named or [REST]


def _cell(results: Iterable[tuple[str, str]], feature: str) -> str:
    outcomes = [outcome for name, outcome in results if feature in features_of(name)]
    run_outcomes = [outcome for outcome in outcomes if outcome in ("passed", "failed")]
    if not run_outcomes:
        return "skipped" if set(outcomes) == {"skipped"} else "not run"
    passed = run_outcomes.count("passed")
    return f"yes ({passed})" if passed == len(run_outcomes) else f"{passed} of {len(run_outcomes)}"


def main(page: Path, files: Sequence[Path]) -> int:
    """Write the page of the reports that exist, and list the tests that failed or could not run.
    Returns the exit status."""
    missing = [file for file in files if not file.is_file()]
    results = read(file for file in files if file not in missing)
    failed = [
        f"{version}: {name}{' needs what cannot be fetched' if outcome == 'not fetched' else ''}"
        for version, outcomes in results.items()
        for name, outcome in outcomes
        if outcome in ("failed", "not fetched")
    ]
    for problem in (*(f"{file} does not exist" for file in missing), *failed):
        print(problem, file=sys.stderr)
    if results:
        page.write_text(table(results), encoding="utf-8")
    return 1 if missing or failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [*map(Path, sys.argv[2:])]))
