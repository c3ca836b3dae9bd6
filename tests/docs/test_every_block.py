"""Each block of README and guides is run by a test, or it is said why not."""

from __future__ import annotations

import pytest

from tests.docs.pages import ROOT, Block, blocks, pages

TYPED = ("sh", "sql", "python", "properties", "js")
"""Languages of blocks that a reader types or saves."""

RUN_BY = {
    "README.md": {"import headrace\n\nevents": "docs/test_pages_in_spark.py"},
    "docs/guides/command-line.md": {
        "| head -2": "docs/test_first_steps.py",
        "transforms=unwrap,route": "cli/test_transform.py",
        "headrace transform mine.properties": "cli/test_transform.py",
    },
    "docs/guides/converters.md": {
        "key.converter=avro": "docs/test_pages.py",
        "value.converter=cloudevents": "docs/test_pages.py",
    },
    "docs/guides/dataframes.md": dict.fromkeys(
        ("import json", "stream = (", "converted =", "documents =", "broken ="),
        "spark/frames/test_frames.py",
    ),
    "docs/guides/db2.md": dict.fromkeys(
        ("headrace db2 add-table", "import headrace", "connector.class", "GRANT SELECT",
         "CREATE TABLE INVENTORY.SIGNALS"),
        "connectors/db2/test_guide.py",
    ),
    "docs/guides/deployment.md": {
        "aws-rds-iam": "config/tokens/test_rds.py",
        "import headrace": "docs/test_pages_in_spark.py",
        "spark-submit": "docs/test_pages_in_spark.py",
    },
    "docs/guides/first-steps.md": dict.fromkeys(
        ("ALTER SYSTEM", "CREATE ROLE", "connector.class", "headrace check", "headrace run",
         "UPDATE", "headrace events", "headrace slots application", "headrace slots drop"),
        "docs/test_first_steps.py",
    ) | {"writeStream": "docs/test_pages_in_spark.py"},
    "docs/guides/outbox.md": {"": "docs/test_pages_in_spark.py"},
    "docs/guides/from-debezium.md": {
        **dict.fromkeys(
            ("headrace check", "confirmed_flush_lsn", "headrace events", "python3 -c",
             "capture.start.op.time="),
            "docs/test_from_debezium.py",
        ),
        "snapshot.mode=no_data\n": "docs/test_from_debezium.py",
    },
    "docs/guides/kafka.md": dict.fromkeys(
        ("debezium.sink.type=kafka", "topic.creation.groups", "headrace_kafka"),
        "docs/test_pages_in_spark.py",
    ),
    "docs/guides/mongodb.md": {
        **dict.fromkeys(
        ("import headrace", "mkdir -p data", "fiftyone", "rs.initiate", "replSetInitiate",
         "createUser", "connector.class", "collMod", "replSetResizeOplog", '{create: "signals"}',
         "grantRolesToUser"),
        "connectors/mongodb/test_guide.py",
        ),
    },
    "docs/guides/oracle.md": dict.fromkeys(
        ("import headrace", "connector.class", "ALTER DATABASE ADD SUPPLEMENTAL", "CREATE USER",
         "CREATE TABLE INVENTORY.SIGNALS"),
        "connectors/oracle/test_guide.py",
    ),
    "docs/guides/platforms.md": {
        "venv_pack": "platforms/test_standalone.py",
        "SparkConnectServer": "platforms/test_connect.py",
        "pipelines as dp": "platforms/test_pipelines.py",
    },
    "docs/guides/postgresql.md": {
        "MilliSecondsBehindSource": "docs/test_pages_in_spark.py",
        "post.processors": "docs/test_pages.py",
        "CREATE TABLE inventory.signals": "docs/test_pages_in_spark.py",
    },
    "docs/guides/python-api.md": {"": "docs/test_pages_in_spark.py"},
    "docs/guides/first-table.md": dict.fromkeys(
        ("CREATE SCHEMA", "CREATE ROLE", "connector.class=", "headrace check", "DELETE FROM",
         "load_catalog", "iceberg_scan", "spark.sql.catalog", "QueryBuilder"),
        "docs/test_replicas.py",
    ),
    "docs/guides/replicas.md": {
        "headrace.replicate": "docs/test_replicas.py",
        "headrace.read_consistent": "sinks/replicas/cuts/test_banks.py",
        "warehouse=s3": "sinks/lake/iceberg/test_iceberg_s3.py",
        "promoted.keys.": "sinks/replicas/changes/test_declared_documents.py",
        "catalog.name=spark_catalog": "sinks/lake/delta/test_session_catalog.py",
    },
    "docs/guides/sinks.md": {"": "docs/test_pages_in_spark.py"},
    "docs/guides/unwrapping-documents.md": {
        "PROPERTIES = {": "docs/test_pages_in_spark.py",
        "": "docs/test_pages.py",
    },
    "docs/guides/tables.md": {"": "spark/tables/test_guide.py"},
    "docs/guides/history.md": {"": "docs/test_history.py"},
    "docs/guides/verify.md": {"headrace verify": "cli/sinks/test_verify.py"},
}  # fmt: skip
"""Words of each page's blocks, and the test that runs those blocks unchanged. The empty text means
all blocks of the page that no other entry names."""

