"""`headrace.status` of a query whose tasks, in processes of their own, wait for a table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.servers.postgresql import Database

SESSION = Path(__file__).with_name("lock_session.py")


@pytest.mark.spark
@pytest.mark.postgres
def test_the_status_says_which_lock_a_task_waits_for(database: Database, tmp_path: Path) -> None:
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, n int, note text);"
        "ALTER TABLE t ALTER note SET STORAGE EXTERNAL;"
        "INSERT INTO t VALUES (1, 1, repeat('kept out of line', 1000))"
    )
    processor = "io.debezium.processors.reselect.ReselectColumnsPostProcessor"
    properties = database.properties(snapshot_mode="no_data") | {
        "post.processors": "again",
        "again.type": processor,
    }
    run = subprocess.run(
        [sys.executable, str(SESSION), str(tmp_path), json.dumps(properties), database.dsn],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    answers: dict[str, list[Any]] = {}
    for line in run.stdout.splitlines():
        name, *answers[name] = json.loads(line)
    assert answers["streaming"] == ["streaming"]
    (pid,) = answers["pid"]
    waits = f"waiting for a lock on public.t (held by {pid}, application billing)"
    state, waited_for, message, error = answers["waits"]
    assert (state, waited_for, error) == ("streaming", waits, None)
    assert message.startswith(waits)
    assert answers["goes on"] == ["streaming", None, None]
    assert answers["rows"] == [1]
