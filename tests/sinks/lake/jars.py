"""The jars that commits of replicas need: pinned in the product, fetched once for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.java import find_java
from headrace.sinks.iceberg.format import FORMAT as ICEBERG
from headrace.spark.jvm.maven import fetch_jars


def jars(coordinates: Sequence[str]) -> list[Path]:
    """The jars of Maven coordinates (`group:name:version`) without what these need in turn. Raises
    NotFetched, HeadraceError("spark.no_java")."""
    java = find_java() / "bin" / "java"
    return [jar for each in coordinates for jar in _of(java, each)]


def iceberg_jars(options: Mapping[str, str] | None = None) -> list[Path]:
    """Those of Iceberg's core and of the catalog that the options name (a JDBC catalog)."""
    return jars(ICEBERG.packages(options or {}))


def _of(java: Path, coordinates: str) -> list[Path]:
    group, name, version = coordinates.split(":")
    return sorted(fetch_jars(java, (group, name, version), alone=True).glob("*.jar"))
