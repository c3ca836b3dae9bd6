"""A connector says what a shared property means for its database."""

from __future__ import annotations

from headrace.config.describe import describe_rows
from headrace.config.properties.relational import RelationalConfig
from headrace.connectors.registry import find_definition


def test_a_connector_has_its_own_words_for_a_shared_property() -> None:
    rows = describe_rows(find_definition("postgresql").configuration())
    meanings = {row.name: row.meaning for row in rows}
    assert "libpq" in meanings["driver.*"]
    assert "LOGIN and REPLICATION" in meanings["database.user"]
    assert "REPLICA IDENTITY FULL" in meanings["skip.messages.without.change"]
    assert "database.autosave" in meanings
    assert "libpq" not in RelationalConfig.driver.meaning
