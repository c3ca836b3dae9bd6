"""Tables of a workload on the stand-in for Db2, which registers none by SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headrace.connectors.db2.support import workload
from headrace.connectors.db2.support.kit import SCHEMA, Transaction
from tests.servers.db2 import Db2Database


@contextmanager
def registered_by_capture(database: Db2Database) -> Iterator[None]:
    """Registers two tables by the Capture program, and takes that back before they are dropped."""
    original_done, taking_back = workload._Making._done, workload._taking_back
    added: list[str] = []

    def registered(self: Any, transaction: Transaction) -> Exception | None:
        if transaction.statements[0].name != "kit_register":
            return original_done(self, transaction)
        if transaction.table not in ("CHANGES", "EXPRESSIONS"):
            return original_done(self, transaction)
        database.capture.add_table(SCHEMA, transaction.table)
        added.append(transaction.table)
        return None

    @contextmanager
    def taken_back(*arguments: Any) -> Iterator[Callable[[str], bool]]:
        for table in added:
            database.capture.remove_table(SCHEMA, table)
        with taking_back(*arguments) as send:
            yield send

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(workload._Making, "_done", registered)
        patched.setattr(workload, "_taking_back", taken_back)
        yield
