"""Short workloads of fixed seeds, and the draws that they are made of. `make chaos` has longer ones,
`python -m tests.chaos.workloads` as many as there is time for."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from headrace_demo.oracle.peculiarities import Peculiarities
from headrace_demo.oracle.server import OracleServer
from tests.chaos.workloads.database import Change, Place
from tests.chaos.workloads.oracle import RandomOracle
from tests.chaos.workloads.verdict import check_merged, check_order
from tests.chaos.workloads.workload import Workload

SHORT, LONG = 60, 600


def seeds(*short: int) -> pytest.MarkDecorator:
    """Short runs of these, and longer ones for `make chaos`."""
    long = [pytest.param(seed, LONG, marks=pytest.mark.chaos) for seed in range(101, 107)]
    return pytest.mark.parametrize(("seed", "steps"), [*((seed, SHORT) for seed in short), *long])


@seeds(5)
@pytest.mark.oracle
def test_nothing_is_lost_doubled_or_stuck_on_a_peculiar_oracle(
    oracle_server: OracleServer, tmp_path: Path, seed: int, steps: int
) -> None:
    database = RandomOracle(oracle_server, seed)
    figures = Workload(database, seed, tmp_path, steps).run()
    print(f"SEED={seed}: {figures}; {database}")
    assert figures.lives > 1


def test_every_peculiarity_is_drawn_and_left_out_by_some_seed() -> None:
    none = Peculiarities()
    for field in fields(Peculiarities):
        if field.name != "seed":
            drawn = {getattr(Peculiarities.drawn(seed), field.name) for seed in range(40)}
            assert getattr(none, field.name) in drawn, field.name
            assert len(drawn) > 1, field.name


def test_a_seed_draws_the_same_peculiarities_again_and_says_those_that_are_there() -> None:
    assert Peculiarities.drawn(3) == Peculiarities.drawn(3)
    assert str(Peculiarities()) == "no peculiarities"
    assert str(Peculiarities(seed=1, lateness=4)) == "lateness=4"


FIRST, SECOND = Change("A", "c", 1, 1), Change("A", "u", 1, 2)


@pytest.mark.parametrize(
    ("seen", "words"),
    [([FIRST], "lost: 1 of 2"), ([FIRST, SECOND, SECOND], "doubled"), ([SECOND, FIRST], "order")],
)
def test_a_verdict_says_what_is_lost_doubled_or_out_of_order(
    seen: list[Change], words: str
) -> None:
    check_order([FIRST, SECOND], [FIRST, SECOND])
    with pytest.raises(AssertionError, match=words):
        check_order(seen, [FIRST, SECOND])


def test_changes_of_one_row_and_transaction_may_be_one_event_and_the_last_one_may_not_be_lost() -> (
    None
):
    committed = [(Place(7), [FIRST, SECOND])]
    check_merged([Change("A", "c", 1, 2)], committed, {"A"})
    with pytest.raises(AssertionError, match="lost"):
        check_merged([FIRST], committed, {"A"})
    with pytest.raises(AssertionError, match="doubled"):
        check_merged([SECOND, SECOND], committed, {"A"})
