"""The way in which Spark's processes get headrace.spark.starting."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.spark import session
from headrace.spark.starting.environment import FOLDER, prepare


@pytest.mark.parametrize(
    ("had", "has"), [(None, "{}"), ("", "{}"), ("/a::/b", "{}:/a::/b"), ("/a:{}", "/a:{}")]
)
def test_the_folder_comes_first_and_once(had: str | None, has: str) -> None:
    environment = {} if had is None else {"PYTHONPATH": had.format(FOLDER)}
    prepare(environment)
    assert environment["PYTHONPATH"] == has.format(FOLDER)


def test_sessions_of_users_have_it_unless_their_jvm_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/a")
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "4040")
    session.defaults()
    assert os.environ["PYTHONPATH"] == "/a"
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT")
    session.defaults()
    assert os.environ["PYTHONPATH"] == f"{FOLDER}:/a"


def test_the_folder_is_printed_for_drivers_that_start_otherwise() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "headrace.spark.starting"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout == f"{FOLDER}\n"
    assert [path.name for path in Path(run.stdout.strip()).glob("*.py")] == ["sitecustomize.py"]
