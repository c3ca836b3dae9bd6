"""Our events against recordings of the real Debezium: byte for byte but for clocks, LSNs and xids.

What differs on purpose stands, difference by difference, in `differences/`, and with its reason in
docs/guides/differences.md.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer
from tests.golden.normalise import compare
from tests.golden.on_purpose import FOLDER, brief, on_purpose
from tests.golden.ours import run

HERE = Path(__file__).parent
WORKLOADS = sorted(path.stem for path in (HERE / "workloads").glob("*.sql"))


def test_every_difference_on_purpose_is_of_a_workload() -> None:
    names = {file.stem for file in FOLDER.glob("*.txt")}
    assert names <= set(WORKLOADS)


@pytest.mark.postgres
@pytest.mark.parametrize("name", WORKLOADS)
def test_events_equal_the_recording_of_debezium(name: str, postgres: PostgresServer) -> None:
    recorded = (HERE / "recordings" / f"{name}.jsonl").read_text().rstrip("\n").split("\n")
    came = run(HERE / "workloads" / f"{name}.sql", postgres)
    differences = Counter(brief(difference) for difference in compare(recorded, came))
    expected = Counter(on_purpose(name))
    unexpected = list((differences - expected).elements())
    gone = list((expected - differences).elements())
    assert not unexpected, "\n".join(unexpected[:10])
    assert not gone, "no longer different:\n" + "\n".join(gone[:10])
