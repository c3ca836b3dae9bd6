"""The Makefile's targets by version of Spark, Numba and Python."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.installation import ROOT

SPARKS = re.findall(r"^SPARKS := (.*)$", (ROOT / "Makefile").read_text(), re.M)[0].split()


def dry_run(*words: str) -> subprocess.CompletedProcess[str]:
    """What `make` with these words would run."""
    outer = {
        "MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS", "SPARK", "SPARKS", "NUMBA", "LOWEST",
        "PYTHON", "REPORT", "TESTS",
    }  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    command = ["make", "--dry-run", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("target", ["setup", "test", "chaos", "demo", "bench"])
@pytest.mark.parametrize(
    ("setting", "environment"),
    [
        (f"SPARK={SPARKS[0].rpartition('.')[0]}.x", f".venv-spark-{SPARKS[0]}"),
        ("SPARK=4.1.3", ".venv-spark-4.1.3"),
        ("NUMBA=0.63.0", ".venv-numba-0.63.0"),
        ("PYTHON=python3.12", ".venv-python3.12"),
    ],
)
def test_each_target_uses_the_environment_of_the_versions_that_are_asked_for(
    target: str, setting: str, environment: str
) -> None:
    dry = dry_run(target, setting)
    assert dry.returncode == 0, dry.stderr
    assert {*re.findall(r"\.venv[\w.-]*(?=/bin/)", dry.stdout)} == {environment}


def test_without_versions_each_target_uses_the_same_environment() -> None:
    for target in ("setup", "test", "demo"):
        assert {*re.findall(r"\.venv[\w.-]*(?=/bin/)", dry_run(target).stdout)} == {".venv"}


@pytest.mark.parametrize("version", ["4.2.x", "4.9.x", "4.x", ".x"])
def test_a_series_of_spark_with_no_or_several_tested_versions_is_refused(version: str) -> None:
    dry = dry_run("test", f"SPARK={version}")
    assert dry.returncode != 0
    assert f"SPARK={version} is not one of {' '.join(SPARKS)}" in dry.stderr


def test_a_night_writes_the_page_of_the_reports_of_each_version() -> None:
    reports = [f"build/{kind}-{version}.xml" for version in SPARKS for kind in ("spark", "kills")]
    whole = dry_run("nightly").stdout
    assert re.findall(r"--junitxml (\S+)", whole) == reports
    assert whole.splitlines()[-1].split()[-len(reports) :] == reports
    for number, version in enumerate(SPARKS):
        one = dry_run("nightly-version", f"SPARK={version.rpartition('.')[0]}.x").stdout
        assert re.findall(r"--junitxml (\S+)", one) == reports[2 * number : 2 * number + 2]
    nameless = dry_run("nightly-version")
    assert nameless.returncode != 0
    assert "name the version" in nameless.stderr
