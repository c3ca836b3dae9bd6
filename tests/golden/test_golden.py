"""Our events against recordings of the real Debezium: byte for byte but for clocks, LSNs and xids.

What differs on purpose is listed, with its reason, in docs/guides/differences.md.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.cli.embedded import PostgresServer
from headrace.errors import HeadraceError
from tests.golden.normalise import compare
from tests.golden.ours import run

HERE = Path(__file__).parent
WORKLOADS = sorted(path.stem for path in (HERE / "workloads").glob("*.sql"))

# What this version refuses by name; the recordings wait for it.
LATER = {
    "domains": "bit strings",
    "domains_schemas": "bit strings",
    "types_double": "time.precision.mode, binary.handling.mode",
    "types_isostring_schemas": "time.precision.mode",
    "types_string_connect": "time.precision.mode, binary.handling.mode",
}
# Differences on purpose: workload to expressions that each match a whole difference.
_VALUES = (
    r"after\.d: expected -(703383|625821272), came",  # dates of the snapshot, as of the stream
    r"after\.ad\.0: expected -(622191234|625821272), came",
    r"after\.ai(\.\d)?: (not )?expected",  # nested arrays
    r"after\.am(\.0)?: (not )?expected",  # null in an array of enums
    r"fields\.33\.items\.optional: expected false",
    r"after\.nm: expected null, came",  # type name
)
ON_PURPOSE: dict[str, tuple[str, ...]] = {
    "types": _VALUES,
    "types_schemas": _VALUES,
    # Debezium prints a Java object for messages.
    "transactions_messages": (r'data_collection: .*, came "LOGICAL_DECODING_MESSAGE"$',),
    "defaults_schemas": (r"fields\.34\.default: expected 1, came None",),  # generated column
}


@pytest.mark.postgres
@pytest.mark.parametrize("name", WORKLOADS)
def test_events_equal_the_recording_of_debezium(name: str, postgres: PostgresServer) -> None:
    workload = HERE / "workloads" / f"{name}.sql"
    if name in LATER:
        with pytest.raises(HeadraceError, match=r"not.supported"):
            run(workload, postgres)
        return
    recorded = (HERE / "recordings" / f"{name}.jsonl").read_text().rstrip("\n").split("\n")
    differences = [
        difference
        for difference in compare(recorded, run(workload, postgres))
        if not any(re.search(known, difference) for known in ON_PURPOSE.get(name, ()))
    ]
    assert not differences, "\n".join(differences[:10])
