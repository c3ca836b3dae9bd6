"""The fuzz in a short form, and proof that it finds what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

INPUTS = {
    "frames": 3000,
    "copy_rows": 5000,
    "cell_texts": 10_000,
    "bson_values": 10_000,
    "field_rules": 10_000,
    "change_events": 10_000,
    "extended_json_texts": 10_000,
}


def fuzz(name: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz", name],
        env=os.environ | {"SEED": "1"} | settings,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", INPUTS)
def test_mutated_input_is_decoded_as_by_plain_python_inside_its_memory(name: str) -> None:
    run = fuzz(name, INPUTS=str(INPUTS[name]))
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{INPUTS[name]:,} inputs" in run.stdout


def test_hostile_records_become_records_or_dead_letters_within_their_bounds() -> None:
    run = fuzz("records", INPUTS="500")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "500 inputs" in run.stdout


@pytest.mark.parametrize(
    ("planted", "seen"), [("wrong", "differs"), ("slow", "takes too long"), ("large", "differs")]
)
def test_the_fuzz_names_the_record_that_is_wrong_or_takes_too_much(planted: str, seen: str) -> None:
    run = fuzz("records", ONLY="7", PLANTED=planted)
    assert run.returncode == 1, run.stdout + run.stderr
    assert f"input 7 {seen}; repeat it with SEED=1 ONLY=7 records" in run.stdout
    assert planted != "large" or "MemoryError" in run.stderr


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize(("planted", "seen"), [("wrong", "differs"), ("overrun", "crashed (-11)")])
def test_the_fuzz_names_the_input_that_a_planted_defect_shows(
    name: str, planted: str, seen: str
) -> None:
    run = fuzz(name, INPUTS="3000", PLANTED=planted)
    assert run.returncode == 1, run.stdout + run.stderr
    assert f"{seen}; repeat it with SEED=1 ONLY=" in run.stdout
    number = run.stdout.partition("ONLY=")[2].split()[0]
    again = fuzz(name, ONLY=number, PLANTED=planted)
    assert f"input {number} {seen}" in again.stdout
