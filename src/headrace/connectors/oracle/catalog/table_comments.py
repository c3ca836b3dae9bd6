"""Comments of the captured tables, as the data dictionary has them now."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.catalog.catalog import Catalog
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import opened
from headrace.connectors.oracle.errors import QUERY_LIMIT


def table_comments(config: OracleConfig) -> Mapping[str, str]:
    """See ConnectorDefinition."""
    capture = Capture(config)
    with opened(config, "Reading the tables' comments", limit=QUERY_LIMIT) as connection:
        comments = Catalog(connection).comments()
    return {name: comment for name, comment in comments.items() if capture.reads(name)}
