"""`python -m tests.support.record` makes the bundles of the stand-ins in `bundles` again, with a
workload each."""

from __future__ import annotations

import tempfile
from pathlib import Path

from headrace.cli import main
from headrace_demo.db2.derby import DerbyServer
from headrace_demo.oracle.server import OracleServer
from tests.cli.first_steps.configurations import written
from tests.connectors.db2.support.registered import registered_by_capture
from tests.servers.db2 import Db2Database
from tests.servers.oracle import OracleDatabase

BUNDLES = Path(__file__).parent / "bundles"


def _record(properties: dict[str, str], name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = written(Path(folder) / "pipeline.properties", properties)
        output = str(BUNDLES / f"{name}.zip")
        words = ["support-bundle", str(file), "--output", output, "--seconds", "0.1", "--workload"]
        assert main(words) == 0


def _oracle() -> None:
    with OracleServer() as server:
        database = OracleDatabase.create(server)
        database.create_table(
            "ORDERS", "ID NUMBER(9,0) NOT NULL", "NOTE VARCHAR2(40) DEFAULT 'none'", key=["ID"]
        )
        with database.transaction() as transaction:
            transaction.insert("INV.ORDERS", ID=1, NOTE="first")
        _record(database.properties(), "stand-in-oracle")


def _db2() -> None:
    with DerbyServer() as server:
        database = Db2Database.create(server)
        database.capture.start()
        database.create_table("ORDERS", "ID INTEGER NOT NULL PRIMARY KEY, AMOUNT DECIMAL(9,2)")
        database.execute("INSERT INTO INV.ORDERS VALUES (1, 12.50)")
        database.capture.await_captured()
        with registered_by_capture(database):
            _record(database.properties(), "stand-in-db2")
        database.close()


if __name__ == "__main__":
    _oracle()
    _db2()
