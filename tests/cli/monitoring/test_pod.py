"""The command line of the container in deploy/kubernetes, and its probes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.monitoring.runs import Run
from tests.release.manifests import container
from tests.servers.postgresql import Database

PROBES = {name: f"{name}Probe" for name in ("startup", "liveness", "readiness")}


@pytest.mark.postgres
@pytest.mark.spark
def test_the_container_of_the_pod_runs_and_its_probes_are_answered(
    database: Database, command: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    database.execute("CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders VALUES (1)")
    of_server = database.properties(topic_prefix="pod")
    secrets = {"user": of_server["database.user"], "password": of_server["database.password"]}
    mounts = {each["name"]: tmp_path / each["name"] for each in container()["volumeMounts"]}
    for folder in mounts.values():
        folder.mkdir()
    for name, secret in secrets.items():
        (mounts["credentials"] / name).write_text(secret)
        of_server[f"database.{name}"] = f"${{dir:{mounts['credentials']}:{name}}}"
    lines = of_server | {
        "table.include.list": "public.orders",
        "headrace.sink.type": "file",
        "headrace.sink.path": str(tmp_path / "out.jsonl"),
    }
    (mounts["configuration"] / "application.properties").write_text(
        "".join(f"{name}={value}\n" for name, value in lines.items())
    )

    def here(argument: str) -> str:
        for each in container()["volumeMounts"]:
            if argument.startswith(each["mountPath"]):
                return argument.replace(each["mountPath"], str(mounts[each["name"]]), 1)
        return {"9404": "0", "0.0.0.0": "127.0.0.1"}.get(argument, argument)

    run = Run(command(*map(here, container()["args"]), "--master", "local[2]"))
    asked = {name: container()[probe]["httpGet"]["path"] for name, probe in PROBES.items()}
    assert run.get(asked["startup"])[0] == 200
    assert run.get(asked["liveness"])[0] == 200
    run.awaited(lambda: run.get(asked["readiness"])[0] == 200)
    run.awaited(lambda: run.values().get("headrace_rows_total") == 1)