NOT_RUN = {
    "make ": "it installs everything, and runs the demo and all tests",
    "pip install": "it asks an index; tests/test_without_extras.py installs the built wheel",
    "python3 -m venv": "the same",
    "headrace demo": "it runs until Ctrl-C; tests/cli/test_demo.py runs it",
    "docker ": "there is no Docker where tests run; tests/release/test_image.py builds the image",
    "kubectl ": "there is no cluster; tests/release/test_kubernetes.py checks the manifests",
    "kafka-console-consumer.sh": "a program of Kafka's, which tests have no copy of",
    "headrace run application.properties --checkpoint run/": "as kafka.md's, with a sink",
    "headrace run application.properties --checkpoint state/": "as kafka.md's, with a sink",
    "headrace run application.properties --checkpoint state/ --metrics-port": (
        "tests/cli/monitoring/test_metrics_of_runs.py runs it on a free port"
    ),
    "curl ": "the same",
    "headrace status": "the same",
    "headrace support-bundle": "tests/connectors/*/support/test_bundle.py run it",
    "python first_stream.py": "docs/test_pages_in_spark.py runs the program in its session",
    "headrace compile": "it takes a minute and more; tests/cli/test_compile.py runs it",
}
"""Commands that no test runs, by their first words, and why."""


def typed() -> list[Block]:
    return [block for page in pages() for block in blocks(page) if block.language in TYPED]


def runner(block: Block) -> str | None:
    """The test that runs the block."""
    tests = RUN_BY.get(block.page, {})
    named = [test for words, test in tests.items() if words and words in block.text]
    return named[0] if named else tests.get("")


def run_commands() -> set[str]:
    """Lines of commands that tests run."""
    return {
        line
        for block in typed()
        if block.language == "sh" and runner(block) is not None
        for line in block.commands
    }


@pytest.mark.parametrize("block", typed(), ids=str)
def test_a_block_is_run_or_it_is_said_why_not(block: Block) -> None:
    test = runner(block)
    if test is not None:
        text = (ROOT / "tests" / test).read_text()
        assert block.page.rpartition("/")[2] in text or "README" in text
        return
    assert block.language == "sh", f"{block} is run by no test"
    for line in block.commands:
        known = line in run_commands() or any(line.startswith(words) for words in NOT_RUN)
        assert known, f"{block}: {line} is run by no test"


def test_what_is_said_of_blocks_is_true_of_one() -> None:
    for page, tests in RUN_BY.items():
        for words in tests:
            assert any(words in block.text for block in blocks(page)), (page, words)
    lines = [line for block in typed() if block.language == "sh" for line in block.commands]
    for words in NOT_RUN:
        assert any(line.startswith(words) for line in lines), words
