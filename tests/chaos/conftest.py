"""The databases that are killed. A test that kills Db2 or Oracle, too, names the
databases itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.testing.embedded import PostgresServer
from headrace.testing.mongodb import MongoServer
from headrace_demo.db2.derby import DerbyServer
from headrace_demo.oracle.server import OracleServer
from tests.chaos.databases.database import MARKS, ChaosDatabase
from tests.chaos.databases.mongodb import ChaosMongo
from tests.chaos.databases.oracle import ChaosOracle
from tests.chaos.databases.postgresql import ChaosPostgres


@pytest.fixture(
    params=[pytest.param(name, marks=MARKS[name]) for name in ("postgresql", "mongodb")]
)
def database(request: pytest.FixtureRequest) -> Iterator[ChaosDatabase]:
    """Each of them in turn, on a server of its own."""
    if request.param == "postgresql":
        with PostgresServer() as postgres:
            yield ChaosPostgres(postgres)
        return
    if request.param == "db2":
        request.getfixturevalue("derby_server")  # skips where it cannot be had
        from tests.chaos.databases.db2 import opened  # it needs IBM's driver

        with DerbyServer() as server, opened(server) as db2:
            yield db2
        return
    if request.param == "oracle":
        with OracleServer() as server:
            yield ChaosOracle(server)
        return
    request.getfixturevalue("mongodb")  # skips where it cannot be had
    with MongoServer({"oplogSize": str(ChaosMongo.oplog_megabytes)}) as mongodb:
        yield ChaosMongo(mongodb)
