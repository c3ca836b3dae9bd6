"""Watches for captured tables that the publication lacks, while the stream goes on without them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence

import psycopg

from headrace.connect.deadline import Deadline
from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import CHECK_LIMIT, connect
from headrace.connectors.postgresql.replication.publication import (
    not_published,
    published_oids,
    unpublished,
)
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_LOOK_SECONDS, _REPEAT_SECONDS = 30.0, 3600.0


class PublicationWatch:
    """Tells of such tables in `warnings`, and in the log every hour, until they are published."""

    def __init__(self, config: PostgresConfig, look: float = _LOOK_SECONDS) -> None:
        self._config, self._look = config, look
        self._absent: Sequence[CatalogTable] = ()
        self._roots: Mapping[int, int] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._repeat = Deadline(_REPEAT_SECONDS)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What an operator should know; empty: every table is published."""
        absent = self._absent
        return (str(not_published(self._config, absent)),) if absent else ()

    def expect(self, absent: Sequence[CatalogTable], roots: Mapping[int, int]) -> None:
        """Warns of these tables, and looks for them from now on; `roots` as `unpublished` takes
        them."""
        self._absent, self._roots = absent, roots
        self._repeat = Deadline(_REPEAT_SECONDS)
        self._log()
        if absent and self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="headrace-publication", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Stop watching; never raises."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(2)

    def _log(self) -> None:
        for warning in self.warnings:
            log.warning("%s", warning)

    def _run(self) -> None:
        while not self._stop.wait(self._look):
            before = self._absent
            if before:
                self._ask()
            if self._repeat.is_over or len(self._absent) != len(before):
                self._repeat.restart(_REPEAT_SECONDS)
                self._log()

    def _ask(self) -> None:
        config = self._config
        try:
            with connect(config, application="headrace check", limit=CHECK_LIMIT) as connection:
                published = published_oids(connection, config.publication_name)
        except (HeadraceError, psycopg.Error) as error:
            log.debug("the publication cannot be looked at: %s", error)
            return
        self._absent = unpublished(self._absent, published, self._roots)
