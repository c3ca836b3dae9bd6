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
        "import headrace.spark.source, headrace.connectors.postgresql.config",
        "import headrace.sinks.kafka.ranges_source, headrace.connectors.postgresql.config",
        "import pyspark_headrace_kafka",
        # The command until it has read its arguments.
        "from headrace.cli import _parser; _parser('events')",
        "from headrace.cli import _parser; _parser('run')",
    ],
)
def test_planning_a_source_loads_no_driver_and_no_compiled_code(statement):
    script = f"{statement}\nimport sys\nprint(*(name for name in {HEAVY} if name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
