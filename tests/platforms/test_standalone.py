"""A standalone cluster whose hosts have no headrace: its environment travels with the program, as
platforms.md says."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from headrace.java import find_java
from headrace.spark.jvm.home import spark_home
from headrace.testing.embedded import PostgresServer
from tests.docs.pages import block
from tests.platforms.archive import PAGE, bare_environment, pack_environment, remove
from tests.platforms.captured_table import make_table
from tests.platforms.standalone import standalone_cluster

_PROGRAM = Path(__file__).with_name("cluster_program.py")
_SHIPPED = "./environment/bin/python"


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.chaos
def test_spark_submit_takes_the_environment_to_workers_without_headrace(tmp_path: Path) -> None:
    place = tmp_path / "driver"
    place.mkdir()
    pack_environment(place)
    shutil.copy(_PROGRAM, place / "shop.py")
    bare = bare_environment(tmp_path / "bare")
    environment = {
        "PATH": f"{spark_home() / 'bin'}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        **{name: os.environ[name] for name in ("NUMBA_CACHE_DIR",) if name in os.environ},
    }
    of_hosts = {**environment, "PYSPARK_PYTHON": str(bare)}
    with PostgresServer() as server, standalone_cluster(tmp_path, 2, of_hosts) as master:
        file = place / "t.json"
        make_table(server, 3000, file, headrace_snapshot_chunk_bytes="40kB")
        (place / "spark-defaults.conf").write_text(
            "spark.ui.enabled false\nspark.cores.max 2\n"
            "spark.executor.cores 1\nspark.executor.memory 512m\n"
        )
        (submit,) = [
            command for command in block(PAGE, "venv_pack").commands if "spark-submit" in command
        ]
        arguments = (str(file), str(tmp_path / "events"), str(tmp_path / "checkpoint"))
        command = f"{submit} {shlex.join(arguments)}"
        command = command.replace("spark://master:7077", master)
        of_driver = {**environment, "SPARK_CONF_DIR": str(place)}
        with (tmp_path / "submit.log").open("w") as log:
            run = subprocess.Popen(
                command, shell=True, cwd=place, env=of_driver, stdout=log, stderr=log
            )
            pythons = _pythons_of_executors(run, tmp_path)
        assert run.returncode == 0, (tmp_path / "submit.log").read_text()[-5000:]
        server.execute("UPDATE t SET v = 'y' WHERE id <= 5")
        subprocess.run(
            command, shell=True, cwd=place, env=of_driver, check=True, capture_output=True
        )
    values = pq.read_table(tmp_path / "events", columns=["value"]).column("value").to_pylist()
    operations = [json.loads(value)["op"] for value in values]
    assert (operations.count("r"), operations.count("u")) == (3000, 5)
    # Both hosts read, with the Python that came along.
    assert {path.parts[len(tmp_path.parts)] for path in pythons} == {"worker-0", "worker-1"}
    remove(place)


def _pythons_of_executors(run: subprocess.Popen[bytes], folder: Path) -> set[Path]:
    """The origins of the Pythons that ran below the workers' folders, which were all called by the
    path of the archive."""
    pythons: set[Path] = set()
    while run.poll() is None:
        for process in psutil.process_iter(["cmdline", "cwd"]):
            command, place = process.info["cmdline"] or (), process.info["cwd"] or ""
            if "-m" in command and "/worker-" in place and place.startswith(str(folder)):
                assert command[0] == _SHIPPED, command
                pythons.add(Path(place))
        time.sleep(0.2)
    return pythons
