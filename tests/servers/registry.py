"""A real schema registry with Confluent's API (Apicurio), from Maven Central, on a free port."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path

import pyspark

from headrace.connect.cache_folders import cache_folder
from headrace.java import find_java
from headrace.spark.jvm.maven import NotFetched

_RELEASE = "2.6.13.Final"
_MODULE = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="tests" module="registry"/>
<dependencies><dependency org="io.apicurio" name="apicurio-registry-app" rev="{release}"
 transitive="false"><artifact name="apicurio-registry-app" type="tar.gz" ext="tar.gz"
 m:classifier="all"/></dependency></dependencies></ivy-module>
"""
_JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def _folder(java: Path) -> Path:
    """The unpacked registry, fetched once by the Ivy that comes with Spark. Raises NotFetched."""
    folder = cache_folder("servers") / f"apicurio-registry-{_RELEASE}"
    if folder.exists():
        return folder
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    fresh.mkdir(parents=True)
    try:
        module = fresh / "ivy.xml"
        module.write_text(_MODULE.format(release=_RELEASE))
        ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
        fetched = subprocess.run(
            [java, "-jar", ivy, "-cache", fresh / "cache", "-ivy", module, "-retrieve",
             f"{fresh}/[artifact].[ext]"],
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        archive = fresh / "apicurio-registry-app.tar.gz"
        if fetched.returncode != 0 or not archive.exists():
            raise NotFetched(f"Apicurio cannot be fetched: {fetched.stdout[-2000:]}")
        with tarfile.open(archive) as packed:
            packed.extractall(fresh / "registry", filter="data")
        (fresh / "registry").rename(folder)
    except subprocess.TimeoutExpired as error:
        raise NotFetched("Apicurio cannot be fetched within ten minutes") from error
    except OSError:
        if not folder.exists():
            raise
        # Another run was faster.
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


class RegistryServer:
    """A registry that keeps its schemas in memory; raises NotFetched if it cannot be downloaded."""

    def __init__(self) -> None:
        self._java = find_java() / "bin" / "java"
        self._folder = _folder(self._java)
        self._logs = Path(tempfile.mkdtemp(prefix="headrace-registry-"))
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/apis/ccompat/v7"

    def start(self) -> None:
        """Start the registry and wait until it answers."""
        log = self._logs / "registry.log"
        jars = f"{self._folder}/apicurio-registry-app-{_RELEASE}-runner.jar:{self._folder}/lib/*"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [self._java, *_JVM_OPTIONS, "-Dquarkus.http.host=127.0.0.1",
                 f"-Dquarkus.http.port={self._port}", "-cp", jars,
                 "io.quarkus.runner.GeneratedMain"],
                stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
                cwd=self._logs,
            )  # fmt: skip
        deadline = time.monotonic() + 240
        while not self._answers():
            log_end = log.read_text(errors="replace")[-2000:]
            assert self._process.poll() is None, f"the registry ended: {log_end}"
            assert time.monotonic() < deadline, f"the registry does not answer: {log_end}"
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def subjects(self) -> list[str]:
        """The subjects that have schemas."""
        with urllib.request.urlopen(f"{self.url}/subjects", timeout=60) as answer:
            return list(json.load(answer))

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._logs, ignore_errors=True)
