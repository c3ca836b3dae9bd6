"""The workflows: GitHub takes them, they call targets of the Makefile only, and a release is
published without a password."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from headrace.version import VERSION
from release.notes import CHANGELOG, notes
from tests.installation import ROOT

FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGET = re.compile(r"make ([a-z][a-z0-9-]*)( [A-Z]+=[\w.-]+)*")


def jobs(file: Path) -> dict[str, Any]:
    job_definitions: dict[str, Any] = yaml.safe_load(file.read_text())["jobs"]
    return job_definitions


def commands(file: Path) -> list[str]:
    """The commands of a workflow's steps, those of a matrix for each value."""
    step_commands: list[str] = []
    for job in jobs(file).values():
        targets = job.get("strategy", {}).get("matrix", {}).get("target", [])
        for step in job["steps"]:
            if step.get("run") == "${{ matrix.target }}":
                step_commands += targets
            elif "run" in step:
                step_commands.append(step["run"])
    return step_commands


def test_there_is_one_for_tests_one_for_the_night_and_one_for_releases() -> None:
    assert {"test", "nightly", "release"} <= {file.stem for file in FILES}


def test_they_follow_the_schema_of_githubs_workflows(tmp_path: Path) -> None:
    def check(*files: Path) -> subprocess.CompletedProcess[str]:
        schema = ("--builtin-schema", "vendor.github-workflows")
        command = [sys.executable, "-m", "check_jsonschema", *schema, *map(str, files)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    good = check(*FILES)
    assert good.returncode == 0, good.stdout
    broken = tmp_path / "broken.yml"
    broken.write_text(FILES[0].read_text().replace("runs-on:", "run-on:"))
    assert check(broken).returncode == 1


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not installed")
def test_actionlint_finds_nothing_in_them() -> None:
    command = ["actionlint", "-no-color", *map(str, FILES)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_step_calls_one_target_that_the_makefile_has(file: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.M))
    assert commands(file)
    for command in commands(file):
        match = TARGET.fullmatch(command)
        assert match is not None, command
        assert match[1] in targets


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_one_says_its_permissions_and_its_jobs_their_longest_time(file: Path) -> None:
    assert yaml.safe_load(file.read_text())["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in jobs(file).values())


def test_the_night_tests_each_version_of_spark_and_keeps_the_page_of_all() -> None:
    nightly = ROOT / ".github/workflows/nightly.yml"
    series = re.findall(r"^SPARKS := (.*)$", (ROOT / "Makefile").read_text(), re.M)[0].split()
    assert jobs(nightly)["spark"]["strategy"]["matrix"]["target"] == [
        f"make nightly-version SPARK={version.rpartition('.')[0]}.x" for version in series
    ]
    page = jobs(nightly)["spark-versions"]
    assert page["needs"] == "spark"
    assert page["if"] == "${{ !cancelled() }}"
    uploads = [jobs(nightly)[name]["steps"][-1] for name in ("spark", "spark-versions")]
    assert [upload["if"] for upload in uploads] == ["always()", "always()"]
    assert [upload["with"]["path"] for upload in uploads] == [
        "build/*.xml",
        "docs/reference/spark-versions.md",
    ]


def test_a_release_is_published_by_the_identity_of_its_workflow_alone() -> None:
    release = ROOT / ".github/workflows/release.yml"
    publishing = jobs(release)["publish"]
    assert publishing["permissions"] == {"id-token": "write"}
    (step,) = (
        candidate for candidate in publishing["steps"] if "pypi-publish" in candidate["uses"]
    )
    assert "with" not in step
    assert "secrets." not in release.read_text()
    others = [job for name, job in jobs(release).items() if name != "publish"]
    assert not [job for job in others if "id-token" in job.get("permissions", {})]
    assert commands(release).index("make test") > commands(release).index("make dist")
    assert publishing["needs"] == "build"


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    dated = f"# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-12-01\n\n### Added\n\n- x\n\n"
    assert notes(f"v{VERSION}", f"{dated}## [0.0.1] - 2026-01-01\n\n- y\n") == "### Added\n\n- x\n"
    assert notes(f"v{VERSION}", f"{dated}[0.0.1]: https://example.com\n") == "### Added\n\n- x\n"
    with pytest.raises(RuntimeError, match=r"The tag 'v9.9.9' is not v"):
        notes("v9.9.9", dated)
    with pytest.raises(RuntimeError, match=r"has no section `## \["):
        notes(f"v{VERSION}", "# Changelog\n\n## [Unreleased]\n")
    assert CHANGELOG.exists()
