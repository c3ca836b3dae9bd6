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
def test_the_arguments_of_the_pods_container_run_and_its_probes_are_answered(
    database: Database, command: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    database.execute("CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders VALUES (1)")
    server_properties = database.properties(topic_prefix="pod")
    secrets = {
        "user": server_properties["database.user"],
        "password": server_properties["database.password"],
    }
    mounts = {each["name"]: tmp_path / each["name"] for each in container()["volumeMounts"]}
    for folder in mounts.values():
        folder.mkdir()
    for name, secret in secrets.items():
        (mounts["credentials"] / name).write_text(secret)
        server_properties[f"database.{name}"] = f"${{dir:{mounts['credentials']}:{name}}}"
    properties = server_properties | {
        "table.include.list": "public.orders",
        "headrace.sink.type": "file",
        "headrace.sink.path": str(tmp_path / "out.jsonl"),
    }
    (mounts["configuration"] / "application.properties").write_text(
        "".join(f"{name}={value}\n" for name, value in properties.items())
    )

    def local_argument(argument: str) -> str:
        for each in container()["volumeMounts"]:
            if argument.startswith(each["mountPath"]):
                return argument.replace(each["mountPath"], str(mounts[each["name"]]), 1)
        return {"9404": "0", "0.0.0.0": "127.0.0.1"}.get(argument, argument)

    run = Run(command(*map(local_argument, container()["args"]), "--master", "local[2]"))
    paths = {name: container()[probe]["httpGet"]["path"] for name, probe in PROBES.items()}
    assert run.get(paths["startup"])[0] == 200
    assert run.get(paths["liveness"])[0] == 200
    run.awaited(lambda: run.get(paths["readiness"])[0] == 200)
    run.awaited(lambda: run.values().get("headrace_rows_total") == 1)
