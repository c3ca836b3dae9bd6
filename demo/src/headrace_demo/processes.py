"""Environment of the processes that this package starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import headrace
import headrace_demo

_SOURCES = [str(Path(package.__file__ or "").parents[1]) for package in (headrace, headrace_demo)]


def with_sources(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which Python finds this package and headrace, wherever they are
    installed."""
    paths = [*_SOURCES, os.environ.get("PYTHONPATH", "")]
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
