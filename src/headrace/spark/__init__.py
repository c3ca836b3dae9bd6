"""Spark's side: the data source, the source process, sessions, the supervisor."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Import `headrace.spark.session` at its first use."""
    if name == "session":
        return import_module("headrace.spark.session")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
