"""Checks that the nodes of a cluster whose redo is flushed can be reached."""

from __future__ import annotations

from headrace.connectors.oracle.checks.state import Checked
from headrace.connectors.oracle.connection import CHECK_LIMIT, connect
from headrace.errors import HeadraceError


def check_nodes(checked: Checked) -> None:
    """Check that the user can log in to each of rac.nodes. The stream starts without the others:
    their changes come when the node itself flushes its redo."""
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
