"""Prints the folder for PYTHONPATH, for drivers whose JVM starts before Python:
`PYTHONPATH=$(python -m headrace.spark.starting) spark-submit …`."""

from __future__ import annotations

import sys

from headrace.spark.starting.environment import FOLDER

if __name__ == "__main__":
    sys.stdout.write(f"{FOLDER}\n")
