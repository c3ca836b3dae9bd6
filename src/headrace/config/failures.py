"""Handling of changes that cannot be processed (event.processing.failure.handling.mode), or
converted (errors.tolerance)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

LeftOut = Callable[[str, HeadraceError], None]
"""A function that is called with the topic or collection of a record that is left out, and the
error."""


def _warned(name: str, error: HeadraceError) -> None:
    log.warning("A record of %s is left out: %s", name, error)


def _skipped(name: str, error: HeadraceError) -> None:
    log.debug("A record of %s is left out: %s", name, error)


_LEFT_OUT: dict[str, LeftOut | None] = {
    "fail": None,
    "warn": _warned,
    "skip": _skipped,
    "ignore": _skipped,
}


def left_out(config: ConnectorConfig) -> LeftOut | None:
    """Return the function that reports a record that is left out; None: the failure ends the
    query."""
    chosen = _LEFT_OUT[str(config.event_processing_failure_handling_mode)]
    if chosen is None and config.errors_tolerance == "all":
        return _warned if config.errors_log_enable else _skipped
    return chosen
