"""The workloads happen on the stand-in, each has a recording, and values that vary from run to run
are distinguished from differences."""

from __future__ import annotations

import json

import pytest

from headrace_demo.oracle.database import Database as StandIn
from headrace_demo.oracle.ddl import execute_ddl
from headrace_demo.oracle.transactions import Transactions
from tests.golden.normalise import compare
from tests.golden.oracle.database import ScriptedDatabase
from tests.golden.oracle.happenings import Happenings
from tests.golden.workload import PHASES

WORKLOADS = ScriptedDatabase.names()
EVENT = (
    '{{"topic":"t","key":{{"ID":1}},"value":{{"source":{{"ts_ms":{source},"scn":"{scn}"}},'
    '"ts_ms":{ms}}},"headers":{{}}}}'
)


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_happens_and_has_a_recording(name: str) -> None:
    first, *setup = ScriptedDatabase.workload(name).phases["setup"]
    stand_in = StandIn(json.loads(first)[0]["script"])
    transactions = Transactions(stand_in)

    def call(method: str, *arguments: object, **named: object) -> object:
        if method == "execute_ddl":
            execute_ddl(stand_in, transactions, *arguments)  # type: ignore[arg-type]
            return None
        target = transactions if hasattr(transactions, method) else stand_in
        return getattr(target, method)(*arguments, **named)

    happenings = Happenings(call)
    before = stand_in.state.scn
    for block in setup:
        happenings.happen(block)
    for phase in PHASES[1:]:
        for block in ScriptedDatabase.workload(name).phases[phase]:
            happenings.happen(block)
    assert stand_in.state.scn > before
    stand_in.close()
    lines = ScriptedDatabase.recording(name).read_text().splitlines()
    assert all(json.loads(line)["topic"] for line in lines)
    assert lines or "fails" in ScriptedDatabase.workload(name).options


def test_every_recording_and_every_difference_is_of_a_workload() -> None:
    folder = ScriptedDatabase.folder
    named_workloads = {
        file.stem
        for part in ("recordings", "differences")
        if (folder / part).exists()
        for file in (folder / part).iterdir()
    }
    assert named_workloads <= set(WORKLOADS)


def test_another_run_at_another_time_is_equal() -> None:
    recorded = [EVENT.format(source=1704067250000, scn=1000050, ms=1800000000000)]
    other = [EVENT.format(source=1704067250000, scn=1000050, ms=1800000000007)]
    assert compare(recorded, other, ScriptedDatabase.normalise) == []


@pytest.mark.parametrize(
    "other",
    [
        EVENT.format(source=1704067251000, scn=1000050, ms=1800000000000),
        EVENT.format(source=1704067250000, scn=1000051, ms=1800000000000),
    ],
)
def test_what_is_not_the_same_is_a_difference(other: str) -> None:
    recorded = [EVENT.format(source=1704067250000, scn=1000050, ms=1800000000000)]
    assert compare(recorded, [other], ScriptedDatabase.normalise) != []
