"""What every connector of tables checks of what it captures."""

from __future__ import annotations

from headrace.config.properties.relational import RelationalConfig
from headrace.errors import HeadraceError


def too_many_tables(connector: str, config: RelationalConfig, count: int) -> HeadraceError | None:
    """guardrail.collections.max: what is wrong with capturing `count` tables. `connector` is what
    the connector's codes begin with."""
    limit = config.guardrail_collections_max
    if limit == 0 or count <= limit:
        return None
    return HeadraceError(
        f"{connector}.too_many_tables",
        f"{count} tables are captured; guardrail.collections.max is {limit}",
        "Narrow table.include.list, or raise guardrail.collections.max.",
    )
