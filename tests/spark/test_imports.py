"""Modules that the processes of a start load: each import costs every one of them."""

import subprocess
import sys

import pytest

HEAVY = ("numpy", "pyarrow", "numba", "psycopg", "rich", "confluent_kafka", "pandas")


@pytest.mark.parametrize(
    "statement",
    [
        # Spark's planning processes: they unpickle a source, ask for its schema and its reader.
        "import headrace.sinks.file.parts_source, headrace.connectors.postgresql.config",
        "import headrace.spark.data_source, headrace.connectors.postgresql.config",
        "import headrace.sinks.kafka.ranges_source, headrace.connectors.postgresql.config",
        "import pyspark_headrace_kafka",
        # The command until it has read its arguments.
        "from headrace.cli import _parser; _parser('events')",
        "from headrace.cli import _parser; _parser('run')",
    ],
)
def test_planning_a_source_loads_no_driver_and_no_compiled_code(statement):
    # PySpark loads some of them by itself with older versions of PyArrow.
    script = (
        "import sys, pyspark.sql.datasource\nbefore = set(sys.modules)\n"
        f"{statement}\nprint(*(name for name in {HEAVY} if name in {{*sys.modules}} - before))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


SOURCE_PROCESS = """
import headrace.spark.source_process
import headrace.connectors.postgresql.connector
import headrace.sinks.replicas.changes.change_tables
from headrace.spark.kernels.compiled import load_compiled
load_compiled()
"""
OF_OTHERS = (
    "headrace.converters.configured",  # events are converted in tasks
    "headrace.converters.kernels.emit",
    "headrace.connectors.mongodb.definition",
    "headrace.connectors.oracle.definition",
    "headrace.sinks.delta.definition",
    "headrace.sinks.kafka.definition",
)


def test_a_source_process_loads_no_converter_no_other_connector_and_no_other_sink():
    script = f"{SOURCE_PROCESS}import sys\nprint(*(n for n in {OF_OTHERS} if n in sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_the_daemon_of_workers_has_every_converter():
    script = "from headrace.spark import daemon; daemon.preload(); import sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {
        "headrace.converters.avro.converter",
        "headrace.converters.cloudevents",
        "headrace.converters.json.converter",
        "headrace.converters.binary.converters",
        "headrace.converters.typed.converters",
    } <= set(run.stdout.split())
