"""An S3 that all tests of a worker share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.s3 import S3Server, has_s3


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """A running server; each test takes a bucket of its own."""
    if not has_s3():
        pytest.skip("moto is not installed: pip install -e '.[dev]'")
    server = S3Server()
    yield server
    server.close()
