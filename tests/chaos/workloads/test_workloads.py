"""Short workloads of fixed seeds, and the draws that they are made of. `make chaos` has longer
ones, `python -m tests.chaos.workloads` as many as there is time for."""

from __future__ import annotations

from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest

from headrace_demo.db2 import peculiarities as db2
from headrace_demo.db2.derby import DerbyServer
from headrace_demo.oracle.server import OracleServer
from headrace_demo.oracle.views import peculiarities as oracle
from tests.chaos.workloads.__main__ import opened
from tests.chaos.workloads.database import Change, Place, RandomDatabase
from tests.chaos.workloads.db2 import RandomDb2
from tests.chaos.workloads.oracle import RandomOracle
from tests.chaos.workloads.verdict import check_merged, check_order
from tests.chaos.workloads.workload import Figures, Workload

SHORT, LONG = 60, 600


def seeds(*short: int) -> pytest.MarkDecorator:
    """Short runs of these, and longer ones for `make chaos`."""
    long = [pytest.param(seed, LONG, marks=pytest.mark.chaos) for seed in range(101, 107)]
    return pytest.mark.parametrize(("seed", "steps"), [*((seed, SHORT) for seed in short), *long])


def survive(database: RandomDatabase, seed: int, folder: Path, steps: int) -> Figures:
    """A workload, in which the reader is killed."""
    with closing(database):
        figures = Workload(database, seed, folder, steps).run()
    print(f"SEED={seed} {figures}; {database}")
    assert figures.lives > 1
    return figures


@seeds(3)
@pytest.mark.oracle
def test_nothing_is_lost_doubled_or_stuck_on_a_peculiar_oracle(
    oracle_stand_in: OracleServer, tmp_path: Path, seed: int, steps: int
) -> None:
    """The seed has tables altered while the first snapshot is taken."""
    figures = survive(RandomOracle(oracle_stand_in, seed), seed, tmp_path, steps)
    if steps == SHORT:
        assert figures.in_snapshots > 1
        assert min(figures.happened[kind] for kind in ("ddl at first", "signal")) > 0


@pytest.mark.parametrize(("seed", "steps"), [(522, SHORT)])
@pytest.mark.db2
def test_nothing_is_lost_doubled_or_stuck_on_a_peculiar_db2(
    derby_server: DerbyServer, tmp_path: Path, seed: int, steps: int
) -> None:
    """The seed has Capture lag, in the zone of this server, and a user who may read everything; a
    column is added, and snapshots are asked for by signals."""
    figures = survive(RandomDb2(derby_server, seed), seed, tmp_path, steps)
    assert figures.in_snapshots > 1
    assert min(figures.happened[kind] for kind in ("column", "signal")) > 0


@pytest.mark.parametrize("seed", range(101, 107))
@pytest.mark.db2
@pytest.mark.chaos
def test_nothing_is_lost_doubled_or_stuck_on_other_peculiar_db2s(tmp_path: Path, seed: int) -> None:
    with opened("db2") as opening:
        survive(opening(seed), seed, tmp_path, LONG)


PECULIARITIES = pytest.mark.parametrize("kind", [oracle.Peculiarities, db2.Peculiarities])
Kind = type[oracle.Peculiarities] | type[db2.Peculiarities]


@PECULIARITIES
def test_every_peculiarity_is_drawn_and_left_out_by_some_seed(kind: Kind) -> None:
    none = kind()
    for field in fields(kind):
        if field.name != "seed":
            drawn = {getattr(kind.drawn(seed), field.name) for seed in range(40)}
            assert getattr(none, field.name) in drawn, field.name
            assert len(drawn) > 1, field.name


@PECULIARITIES
def test_a_seed_draws_the_same_peculiarities_again_and_says_those_that_are_there(
    kind: Kind,
) -> None:
    assert kind.drawn(3) == kind.drawn(3)
    assert str(kind(seed=1)) == "no peculiarities"
    assert str(kind.drawn(308)) != "no peculiarities"


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
