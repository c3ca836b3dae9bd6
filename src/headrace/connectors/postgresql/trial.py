"""A run without a stored position, which must not leave a slot that would retain WAL."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import END_LIMIT_MS, opened
from headrace.connectors.postgresql.replication.publication import find_publication
from headrace.connectors.postgresql.replication.slot import drop_when_free, find_slot
from headrace.errors import HeadraceError
from headrace.snapshots.modes import SnapshotRule

log = logging.getLogger(__name__)


@contextmanager
def trial(config: PostgresConfig) -> Iterator[None]:
    """Drop the slot at the end, unless it existed at the beginning: then it is used elsewhere, and
    stays. Raises HeadraceError if the server does not answer at the beginning; logs a warning if it
    does not at the end."""
    if not SnapshotRule.of(config).streams:
        yield
        return
    name, publication = config.slot_name, config.publication_name
    with opened(config, "Looking at the slot", END_LIMIT_MS) as connection:
        has_slot = find_slot(connection, name) is not None
        has_publication = find_publication(connection, publication) is not None
    if has_slot:
        log.warning(
            "the slot %s existed before, and stays; it advances with the events shown here", name
        )
    try:
        yield
    finally:
        try:
            with opened(config, "Looking at the slot", END_LIMIT_MS) as connection:
                if not has_slot and not drop_when_free(connection, name):
                    log.warning("the slot %s is in use and stays: it keeps WAL", name)
                if not has_publication and find_publication(connection, publication):
                    log.warning("the publication %s stays, which keeps nothing", publication)
        except HeadraceError as error:
            if not has_slot:
                log.warning(
                    "the slot %s may still exist, and keeps WAL until `headrace slots drop FILE` "
                    "drops it: %s",
                    name,
                    error,
                )
