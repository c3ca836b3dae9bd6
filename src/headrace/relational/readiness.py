"""Checks of captured tables at each start, for all relational connectors."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.config.properties.relational import RelationalConfig
from headrace.relational.capture import TableCapture
from headrace.relational.checks import (
    key_warnings,
    missing_overrides,
    names_tables,
    no_tables,
    reselection_warnings,
    shared_names,
    signal_table_error,
    too_many_tables,
)
from headrace.relational.table import Table

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TableReadiness:
    """`connector` is the prefix of error codes, `database` the name of the database in messages.
    `headrace check` reports the same problems."""

    connector: str
    database: str
    config: RelationalConfig
    capture: TableCapture

    def require(self, tables: Sequence[Table]) -> None:
        """Check that tables are captured, and not too many. Raises HeadraceError: `….no_tables`,
        `….signal_table`, `….too_many_tables`."""
        if not tables:
            nothing = no_tables(self.connector, self.database, self.config)
            if names_tables(self.config):
                raise nothing
            log.warning("%s", nothing)
        if self.capture.signal_table is not None:
            check_signal_table(self.connector, tables, self.capture.signal_table)
        error = too_many_tables(self.connector, self.config, len(tables))
        if error is not None:
            if self.config.guardrail_collections_limit_action == "fail":
                raise error
            log.warning("%s", error)

    def require_events(self, tables: Sequence[Table]) -> None:
        """Check that tables have events: raises HeadraceError as `TableCapture.relation` does. Logs
        a warning for tables whose events cannot be distinguished, and for columns of properties
        that no table has."""
        for table in tables:
            self.capture.relation(table, table)
        for error in shared_names(self.connector, tables, self.capture):
            log.warning("%s", error)
        for error in key_warnings(self.capture, tables):
            log.warning("%s", error)
        for error in reselection_warnings(self.connector, self.config, tables):
            log.warning("%s", error)

    def warn_of_overrides(self) -> None:
        """Log a warning for tables that are listed but have no statement of their own."""
        for error in missing_overrides(self.connector, self.config):
            log.warning("%s", error)


def check_signal_table(connector: str, tables: Iterable[Table], name: str) -> None:
    """Raise HeadraceError("….signal_table") if the signal table is missing or has other columns."""
    error = signal_table_error(connector, tables, name)
    if error is not None:
        raise error
