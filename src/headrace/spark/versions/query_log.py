"""Spark's log of the query that a source belongs to, read by the source process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pyspark

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.offsets.offset import OffsetObject
from headrace.spark.checkpoint import (
    finished_batch,
    is_finished,
    last_planned_batch,
    local_path,
    planned_offsets,
)
from headrace.spark.query.source_options import CHECKPOINT

PROPERTY = "headrace.checkpoint.dir"
_NAME_IT = (
    f"Set {PROPERTY} to the checkpointLocation of the query, a folder that the driver's host has."
)


def checkpoint_folder(options: Mapping[str, str], config: ConnectorConfig) -> Path:
    """Return the query's checkpoint, by the options of its source or its configuration.

    Raises HeadraceError("spark.checkpoint_not_named") and ("spark.checkpoint_not_local").
    """
    named = options.get(CHECKPOINT) or config.headrace_checkpoint_dir
    if not named:
        raise HeadraceError(
            "spark.checkpoint_not_named",
            f"Spark {pyspark.__version__} does not tell a source the start of a micro-batch, and "
            f"{PROPERTY} does not name the checkpoint from which headrace can read it",
            _NAME_IT,
        )
    folder = Path(local_path(str(named)))
    if not folder.is_absolute():
        raise HeadraceError(
            "spark.checkpoint_not_local",
            f"{PROPERTY} is {named}, which is not an absolute path of a local folder, and with "
            f"Spark "
            f"{pyspark.__version__} the query's checkpoint is read there",
            _NAME_IT,
        )
    return folder


class QueryLog:
    """The entries of a checkpoint. Methods raise HeadraceError if the folder is not the checkpoint
    of the query that Spark runs: ("spark.checkpoint_not_found") if it is no checkpoint, or no
    longer, and ("spark.other_checkpoint") if its entries are not those that Spark has just
    written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._query = ""

    def require_query(self, *, has_begun: bool = True) -> int:
        """Return the number of the last planned micro-batch; -1 before the first. Before a query
        `has_begun`, Spark has not made all of its folders."""
        try:
            query = str(json.loads((self.folder / "metadata").read_text())["id"])
        except (OSError, ValueError, KeyError, TypeError):
            raise self._not_found("metadata") from None
        for log in ("offsets", "commits"):
            if has_begun and not (self.folder / log).is_dir():
                raise self._not_found(log)
        if self._query not in ("", query):
            raise self._other("it belongs to another query than when this one began")
        self._query = query
        return last_planned_batch(self.folder)

    def require_new(self) -> None:
        """Check that Spark has not planned anything yet."""
        newest = self.require_query()
        if newest >= 0:
            raise self._other(f"Spark begins with micro-batch 0, and it has {newest} already")

    def require_planned(self, end: OffsetObject, start: OffsetObject | None = None) -> None:
        """Check that Spark has planned the micro-batch to `end` last, and the one before it to
        `start` (None: any)."""
        newest = self.require_query()
        if newest < 0 or end not in planned_offsets(self.folder, newest):
            raise self._other(f"its last micro-batch ({newest}) is not the one that Spark planned")
        if start is None:
            return
        if newest > 0 and start not in planned_offsets(self.folder, newest - 1):
            raise self._other(f"its micro-batch {newest} does not start where Spark's does")

    def require_finished(self, end: OffsetObject) -> None:
        """Check that the micro-batch to `end`, one of the last two, is in the log of commits."""
        if self.is_finished(end):
            return
        newest = finished_batch(self.folder)
        raise self._other(
            f"Spark has finished a micro-batch that is not among its own ({newest} is its last)"
        )

    def is_finished(self, end: OffsetObject) -> bool:
        """Return whether the micro-batch to `end`, one of the last two, is in the log of
        commits."""
        newest = self.require_query()
        for number in range(newest, max(newest - 2, -1), -1):
            if end in planned_offsets(self.folder, number):
                return is_finished(self.folder, number)
        return False

    def _not_found(self, missing: str) -> HeadraceError:
        return HeadraceError(
            "spark.checkpoint_not_found",
            f"{self.folder} is not the checkpoint of a query that runs: it has no {missing}",
            f"{_NAME_IT} Where its checkpoint was deleted, start the query with a new one.",
        )

    def _other(self, why: str) -> HeadraceError:
        return HeadraceError(
            "spark.other_checkpoint",
            f"{self.folder} is not the checkpoint of this query: {why}",
            _NAME_IT,
        )
