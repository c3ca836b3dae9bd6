"""The fuzz in a short form, and proof that it finds what is wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from random import Random

import pytest

from tests.fuzz import copy_rows, frames
from tests.fuzz.bson_values import is_sound
from tests.fuzz.recorded import change_events, copies, documents
from tests.golden.mongodb.wire import decode

NAMES = (
    *("frames", "copy_rows", "cell_texts", "bson_values", "field_rules", "change_events"),
    "extended_json_texts",
)
"""All kinds but records, which take longer."""
INPUTS = 3000


def fuzz(*names: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *names],
        env=os.environ | {"SEED": "1"} | settings,
        capture_output=True,
        text=True,
        check=False,
    )


def test_mutated_input_is_decoded_as_by_plain_python_inside_its_memory() -> None:
    run = fuzz(*NAMES, INPUTS=str(INPUTS))
    assert run.returncode == 0, run.stdout + run.stderr
    for name in NAMES:
        assert f"{name}: {INPUTS:,} inputs" in run.stdout


def test_hostile_records_become_records_or_dead_letters_within_their_bounds() -> None:
    run = fuzz("records", INPUTS="500")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "500 inputs" in run.stdout


def test_what_servers_said_in_golden_workloads_is_among_the_inputs() -> None:
    rows = [len(frames.Reference(0).run(frames.recorded(Random(n)), 60).rows) for n in range(50)]
    assert sum(count > 0 for count in rows) > 25
    assert all(copy_rows.row_of(rows[5:], n) for n, rows in copies() if rows.count(b"\n") == 1)
    operations = {decode(event)["operationType"] for event in change_events()}
    assert operations == {"insert", "update", "replace", "delete"}
    assert all(is_sound(b"\x03" + document) for document in documents())


@pytest.mark.parametrize(
    ("planted", "seen"), [("wrong", "differs"), ("slow", "takes too long"), ("large", "differs")]
)
def test_the_fuzz_names_the_record_that_is_wrong_or_takes_too_much(planted: str, seen: str) -> None:
    run = fuzz("records", ONLY="7", PLANTED=planted)
    assert run.returncode == 1, run.stdout + run.stderr
    assert f"input 7 {seen}; repeat it with SEED=1 ONLY=7 records" in run.stdout
    assert planted != "large" or "MemoryError" in run.stderr


@pytest.mark.parametrize(
    ("planted", "seen"),
    [pytest.param("wrong", "differs", marks=pytest.mark.chaos), ("overrun", "crashed (-11)")],
)
def test_the_fuzz_names_the_inputs_that_a_planted_defect_shows(planted: str, seen: str) -> None:
    run = fuzz(*NAMES, INPUTS="3000", PLANTED=planted)
    assert run.returncode == 1, run.stdout + run.stderr
    line_pattern = rf"(\w+): input (\d+) {re.escape(seen)}; repeat it with SEED=1 ONLY=\2 \1"
    number_by_name = dict(re.findall(line_pattern, run.stdout))
    assert number_by_name.keys() == set(NAMES), run.stdout + run.stderr
    names = defaultdict(list)
    for name, number in number_by_name.items():
        names[number].append(name)
    for number, same in names.items():
        again = fuzz(*same, ONLY=number, PLANTED=planted)
        assert dict(re.findall(line_pattern, again.stdout)) == dict.fromkeys(same, number)


def test_an_unknown_kind_is_named_with_the_kinds_that_exist() -> None:
    run = fuzz("60", "1", "records")
    assert run.returncode == 1
    assert run.stderr.startswith("No such kind: 60, 1. The kinds are frames, copy_rows, ")
