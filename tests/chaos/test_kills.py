"""kill -9 of every process, in snapshot and stream: `make chaos`, and short runs of it."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.databases.database import MARKS, ChaosDatabase
from tests.chaos.forms import FORMS, Form
from tests.chaos.killer import EARLY, KINDS, Kill, Killer
from tests.chaos.run import Run, wait_for
from tests.chaos.transfers import Transfers, check

FIVE = (
    ("position", "source"),
    ("batch", "worker"),
    ("batch", "server"),
    ("streaming", "driver"),
    ("streaming", "everything"),
)
SOME = {"postgresql": (0, 4), "mongodb": (2,), "db2": (3,), "oracle": (1,)}
"""Those of the five kills that `make test` has for each database: of the first database one that
the command recovers from by itself, and one after which it is started again; of the others one of
them."""


def some_or_five() -> pytest.MarkDecorator:
    """Some kills of every database, together every kind of them; all of them, in every form, are
    left to `make chaos`."""
    assert {number for numbers in SOME.values() for number in numbers} == {*range(len(FIVE))}
    parameter_sets = [
        pytest.param(database, "envelopes", [FIVE[number] for number in SOME[database]],
                     marks=mark, id=f"{database}-some")
        for database, mark in MARKS.items()
    ]  # fmt: skip
    five = [
        pytest.param(database, form, list(FIVE), marks=[mark, pytest.mark.chaos],
                     id=f"{database}-{form}")
        for database, mark in MARKS.items()
        for form in FORMS
    ]  # fmt: skip
    return pytest.mark.parametrize(
        ("database", "form", "kills"), [*parameter_sets, *five], indirect=["database", "form"]
    )


@pytest.fixture
def form(request: pytest.FixtureRequest) -> Form:
    return FORMS[request.param]


@pytest.fixture
def run(database: ChaosDatabase, tmp_path: Path, form: Form) -> Iterator[Run]:
    new_run = Run(database, tmp_path, **form.properties(database))
    yield new_run
    new_run.close()


def survive(run: Run, form: Form, kills: list[Kill], seed: int) -> None:
    """One kill after the other under transfers, then compare everything."""
    database = run.database
    transfers = Transfers(database, seed)
    killer = Killer(run, random.Random(seed))
    transfers.start()
    try:
        for number, (moment, kind) in enumerate(kills, 1):
            killer.strike(number, moment, kind)
        wait_for(run.tail, killer.streams(), pause=0.2)
        wait_for(run.tail, killer.goes_on(), pause=0.2)
        wait_for(run.tail, transfers.has_made(100), pause=0.2)
    finally:
        transfers.stop()
    run.catch_up()
    run.end()
    assert run.begun is not None
    first, consistent = database.place(run.begun), database.consistent(run.offset())
    counts = check(database, run.output, first, consistent, form)
    print(counts, f"{len(run.sessions)} starts in {time.monotonic() - killer.begun:.0f} s")


@some_or_five()
@pytest.mark.spark
def test_kills_lose_nothing_and_double_nothing(run: Run, form: Form, kills: list[Kill]) -> None:
    run.leave_torn_write()
    survive(run, form, kills, seed=5)


@pytest.mark.parametrize("form", FORMS, indirect=True)
@pytest.mark.parametrize(
    "database", [pytest.param(name, marks=mark) for name, mark in MARKS.items()], indirect=True
)
@pytest.mark.spark
@pytest.mark.chaos
def test_twenty_kills_lose_nothing_and_double_nothing(run: Run, form: Form) -> None:
    seed = int(os.environ.get("SEED") or time.time())
    print(f"SEED={seed}")
    chance = random.Random(seed)
    kinds = [*KINDS, *KINDS, *chance.choices(KINDS, k=20 - 2 * len(KINDS))]
    chance.shuffle(kinds)
    moments = [*EARLY, *["progress"] * (15 - len(EARLY)), *["streaming"] * 5]
    survive(run, form, list(zip(moments, kinds, strict=True)), seed)
