"""Flushes the redo to its logs: a table of one row is updated and committed."""

from __future__ import annotations

import logging
from collections.abc import Callable

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, connect
from headrace.connectors.oracle.errors import DriverError
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)


class LogFlush:
    """Updates log.mining.flush.table.name on each of rac.nodes, else on the connection of the
    database; with log.mining.read.only, and if only archived logs are read, it does nothing. One
    thread uses it."""

    def __init__(
        self, config: OracleConfig, open_node: Callable[[str], Connection] | None = None
    ) -> None:
        """`open_node` connects to one of rac.nodes, where the tables are."""
        self._config = config
        self._open_node = open_node or (
            lambda node: connect(config, node=node, container=config.container)
        )
        self._table = sql.quoted(config.log_mining_flush_table_name.upper())
        self._writes = config.writes_flush_table
        self._nodes: dict[str, Connection | None] = dict.fromkeys(config.rac_nodes)
        self._gone: set[str] = set()
        """Nodes whose redo was not flushed the last time."""

    def prepare(self, database: Connection) -> None:
        """Create the table and its only row if they do not exist. Raises DriverError."""
        if not self._writes:
            return
        name = self._config.log_mining_flush_table_name.upper()
        ((count,),) = database.rows(sql.FLUSH_TABLE_COUNT(), {"name": name})
        if not count:
            database.execute(sql.FLUSH_TABLE_CREATE(flush_table=self._table))
        ((rows,),) = database.rows(sql.FLUSH_TABLE_ROWS(flush_table=self._table))
        if rows != 1:
            database.execute(sql.FLUSH_TABLE_DELETE(flush_table=self._table))
            database.execute(sql.FLUSH_TABLE_INSERT(flush_table=self._table), {"scn": 0})
        database.commit()

    def flush(self, database: Connection, scn: int) -> None:
        """Write an SCN. A node that cannot be reached is tried each time, and reported once until
        it can be reached again. Raises DriverError for the database itself."""
        if not self._writes:
            return
        if not self._nodes:
            self._write(database, scn)
            return
        for node, connection in self._nodes.items():
            try:
                connection = connection or self._open_node(node)
                self._nodes[node] = connection
                self._write(connection, scn)
            except (DriverError, HeadraceError) as error:
                if node not in self._gone:
                    reason = error.message if isinstance(error, HeadraceError) else error
                    log.warning(
                        "The redo of the node %s (rac.nodes) was not flushed, and is tried again "
                        "with each window: %s",
                        node,
                        reason,
                    )
                self._gone.add(node)
                self._close(node)
            else:
                if node in self._gone:
                    log.warning("The redo of the node %s is flushed again", node)
                self._gone.discard(node)

    def _write(self, connection: Connection, scn: int) -> None:
        connection.execute(sql.FLUSH_TABLE_UPDATE(flush_table=self._table), {"scn": scn})
        connection.commit()

    def _close(self, node: str) -> None:
        connection, self._nodes[node] = self._nodes[node], None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close the nodes' connections; never raises."""
        for node in self._nodes:
            self._close(node)
