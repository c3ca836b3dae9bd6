"""Cuts of two tables are consistent, whatever the ranges of the log and wherever the process is
killed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.sinks.replicas.cuts.cut_log import read_cuts
from headrace.sinks.replicas.options import Transactions
from tests.sinks.replicas.cuts.bank import ACCOUNTS, START, TABLES, Bank, Transfer

_ACCOUNTS = st.tuples(st.sampled_from(TABLES), st.integers(0, ACCOUNTS - 1))
_TRANSFERS = st.builds(Transfer, _ACCOUNTS, _ACCOUNTS, st.integers(1, 50))
_TRANSACTIONS = st.lists(st.lists(_TRANSFERS, min_size=1, max_size=4), min_size=1, max_size=6)


@settings(max_examples=40)
@given(
    transactions=_TRANSACTIONS,
    steps=st.lists(st.integers(1, 7), min_size=30, max_size=30),
    kills=st.lists(st.none() | st.integers(0, 25), min_size=30, max_size=30),
    kept_bytes=st.sampled_from([1 << 30, 1 << 30, 4000, 1]),
    transactions_mode=st.sampled_from([*Transactions, Transactions.WHOLE]),
)
def test_every_cut_has_the_transactions_up_to_its_place_and_no_others(
    transactions: list[list[Transfer]],
    steps: list[int],
    kills: list[int | None],
    kept_bytes: int,
    transactions_mode: Transactions,
) -> None:
    with TemporaryDirectory() as folder:
        bank = Bank(
            Path(folder), transactions, kept_bytes=kept_bytes, transactions=transactions_mode
        )
        bank.end(bank.ends[0], kill_after=kills[0])
        up_to = bank.ends[0]
        for step, kill in zip(steps[1:], kills[1:], strict=True):
            if up_to == bank.changes:
                break
            up_to = min(bank.changes, up_to + step)
            bank.end(up_to, kill_after=kill)
        bank.end(bank.changes)

        known = read_cuts(bank.state)
        assert known is not None
        assert {name: table.versions[table.version()] for name, table in bank.tables.items()} == (
            bank.balances[-1]
        )
        for cut in known.cuts:
            balances = {
                str(name): bank.tables[str(name)].versions[version]
                for name, version in cut.versions.items()
            }
            assert balances == bank.balances[cut.place - 1]
            assert sum(sum(rows.values()) for rows in balances.values()) == 2 * ACCOUNTS * START
            assert not cut.missing
        boundaries = {sum(end <= up_to for end in bank.ends) for up_to in bank._batches
                      if up_to in bank.ends}  # fmt: skip
        assert {cut.place for cut in known.cuts} == boundaries
        assert [cut.place for cut in known.cuts] == sorted(cut.place for cut in known.cuts)
        if kept_bytes == 1 << 30 and transactions_mode is Transactions.WHOLE:
            for name, table in bank.tables.items():
                whole = [balances[name] for balances in bank.balances]
                assert all(rows in whole for rows in list(table.versions.values())[1:])
        assert not list(bank.state.glob("waiting/*"))
