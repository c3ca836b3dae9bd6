"""Runs a workload through our connector, and compares what comes with Debezium's recording."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from headrace.errors import HeadraceError
from tests.golden.database import PREFIX, Database, Reader
from tests.golden.normalise import compare
from tests.golden.on_purpose import brief, on_purpose
from tests.golden.workload import Workload


def differences(name: str, database: Database) -> list[str]:
    """What our events have in another way than the recording has, or not in the way in which they
    differ on purpose; each line says which."""
    recorded = database.recorded(name)
    came = run(database.workload(name), database)
    really = Counter(
        brief(difference) for difference in compare(recorded, came, database.normalise)
    )
    expected = Counter(on_purpose(database.folder, name))
    gone = [f"no longer different: {line}" for line in (expected - really).elements()]
    return [*(really - expected).elements(), *gone]


def run(workload: Workload, database: Database) -> list[str]:
    """Lines `{"topic":…,"key":…,"value":…,"headers":{…}}` in total order."""
    phases = workload.phases
    database.renew()
    try:
        database.execute_all(phases["setup"])
        reader = database.reader(
            {
                "topic.prefix": PREFIX,
                "headrace.compatibility": "debezium-3.6",
                **database.properties_of(workload),
            }
        )
        try:
            with _failing(workload):
                _run(workload, database, reader)
        finally:
            reader.stop()
        return [*map(_line, reader.in_order()), *database.left(workload)]
    finally:
        database.clean()


def _failing(workload: Workload) -> AbstractContextManager[object]:
    """Around a run that ends with an error where the workload has the option `fails`: its code."""
    code = workload.options.get("fails")
    if code is None:
        return nullcontext()
    return pytest.raises(HeadraceError, check=lambda error: error.code == code)


def _run(workload: Workload, database: Database, reader: Reader) -> None:
    phases = workload.phases
    reader.drain()
    for block in phases["stream"]:
        database.execute(block)
        if workload.pace:
            reader.drain()
    reader.drain()
    if phases["down"]:
        reader.restart()
        database.stopped()
        database.execute_all(phases["down"])
        reader.drain()
        database.execute_all(phases["again"])
        reader.drain()


def _line(record: Mapping[str, Any]) -> str:
    headers = ",".join(
        f"{json.dumps(header['key'])}:{header['value'].decode()}" for header in record["headers"]
    )
    return (
        f'{{"topic":{json.dumps(record["topic"])},"key":{record["key"] or "null"},'
        f'"value":{record["value"] or "null"},"headers":{{{headers}}}}}'
    )
