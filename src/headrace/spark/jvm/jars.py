"""Jars that a sink needs on the class path of Spark's driver: downloaded once, or read from a
folder if there is no network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from headrace.errors import HeadraceError

JARS = "spark.jars"
"""The setting of Spark with the paths of jars."""
JARS_NOT_FOUND = "spark.jars_not_found"
PACKAGES = "spark.jars.packages"
_EXTRA = "spark.driver.extraClassPath"
_JAR = re.compile(r"(?P<artifact>.+)-(?P<version>\d+(\.\d+)+[^/]*)\.jar")


def find_jars(packages: Sequence[str], folder: str | None) -> list[Path]:
    """Return the jars of Maven coordinates `group:artifact:version`, without dependencies: from
    `folder`, if it is not None, or from Maven Central by way of the user's cache.

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


@dataclass(frozen=True)
class ClassPath:
    """The class path of the driver by Spark's settings. `entries` are in the form of `java -cp`,
    including Spark's own jars; `missing` are files that do not exist on this host, and `unread`
    entries that only Spark can read."""

    entries: tuple[str, ...]
    missing: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def class_path(spark: Mapping[str, str]) -> ClassPath:
    """Return the class path of a driver with these settings; packages of `spark.jars.packages` are
    downloaded. Raises HeadraceError("spark.no_java")."""
    entries = [entry for entry in spark.get(_EXTRA, "").split(os.pathsep) if entry]
    unread: list[str] = []
    missing = missing_jars(spark)
    for text in _listed(spark, JARS):
        if (path := _local(text)) is None:
            unread.append(f"{JARS}={text}")
        elif text not in missing:
            entries += map(str, path.parent.glob(path.name)) if "*" in path.name else [str(path)]
    for package in _listed(spark, PACKAGES):
        fetched = _fetched(package)
        if fetched is None:
            unread.append(f"{PACKAGES}={package}")
        else:
            entries += map(str, sorted(fetched.glob("*.jar")))
    return ClassPath((*entries, _own_jars()), missing, tuple(unread))


def may_have_jar(spark: Mapping[str, str], word: str) -> bool:
    """Return whether the class path of a driver with these settings has a jar with `word` in its
    name, or entries that only Spark can read. Raises HeadraceError("spark.no_java")."""
    jars = class_path(spark)
    folders = [Path(entry.removesuffix("*")) for entry in jars.entries if entry.endswith("*")]
    names = [Path(entry).name for entry in jars.entries]
    names += [jar.name for folder in folders for jar in folder.glob("*.jar")]
    return bool(jars.unread) or any(word in name for name in names)


def missing_jars(spark: Mapping[str, str]) -> tuple[str, ...]:
    """Return the entries of `spark.jars` that are no files of this host. Spark starts without
    them."""
    named = ((text, _local(text)) for text in _listed(spark, JARS))
    return tuple(
        text
        for text, path in named
        if path is not None and "*" not in path.name and not path.is_file()
    )


def _listed(spark: Mapping[str, str], setting: str) -> list[str]:
    return [entry.strip() for entry in spark.get(setting, "").split(",") if entry.strip()]


def _local(text: str) -> Path | None:
    """Return the path of an entry of `spark.jars`; None if it is on another host."""
    scheme, colon, _ = text.partition(":")
    if not colon or "/" in scheme:
        return Path(text)
    parts = urlsplit(text)
    return Path(unquote(parts.path)) if scheme.lower() in ("file", "local") else None


def _fetched(package: str) -> Path | None:
    """Return the folder with the jars of Maven coordinates and their dependencies, if they can be
    downloaded as Spark does it."""
    from headrace.java import find_java
    from headrace.spark.jvm.maven import NotFetched, fetch_jars

    parts = package.split(":")
    if len(parts) != 3:
        return None
    group, artifact, version = parts
    try:
        return fetch_jars(find_java() / "bin" / "java", (group, artifact, version))
    except NotFetched:
        return None


def _own_jars() -> str:
    """Return the jars of the installed Spark, as a folder in the form of `java -cp`."""
    from headrace.spark.jvm.maven import spark_jar

    home = os.environ.get("SPARK_HOME")
    return str((Path(home, "jars") if home else spark_jar("py4j").parent) / "*")


def other_releases(packages: Sequence[str], spark: Mapping[str, str]) -> list[str]:
    """Return the artifacts on the class path, besides `packages`, of the project of the first of
    these, as `artifact version`: by settings of Spark, or among its own jars. A project is the
    first word of its artifacts: iceberg-core, iceberg-spark-runtime."""
    needed = [package.split(":") for package in packages]
    needed_releases = {(artifact, version) for _, artifact, version in needed}
    projects = {artifact.partition("-")[0] for _, artifact, _ in needed[:1]}
    loaded = {
        (artifact, version)
        for artifact, version in _on_class_path(spark)
        if artifact.partition("-")[0] in projects and (artifact, version) not in needed_releases
    }
    return sorted(f"{artifact} {version}" for artifact, version in loaded)


def _on_class_path(spark: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield artifacts with their versions."""
    for package in filter(None, spark.get(PACKAGES, "").split(",")):
        _, artifact, version, *_ = [*package.strip().split(":"), "", ""]
        yield artifact, version
    files = [Path(jar.strip()) for jar in spark.get(JARS, "").split(",") if jar.strip()]
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
