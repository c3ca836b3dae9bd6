"""Errors as a user of PySpark meets them: one sentence each, and no trace of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.servers.postgresql import Database

SESSION = Path(__file__).with_name("session.py")


@pytest.mark.spark
@pytest.mark.postgres
def test_every_mistake_is_answered_in_one_sentence(database: Database, tmp_path: Path) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    run = subprocess.run(
        [sys.executable, str(SESSION), str(tmp_path), json.dumps(database.properties())],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    answers: dict[str, list[Any]] = {}
    for line in run.stdout.splitlines():
        name, *answers[name] = json.loads(line)
    for name in ("no options", "a table", "late", "refused", "given up"):
        (text, *_) = answers[name]
        assert "Traceback" not in text, text
        assert "UnboundLocalError" not in text, text
        assert text.index("HeadraceError: ") < 400, text
    assert "Pass a configuration: .options(**headrace.options({...}))." in answers["no options"][0]
    assert "Use spark.readStream" in answers["a table"][0]
    assert "did you mean initial?" in answers["late"][0]
    _, error = answers["refused"]
    assert error["code"] == "postgresql.unknown_database"
    assert error["remedy"] == "Check database.dbname."
    assert error["message"].startswith("PostgreSQL at ")
    state, message, attempts, code = answers["away"]
    assert (state, code) == ("starting", "postgresql.unreachable")
    assert "cannot be reached" in message
    assert attempts >= 1
    assert answers["given up"][1] == "postgresql.unreachable"
    assert answers["failed"] == ["failed"]
    assert answers["streaming"] == ["streaming", None]
    assert answers["stopped"] == ["stopped", None]
