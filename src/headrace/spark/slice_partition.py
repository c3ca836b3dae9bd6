"""Slices as Spark's partitions, and the limit of their size in Spark."""

from __future__ import annotations

import itertools
import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pyspark.sql.datasource import InputPartition

from headrace.connect.slices import Slice
from headrace.errors import HeadraceError
from headrace.kafka.schema_ids import SchemaKey

_LIMIT = "spark.rpc.message.maxSize"
_DEFAULT_MIB = 128
_REST_OF_A_TASK = 200 << 10
"""Bytes reserved for the rest of a task's description, besides its slice."""
_BYTES_OF_AN_ID = 32
"""Bytes of a schema's id and its key, pickled."""


class SlicePartition(InputPartition):
    """A slice, pickled, and the known ids of its schemas."""

    def __init__(self, part: Slice, schema_ids: Mapping[SchemaKey, int]) -> None:
        self.packed = pickle.dumps(part)
        self.schema_ids = dict(schema_ids)

    def unpack(self) -> Slice:
        """Return the slice; add the ids of its schemas to those of this process."""
        from headrace.spark.task import schema_ids

        schema_ids.learn(self.schema_ids)
        part: Slice = pickle.loads(self.packed)  # noqa: S301 - of the source process
        return part


def partitions_of(
    parts: Sequence[Slice],
    message_mib: int | None,
    ids_of: Callable[[Slice], Mapping[SchemaKey, int]] = lambda _part: {},
) -> list[SlicePartition]:
    """Return the slices as partitions; a message to an executor has at most `message_mib` MiB
    (None: tasks get no messages). `ids_of` returns the ids of schemas that a slice carries.

    Raises HeadraceError("spark.slice_too_large"): Spark drops such a task, or runs out of memory.
    """
    partitions = []
    for part in parts:
        partition = SlicePartition(part, ids_of(part))
        ids = _BYTES_OF_AN_ID * len(partition.schema_ids)
        size = len(partition.packed) + ids + _REST_OF_A_TASK
        if message_mib is not None and size > message_mib << 20:
            raise HeadraceError(
                "spark.slice_too_large",
                f"A row change needs a slice of {size} bytes, and on a cluster {_LIMIT} limits "
                f"the data of a task to {message_mib} MiB",
                f"Set {_LIMIT} to {(size >> 20) + 1} or more (--conf or spark-defaults.conf) and "
                "give driver and executors several times that as memory, or run the query on a "
                "local master, where slices do not carry their rows.",
            )
        partitions.append(partition)
    return partitions


def driver_command() -> list[bytes]:
    """Return the command line of this process's parent, the JVM; empty if it cannot be read."""
    try:
        return Path(f"/proc/{os.getppid()}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def is_local(command: Sequence[bytes]) -> bool:
    """Return whether tasks certainly run on this host, inside the driver's JVM."""
    for here, following in itertools.pairwise([*command, b""]):
        if here.startswith(b"spark.master="):
            return here == b"spark.master=local" or here.startswith(b"spark.master=local[")
        if here == b"--master":
            return following == b"local" or following.startswith(b"local[")
    return False


def message_limit(command: Sequence[bytes], environment: Mapping[str, str]) -> int | None:
    """Return the limit of a message to an executor in MiB; None: the driver runs the tasks
    itself."""
    if is_local(command):
        return None
    for argument in command:
        name, _, value = argument.decode(errors="replace").partition("=")
        if name == _LIMIT and value.isdecimal():
            return int(value)
    for folder in (environment.get("SPARK_CONF_DIR"), f"{environment.get('SPARK_HOME', '')}/conf"):
        try:
            lines = Path(folder or "", "spark-defaults.conf").read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            words = line.replace("=", " ").split()
            if len(words) == 2 and words[0] == _LIMIT and words[1].isdecimal():
                return int(words[1])
        break
    return _DEFAULT_MIB
