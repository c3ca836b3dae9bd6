"""Jars beside those that a sink needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.spark.jvm.jars import other_releases

PACKAGES = ("org.apache.iceberg:iceberg-core:1.12.0", "org.xerial:sqlite-jdbc:3.46.1.3")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    jars = tmp_path / "jars"
    jars.mkdir()
    for name in ("iceberg-core-1.12.0.jar", "sqlite-jdbc-3.0.0.jar", "spark-core_2.13-4.2.0.jar"):
        (jars / name).touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    return tmp_path


def test_what_is_needed_and_other_projects_are_no_other_release(home: Path) -> None:
    spark = {"spark.jars": f"{home}/delta-spark_2.13-4.4.0.jar,iceberg-core-1.12.0.jar"}
    assert other_releases(PACKAGES, spark) == []
    assert other_releases((), spark) == []


def test_another_release_is_found_wherever_it_is_named(home: Path) -> None:
    runtime = "iceberg-spark-runtime-4.0_2.13"
    folder = home / "extra"
    folder.mkdir()
    (folder / "iceberg-api-1.9.2.jar").touch()
    (home / "jars" / "iceberg-common-1.8.0.jar").touch()
    spark = {
        "spark.jars": f"/opt/{runtime}-1.10.0.jar, /opt/other.jar",
        "spark.jars.packages": "org.apache.iceberg:iceberg-core:1.11.0,com.x:y:1",
        "spark.driver.extraClassPath": f"/opt/iceberg-aws-1.7.1.jar:{folder}/*",
    }
    assert other_releases(PACKAGES, spark) == [
        "iceberg-api 1.9.2",
        "iceberg-aws 1.7.1",
        "iceberg-common 1.8.0",
        "iceberg-core 1.11.0",
        f"{runtime} 1.10.0",
    ]
