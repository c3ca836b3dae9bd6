"""Fixtures of most modules: `TABLES` is the SQL that makes their tables, `properties` their
configuration (see `properties_with`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database


@pytest.fixture
def tables(request: pytest.FixtureRequest, database: Database) -> Database:
    """A fresh database with the module's TABLES."""
    database.execute(request.module.TABLES)
    return database


@pytest.fixture
def reader(request: pytest.FixtureRequest, tables: Database) -> Iterator[Reader]:
    """A reader of `tables` by the module's `properties`, whose slot is there."""
    reader = Reader(request.module.properties(tables))
    reader.step()
    yield reader
    reader.stop()
