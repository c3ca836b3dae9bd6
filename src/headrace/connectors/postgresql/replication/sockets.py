"""Whether a connection's socket may be read without libpq."""

from __future__ import annotations

import os

from psycopg.pq.abc import PGconn


def is_plain(connection: PGconn) -> bool:
    """Whether nothing encrypts it. libpq does not tell of GSS encryption: it counts as used where
    it was not ruled out. With HEADRACE_LIBPQ_READER in the environment libpq reads in any case."""
    if connection.ssl_in_use or os.environ.get("HEADRACE_LIBPQ_READER"):
        return False
    return any(o.keyword == b"gssencmode" and o.val == b"disable" for o in connection.info)
