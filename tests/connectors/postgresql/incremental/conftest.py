"""The tables, and a reader whose slot is there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connectors.postgresql.harness import Reader
from tests.connectors.postgresql.incremental.tables import (
    properties,
    with_tables,
)
from tests.servers.postgresql import Database


@pytest.fixture
def tables(database: Database) -> Database:
    return with_tables(database)


@pytest.fixture
def reader(tables: Database) -> Iterator[Reader]:
    found = Reader(properties(tables))
    found.step()  # the slot
    yield found
    found.stop()
