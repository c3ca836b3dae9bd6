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
LATER: dict[str, str] = {}
# Differences on purpose: expressions for workloads, and for differences of theirs as a whole.
ON_PURPOSE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r".*", (r"items\.optional: expected false, came true",)),  # null in any array
    (
        r"types.*",
        (
            # Dates of the snapshot and of arrays are as those of the stream.
            r"after\.d: expected -(703383|625821272), came",
            r'after\.d: expected "(0044-03-15Z|\+292269055-12-02Z)", came "-(0043|5877611)',
            r"after\.ad\.0: expected -(622191234|625821272), came",
            r'after\.ad\.0: expected "\+(292278994|292269055).*, came "-5877611',
            r"after\.ai(\.\d)?: (not )?expected",  # nested arrays
            r"after\.am(\.0)?: (not )?expected",  # null in an array of enums
            r"after\.nm: expected null, came",  # type name
        ),
    ),
    (
        r"type_times_extreme_.*",
        (
            r"line [1-9] .*after\.d: expected",  # the Java driver's calendar: snapshots, arrays
            r"after\.a(d|ts|tz)\.0: expected",
            r"after\.ats: not expected, came null",
            r"after\.s3: expected 9223372036854775807, came null",
            r"after\.at\.0: expected",  # 24:00, and fractions of milliseconds, in arrays
            r"after\.att\.0: expected",
            r"after\.ts: expected -9223372036853775810, came null",  # beyond 64 bits
        ),
    ),
    (r"type_times_.*", (r'after\.(tt|c\d): expected "00:00:00Z", came "24:00:00Z"',)),
    (
        r"type_times_nanoseconds",
        (r"after\.ats3?(\.\d)?: (not )?expected,? (null, )?came (None|null)",),  # beyond 64 bits
    ),
    (r"type_decimals_special_.*", (r"after\.anu?(\.\d)?: (not )?expected",)),  # NaN in arrays
    (
        r"type_defaults.*",
        (
            r'default: expected ("a"|"CURRENT_USER"), came None',  # expressions are no defaults
            r'after\.(tc|cu): expected ("a"|"CURRENT_USER"), came null',
            # Infinite defaults are what infinite values are.
            r"default: expected 169560311, came -2147472692",
            r'default: expected "\+999999999-12-31Z", came "-5877611-06-21Z"',
            r"default: expected -9223372036854775808, came -92233720368324000?0?0?",
            r'default: expected "-999999999-01-01T00:00:00Z", came "-290308-12-21T19:59:27.6Z"',
            r"after\.(di|tsi): expected",
            r'fields\.\d+\.default: not expected, came "infinity"',
            r'after\.tzi: expected null, came "infinity"',
            r"fields\.77\.default: not expected, came -9223372036",
        ),
    ),
    # Debezium shows the Java driver's text of a polygon.
    (r"type_toast.*", (r"(after|before)\.pg: expected",)),
    # Debezium prints a Java object for messages.
    (r"transactions_messages", (r'data_collection: .*, came "LOGICAL_DECODING_MESSAGE"$',)),
    # A numeric without precision: the snapshot's, in the stream too.
    (
        r"(column|datatype)_propagate_schemas",
        (r"fields\.7\.parameters\.__debezium\.source\.column\.(length|scale): expected",),
    ),
    (r"column_truncate_schemas", (r"fields\.7\.parameters\.truncateLength: expected",)),
    # SERIAL, "OTHER"."MOOD" in the snapshot: names of the stream on both paths.
    (
        r"column_propagate_more_schemas",
        (r"line 1 .*parameters\.__debezium\.source\.column\.type:",),
    ),
    # A hash is not lost because the type is propagated too.
    (r"column_rule_order", (r"after\.d: expected \"(text|y+)\", came \"[0-9a-f]{32}\"",)),
    # A key column that is not in column.include.list has its value in the snapshot's key.
    (r"column_include_key", (r"line 1 .*key\.id: expected 0, came 1",)),
    # Debezium for PostgreSQL ignores include.schema.comments.
    (r"schema_comments", (r"\.(doc|__debezium\.source\.column\.comment): not expected",)),
    (r"type_texts", (r"after\.nm: expected null, came",)),
    (r"defaults_schemas", (r"fields\.34\.default: expected 1, came None",)),  # generated column
)


def _on_purpose(workload: str, difference: str) -> bool:
    return any(
        re.search(known, difference)
        for names, differences in ON_PURPOSE
        if re.fullmatch(names, workload)
        for known in differences
    )


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
        if not _on_purpose(name, difference)
    ]
    assert not differences, "\n".join(differences[:10])
