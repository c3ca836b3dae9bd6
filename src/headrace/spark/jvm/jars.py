"""Jars that a sink needs on the class path of Spark's driver: fetched once, or taken from a folder
where there is no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headrace.errors import HeadraceError

JARS = "spark.jars"
"""The setting of Spark that names them."""


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


def _in_folder(package: str, folder: Path) -> Path:
    _, artifact, version = package.split(":")
    jar = folder / f"{artifact}-{version}.jar"
    if not jar.is_file():
        raise _not_found(package, f"headrace.sink.jars names {folder}, which has no {jar.name}")
    return jar


def _not_found(package: str, why: str) -> HeadraceError:
    return HeadraceError(
        "spark.jars_not_found",
        f"The jar {package}, which the sink needs, is not here: {why}",
        "Let this host reach Maven Central, or put the jar into a folder that headrace.sink.jars "
        "names.",
    )
