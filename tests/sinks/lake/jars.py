"""The jars that commits of replicas need: pinned in the product, fetched once for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.java import find_java
from headrace_demo.maven import NotFetched, fetch_jars


def jars(coordinates: Sequence[str]) -> list[Path]:
    """The jars of Maven coordinates (`group:name:version`) without what these need in turn. Skips
    the test where they cannot be had."""
    try:
        java = find_java() / "bin" / "java"
        return [jar for each in coordinates for jar in _of(java, each)]
    except NotFetched as error:
        pytest.skip(str(error))
    except HeadraceError as error:
        if error.code == "spark.no_java":
            pytest.skip(error.message)
        raise


def iceberg_jars(options: Mapping[str, str] | None = None) -> list[Path]:
    """Those of Iceberg's core and of the catalog that the options name (a JDBC catalog)."""
    from headrace.sinks.iceberg.format import FORMAT

    return jars(FORMAT.packages(options or {}))


def delta_jars() -> list[Path]:
    """Those of Delta Kernel."""
    from headrace.sinks.delta.format import FORMAT

    return jars(FORMAT.packages({}))


def _of(java: Path, coordinates: str) -> list[Path]:
    group, name, version = coordinates.split(":")
    return sorted(fetch_jars(java, (group, name, version), alone=True).glob("*.jar"))
