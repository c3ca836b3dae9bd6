"""Servers of Db2's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace_demo.db2.derby import DerbyServer


@pytest.fixture(scope="session")
def guarded_server(derby_server: DerbyServer) -> Iterator[DerbyServer]:
    """A server that asks for passwords and grants; skipped where `derby_server` is."""
    settings = {
        "derby.connection.requireAuthentication": "true",
        "derby.authentication.provider": "BUILTIN",
        "derby.user.DB2INST1": "unused",
        "derby.user.READER": "secret-word",
        "derby.user.cdc": "secret-word",
        "derby.database.sqlAuthorization": "true",
    }
    with DerbyServer(settings) as server:
        yield server
