"""`headrace run` into replicas, in a session of its own whose processes can be killed."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from headrace.sinks.replicas.cuts.cut_log import read_cuts
from headrace.sinks.replicas.lake import TableName
from tests.chaos.databases.database import ACCOUNTS, START_BALANCE
from tests.chaos.replicas.banks.bank import TABLES, Bank
from tests.chaos.run import Run, newest_of
from tests.sinks.lake.readers import LAKES

_LONGEST = 60


class ReplicaRun(Run):
    """One state folder and one lake."""

    database: Bank

    def __init__(self, bank: Bank, folder: Path, table_format: str, **more: str) -> None:
        self.lake = LAKES[table_format](folder / "lake")
        super().__init__(
            bank,
            folder,
            **{
                "headrace_slices": "3",
                "headrace_range_max_rows": "5000",
                # A micro-batch takes seconds: a first copy is a few of them.
                "headrace_snapshot_chunk_bytes": "300kB",
                **more,
            },
            **self.lake.properties(),
            # A bank of Db2 or Oracle begins with its log, of empty tables.
            **{"headrace.sink.incomplete": "true"},
        )

    def words(self) -> list[str]:
        return ["run", str(self.folder / "connector.properties"), "--checkpoint", str(self.state)]

    def lines(self) -> int:
        """Finished micro-batches: each has something."""
        return newest_of(self.checkpoint / "commits") + 1

    def copies(self) -> bool:
        """Whether the first copy goes on."""
        return self.planned() < 0 or "snapshot" in self.offset()

    def shown(self, table: str) -> list[dict[str, object]]:
        """The rows of a replica as the bank has them."""
        rows = self.lake.rows(self.database.namespace, table)
        return [self.database.shown(row) for row in rows]

    def require_cuts(self) -> int:
        """Require that the balances have their sum in each consistent cut that has all accounts;
        gives the number of these cuts."""
        cut_list = read_cuts(self.state / self.lake.name)
        assert cut_list is not None
        accounts = TableName((self.database.namespace,), "accounts")
        versions = Counter(cut.versions.get(accounts, "") for cut in cut_list.cuts)
        count = 0
        for version, cuts in versions.items():
            if not version:
                continue
            rows = self.lake.rows(self.database.namespace, "accounts", int(version))
            if len(rows) == ACCOUNTS:
                balances = [self.database.shown(row)["balance"] for row in rows]
                assert sum(balances) == ACCOUNTS * START_BALANCE, f"version {version}"
                count += cuts
        return count

    def assert_equal(self, *tables: str) -> dict[str, int]:
        """Compare replicas with their source, row by row; gives how many rows there are."""
        counts = {}
        for table in tables or TABLES:
            expected_rows = Counter(map(_text, self.database.expected(table)))
            replica_rows = Counter(map(_text, self.shown(table)))
            lost, more = (
                sorted(difference.elements())
                for difference in (expected_rows - replica_rows, replica_rows - expected_rows)
            )
            summary = f"{table}, {expected_rows.total()} rows: "
            assert not lost, f"{summary}{len(lost)} are lost: {lost[:3]}; {len(more)}: {more[:3]}"
            assert not more, f"{summary}{len(more)} more are there: {more[:3]}"
            counts[table] = expected_rows.total()
        return counts


def _text(row: dict[str, object]) -> str:
    plain_values = {name: _plain(value) for name, value in row.items()}
    return repr(sorted(plain_values.items()))


def _plain(value: object) -> object:
    """A value in which the same ones look alike, and large ones are short."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:20]}… {sha256(value.encode()).hexdigest()[:12]}"
    return value
