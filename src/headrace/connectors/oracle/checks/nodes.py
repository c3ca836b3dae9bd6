"""Checks that the nodes of a cluster whose redo is flushed can be reached."""

from __future__ import annotations

from headrace.connectors.oracle.checks.state import Checked
from headrace.connectors.oracle.connection import CHECK_LIMIT, connect
from headrace.errors import HeadraceError


def check_nodes(checked: Checked) -> None:
    """Whether each of rac.nodes lets the user in. The stream starts without those that do not:
    their changes come when the node flushes its redo itself."""
    config = checked.config
    if not config.writes_flush_table:
        return
    for node in config.rac_nodes:
        try:
            connect(config, limit=CHECK_LIMIT, node=node, container=config.container).close()
        except HeadraceError as error:
            checked.warn(
                "node_unreachable",
                f"The redo of the node {node} (rac.nodes) cannot be flushed: {error.message}",
                error.remedy,
            )
        else:
            checked.ok("node", f"The node {node} answers")
