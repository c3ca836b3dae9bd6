"""Comments of the captured tables, as the catalogue has them at present."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig


def table_comments(config: PostgresConfig) -> Mapping[str, str]:
    """See ConnectorDefinition."""
    capture = Capture(config)
    with closing(Catalog(config)) as catalog:
        comments = catalog.comments()
    return {name: comment for name, comment in comments.items() if capture.reads(name)}
