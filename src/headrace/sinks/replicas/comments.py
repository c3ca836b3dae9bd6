"""Comments of the source's tables, which no event carries."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import TableSchema

log = logging.getLogger(__name__)


class SourceComments:
    """The comments at the start of a query; those of tables that appear later are read with their
    first change. For several threads."""

    def __init__(self, ask: Callable[[], Mapping[str, str] | None]) -> None:
        """Set the reader `ask`, which returns the comments of all tables by their names (empty: the
        table has none), or None if comments are not available, and raises HeadraceError."""
        self._ask = ask
        self._known: dict[str, str | None] | None = None
        self._lock = threading.Lock()

    def read(self) -> None:
        """Read all comments. Raises HeadraceError."""
        known = self._ask()
        with self._lock:
            self._known = None if known is None else {**known}

    def added_to(self, schema: TableSchema) -> TableSchema:
        """Return a table's schema with its comment, unless it has one. If the comment cannot be
        read it stays unknown: no change waits for it."""
        with self._lock:
            known = self._known
            if schema.comment is not None or known is None:
                return schema
            is_known = schema.source in known
        if not is_known:
            comment = self._comment_now(schema.source)  # other tables do not wait for the database
            with self._lock:
                known.setdefault(schema.source, comment)
        return replace(schema, comment=known[schema.source])

    def _comment_now(self, source: str) -> str | None:
        try:
            return (self._ask() or {}).get(source)
        except HeadraceError as error:
            log.warning("The comment of the table %s was not read: %s", source, error)
            return None
