"""Jars that a sink needs on the class path of Spark's driver: fetched once, or taken from a folder
where there is no network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from headrace.errors import HeadraceError

JARS = "spark.jars"
"""The setting of Spark that names them."""
JARS_NOT_FOUND = "spark.jars_not_found"
_PACKAGES, _EXTRA = "spark.jars.packages", "spark.driver.extraClassPath"
_JAR = re.compile(r"(?P<artifact>.+)-(?P<version>\d+(\.\d+)+[^/]*)\.jar")


def find_jars(packages: Sequence[str], folder: str | None) -> list[Path]:
    """The jars of Maven coordinates `group:artifact:version`, each alone: from `folder`, where one
    is named, or from Maven Central by way of the user's cache.

    Raises HeadraceError("spark.jars_not_found").
    """
    if folder is not None:
        return [_in_folder(package, Path(folder)) for package in packages]
    from headrace.java import find_java
    from headrace.spark.jvm.maven import NotFetched, fetch_jars

    java = find_java() / "bin" / "java"
    jars: list[Path] = []
    for package in packages:
        group, artifact, version = package.split(":")
        try:
            fetched = fetch_jars(java, (group, artifact, version), alone=True)
        except NotFetched as error:
            raise _not_found(package, str(error)) from error
        jars += sorted(fetched.glob("*.jar"))
    return jars


def other_releases(packages: Sequence[str], spark: Mapping[str, str]) -> list[str]:
    """What the class path will have besides `packages` of the project of the first of these, as
    `artifact version`: by settings of Spark, or among its own jars. A project is the first word of
    its artifacts: iceberg-core, iceberg-spark-runtime."""
    needed = [package.split(":") for package in packages]
    own = {(artifact, version) for _, artifact, version in needed}
    projects = {artifact.partition("-")[0] for _, artifact, _ in needed[:1]}
    found = {
        (artifact, version)
        for artifact, version in _on_class_path(spark)
        if artifact.partition("-")[0] in projects and (artifact, version) not in own
    }
    return sorted(f"{artifact} {version}" for artifact, version in found)


def _on_class_path(spark: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Artifacts with their versions."""
    for package in filter(None, spark.get(_PACKAGES, "").split(",")):
        _, artifact, version, *_ = [*package.strip().split(":"), "", ""]
        yield artifact, version
    files = [Path(each.strip()) for each in spark.get(JARS, "").split(",") if each.strip()]
    for entry in filter(None, spark.get(_EXTRA, "").split(os.pathsep)):
        path = Path(entry.removesuffix("*"))
        files += path.glob("*.jar") if path.is_dir() else [path]
    if home := os.environ.get("SPARK_HOME"):
        files += Path(home, "jars").glob("*.jar")
    for file in files:
        if known := _JAR.fullmatch(file.name):
            yield known["artifact"], known["version"]


def _in_folder(package: str, folder: Path) -> Path:
    _, artifact, version = package.split(":")
    jar = folder / f"{artifact}-{version}.jar"
    if not jar.is_file():
        raise _not_found(package, f"headrace.sink.jars names {folder}, which has no {jar.name}")
    return jar


def _not_found(package: str, why: str) -> HeadraceError:
    return HeadraceError(
        JARS_NOT_FOUND,
        f"The jar {package}, which the sink needs, is not here: {why}",
        "Let this host reach Maven Central, or put the jar into a folder that headrace.sink.jars "
        "names.",
    )
