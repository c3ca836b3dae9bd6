"""kill -9 of every process, in snapshot and stream: `make chaos`, and a short run of it."""

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


def every(*chaos: str) -> pytest.MarkDecorator:
    """Every database in every form; the forms that are named are left to `make chaos`."""
    return pytest.mark.parametrize(
        ("database", "form"),
        [
            pytest.param(
                database,
                form,
                marks=[mark, pytest.mark.chaos] if form in chaos else [mark],
            )
            for database, mark in MARKS.items()
            for form in FORMS
        ],
        indirect=True,
    )


@pytest.fixture
def form(request: pytest.FixtureRequest) -> Form:
    return FORMS[request.param]


@pytest.fixture
def run(database: ChaosDatabase, tmp_path: Path, form: Form) -> Iterator[Run]:
    found = Run(database, tmp_path, **form.properties(database))
    yield found
    found.close()


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
    finally:
        transfers.stop()
    run.catch_up()
    run.end()
    assert run.begun is not None
    first, consistent = database.place(run.begun), database.consistent(run.offset())
    seen = check(database, run.output, first, consistent, form)
    print(seen, f"{len(run.sessions)} starts in {time.monotonic() - killer.begun:.0f} s")


@every("rows")
@pytest.mark.spark
def test_five_kills_lose_nothing_and_double_nothing(run: Run, form: Form) -> None:
    kills = [("position", "source"), ("batch", "worker"), ("batch", "server"),
             ("streaming", "driver"), ("streaming", "everything")]  # fmt: skip
    run.leave_torn_write()
    survive(run, form, kills, seed=5)


@every()
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
