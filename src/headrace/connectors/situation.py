"""What a connector is doing right now, for whoever watches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.errors import HeadraceError


@dataclass(frozen=True)
class Situation:
    """`state` is a value of headrace.connectors.states.State. `error` is what the connector tries
    again after, for the `attempts`-th time in a row, `retry_seconds` after the last try; None: all
    is well."""

    state: str
    error: HeadraceError | None = None
    attempts: int = 0
    retry_seconds: float = 0.0


Watcher = Callable[[Situation], None]
"""Called in the connector's thread whenever its situation changes; it must not raise."""
