"""The databases that are killed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.testing.embedded import PostgresServer
from headrace.testing.mongodb import MongoServer
from tests.chaos.databases.database import ChaosDatabase
from tests.chaos.databases.mongodb import ChaosMongo
from tests.chaos.databases.postgresql import ChaosPostgres


@pytest.fixture(
    params=[
        pytest.param("postgresql", marks=pytest.mark.postgres),
        pytest.param("mongodb", marks=pytest.mark.mongodb),
    ]
)
def database(request: pytest.FixtureRequest) -> Iterator[ChaosDatabase]:
    """Each of them in turn, on a server of its own."""
    if request.param == "postgresql":
        with PostgresServer() as postgres:
            yield ChaosPostgres(postgres)
        return
    request.getfixturevalue("mongodb")  # skips where there is none
    with MongoServer({"oplogSize": str(ChaosMongo.oplog_megabytes)}) as mongodb:
        yield ChaosMongo(mongodb)
