"""A pipeline whose names and values must not be in a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.first_steps.configurations import written
from tests.servers.oracle import OracleDatabase


@pytest.fixture
def oracle_database(stand_in: OracleDatabase) -> OracleDatabase:
    """A database of the stand-in."""
    return stand_in


@pytest.fixture
def file(oracle_database: OracleDatabase, tmp_path: Path) -> Path:
    """The database's configuration, which captures a table."""
    oracle_database.create_table(
        "CANARY_TABLE", "ID NUMBER(9,0) NOT NULL",
        "CANARY_COLUMN VARCHAR2(40) DEFAULT 'canary default'", key=["ID"],
    )  # fmt: skip
    return Path(written(tmp_path / "pipeline.properties", oracle_database.properties()))
