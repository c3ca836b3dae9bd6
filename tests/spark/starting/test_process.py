"""The process of a source, from Spark's command on, with this test in the JVM's place."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from headrace.spark.failures import find_failure
from headrace.spark.starting.environment import FOLDER
from headrace.spark.starting.process import _WAITED_FOR, RUNNER, prefer_installed
from headrace.spark.starting.turns import cores, turn
from headrace.spark.versions.installed import is_4_0

_WAITS_S = 120


@contextmanager
def started(
    environment: dict[str, str], places: list[Path] | None = None, module: str = RUNNER
) -> Iterator[subprocess.Popen[bytes]]:
    """The process that Spark starts for a module, on whose path `places` come first."""
    path = [*map(str, places or []), str(FOLDER), os.environ.get("PYTHONPATH", "")]
    with subprocess.Popen(
        [sys.executable, "-m", module],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **environment},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def listening() -> Iterator[tuple[socket.socket, dict[str, str]]]:
    """A Unix socket as the JVM has one, and the variables that name it. The folder's name is short:
    that of a socket has 107 bytes at most."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as door:
        path = f"{folder}/s"
        door.bind(path)
        door.listen(1)
        door.settimeout(_WAITS_S)
        yield door, {"PYTHON_WORKER_FACTORY_SOCK_PATH": path, "PYTHON_UNIX_DOMAIN_ENABLED": "True"}


def accepted(door: socket.socket) -> socket.socket:
    connection, _ = door.accept()
    connection.settimeout(_WAITS_S)
    return connection


def number(connection: socket.socket) -> int:
    return int(struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))[0])


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """A folder of turns that nobody else has, for this process and others."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return {"TMPDIR": str(tmp_path)}


@pytest.mark.skipif(is_4_0(), reason="Spark 4.0 has no Unix sockets for Python's processes")
@pytest.mark.parametrize("module", _WAITED_FOR)
def test_a_process_connects_before_it_has_its_turn_to_import(
    turns: dict[str, str], module: str
) -> None:
    with listening() as (door, variables), ExitStack() as busy:
        for _ in range(cores()):
            busy.enter_context(turn())
        with started({**variables, **turns}, module=module) as process:
            jvm = accepted(door)
            jvm.settimeout(1.0)
            with pytest.raises(TimeoutError):  # PySpark says its number first, and is not there yet
                jvm.recv(4)
            busy.close()
            jvm.settimeout(_WAITS_S)
            if module == RUNNER or find_spec("grpc") is not None:
                assert number(jvm) == process.pid
            jvm.close()


def test_a_source_shows_the_secret_where_sockets_are_of_tcp(turns: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(_WAITS_S)
        port = str(door.getsockname()[1])
        variables = {
            "PYTHON_WORKER_FACTORY_PORT": port, "PYTHON_WORKER_FACTORY_SECRET": "c0ffee"
        }  # fmt: skip
        with started({**variables, **turns}) as process:
            jvm = accepted(door)
            assert jvm.recv(number(jvm), socket.MSG_WAITALL) == b"c0ffee"
            jvm.sendall(struct.pack(">i", 2) + b"ok")
            assert number(jvm) == process.pid
            jvm.close()


def test_a_source_that_cannot_start_names_the_cause(turns: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError('no arrow here')")
    with listening() as (door, variables), started({**variables, **turns}, [tmp_path]) as process:
        jvm = accepted(door)
        assert number(jvm) == process.pid
        assert number(jvm) == -2
        message = jvm.recv(number(jvm), socket.MSG_WAITALL).decode()
        jvm.close()
        assert process.wait(_WAITS_S) == 1
    error = find_failure(f"org.apache.spark.SparkException: [PYTHON_DATA_SOURCE_ERROR] {message}")
    assert error.code == "spark.process_not_started"
    assert "no arrow here" in error.message
    assert sys.executable in error.message


def test_other_processes_keep_the_sitecustomize_that_they_have(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.stdout.write('theirs ')")
    path = os.pathsep.join([str(FOLDER), str(tmp_path)])
    for options in (("-c", "print('runs')"), ("-m", "this")):
        run = subprocess.run(
            [sys.executable, *options],
            env={**os.environ, "PYTHONPATH": path, "PYTHON_WORKER_FACTORY_SECRET": "c0ffee"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert run.stdout.startswith("theirs ")
        assert run.stderr == ""


def test_the_zip_of_pyspark_is_left_out_where_its_installation_is_there(tmp_path: Path) -> None:
    archive = f"{tmp_path}/pyspark/python/lib/pyspark.zip"
    path = [archive, "/elsewhere/pyspark/python/lib/pyspark.zip", str(tmp_path)]
    prefer_installed(path)
    assert archive in path
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark/__init__.py").touch()
    prefer_installed(path)
    assert path == ["/elsewhere/pyspark/python/lib/pyspark.zip", str(tmp_path)]


def test_the_zip_of_py4j_is_left_out_where_the_same_release_is_imported(tmp_path: Path) -> None:
    archive = "/spark/python/lib/py4j-0.10.9.9-src.zip"
    other, same = tmp_path / "other", tmp_path / "same"
    for place, release in ((other, "0.10.9.8"), (same, "0.10.9.9")):
        (place / "py4j").mkdir(parents=True)
        (place / "py4j/__init__.py").touch()
        (place / f"py4j-{release}.dist-info").mkdir()
    for installed in ([], [str(other)], [str(other), str(same)]):
        path = [archive, *installed]
        prefer_installed(path)
        assert path == [archive, *installed]
    path = [archive, str(tmp_path), str(same), str(other)]
    prefer_installed(path)
    assert path == [str(tmp_path), str(same), str(other)]


def test_a_process_of_spark_looks_into_no_archive_of_its_path(tmp_path: Path) -> None:
    spec = find_spec("pyspark")
    assert spec is not None
    spark = Path(spec.origin or "").parent
    (jar,) = spark.glob("jars/spark-core_*.jar")
    with zipfile.ZipFile(jar) as archive:
        assert not any(name.endswith((".py", ".pyc", ".so")) for name in archive.namelist())
    archives = [*map(str, spark.glob("python/lib/*.zip")), str(jar)]
    assert len(archives) == 3
    (tmp_path / "shows.py").write_text(
        "import sys, importlib.util, pyspark\n"
        "found = [pyspark.__file__, importlib.util.find_spec('py4j').origin]\n"
        "print(*found, *sys.path, *sys.path_importer_cache, sep='\\n')"
    )
    run = subprocess.run(
        [sys.executable, "-m", "shows"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*archives, str(FOLDER), str(tmp_path), *sys.path]),
            "PYTHON_WORKER_FACTORY_SECRET": "c0ffee",
        },
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    path_entries = run.stdout.splitlines()
    assert str(tmp_path) in path_entries
    assert [line for line in path_entries if line.startswith(tuple(archives))] == []
