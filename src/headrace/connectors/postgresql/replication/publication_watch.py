"""Watches for captured tables that the publication lacks, while the stream continues without
them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import closing

import psycopg

from headrace.connect.deadline import Deadline
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import CHECK_LIMIT, connect
from headrace.connectors.postgresql.replication.publication import (
    find_publication,
    not_published,
    silent_tables,
)
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_LOOK_SECONDS, _REPEAT_SECONDS = 30.0, 3600.0


class PublicationWatch:
    """A watch that reports these tables in `warnings`, and in the log every hour, until they are
    published or dropped; `takes` says whether a name is a captured table's."""

    def __init__(
        self, config: PostgresConfig, takes: Callable[[str], bool], look: float = _LOOK_SECONDS
    ) -> None:
        self._config, self._takes, self._look = config, takes, look
        self._absent: Sequence[CatalogTable] = ()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._repeat = Deadline(_REPEAT_SECONDS)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for an operator; empty if every table is published."""
        absent = self._absent
        return (str(not_published(self._config, absent)),) if absent else ()

    def begin(self, absent: Sequence[CatalogTable]) -> None:
        """Warn of these tables, and watch for such tables from now on."""
        self._absent = absent
        self._repeat = Deadline(_REPEAT_SECONDS)
        self._log()
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="headrace-publication", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Stop the watch; never raises."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(2)

    def _log(self) -> None:
        for warning in self.warnings:
            log.warning("%s", warning)

    def _run(self) -> None:
        while not self._stop.wait(self._look):
            warnings = self.warnings
            if not self._ask():
                return
            if self._repeat.is_over or self.warnings != warnings:
                self._repeat.restart(_REPEAT_SECONDS)
                self._log()

    def _ask(self) -> bool:
        """Look for such tables once; False if the publication is FOR ALL TABLES, which never lacks
        any."""
        config = self._config
        try:
            with (
                connect(config, application="headrace check", limit=CHECK_LIMIT) as connection,
                closing(Catalog(config, connection, CHECK_LIMIT)) as catalog,
            ):
                publication = find_publication(connection, config.publication_name)
                if publication is not None and publication.for_all:
                    return False
                self._absent = silent_tables(connection, config, catalog, self._takes)
        except (HeadraceError, psycopg.Error) as error:
            log.debug("the publication cannot be looked at: %s", error)
        return True
