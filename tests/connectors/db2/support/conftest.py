"""A pipeline whose names and values must not be in a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace_demo.db2.derby import DerbyServer
from tests.cli.first_steps.configurations import written
from tests.servers.db2 import Db2Database

COLUMNS = (
    "ID INTEGER NOT NULL PRIMARY KEY, CANARY_COLUMN VARCHAR(40) DEFAULT 'canary default', "
    "AMOUNT DECIMAL(9,2)"
)


@pytest.fixture
def db2_database(derby_server: DerbyServer, db2_database: Db2Database) -> Db2Database:
    """A database of the stand-in; skipped where `derby_server` is."""
    return db2_database


@pytest.fixture
def file(db2_database: Db2Database, tmp_path: Path) -> Path:
    """The database's configuration, which captures a table with one row."""
    db2_database.create_table("CANARY_TABLE", COLUMNS)
    db2_database.execute("INSERT INTO INV.CANARY_TABLE VALUES (1, 'canary value 4711', 47.11)")
    db2_database.capture.await_captured()
    return Path(written(tmp_path / "pipeline.properties", db2_database.properties()))
