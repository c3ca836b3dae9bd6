"""States of a driver's sources, for programs that use Spark Connect: the sources' files are on the
driver's host, where a batch read of `format("headrace")` finds them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from headrace.spark.progress import source_offset
from headrace.spark.query.source_options import SITUATIONS
from headrace.spark.query.status_files import ancestors, live_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "written string not null"
_KIND = "json"


class Written(InputPartition):
    """The texts of some sources, the newest first."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts


class SituationsReader(DataSourceReader):
    """Yields a row with the last text of each source of this driver."""

    def partitions(self) -> Sequence[InputPartition]:
        """Read the files on the driver's host, in a child process of its JVM."""
        paths = [path for jvm in ancestors() for path in live_files(str(jvm), _KIND)]
        texts = []
        for path in paths:
            try:
                texts.append((path.stat().st_mtime, path.read_text()))
            except OSError:
                continue  # the source has just ended
        return [Written([text for _, text in sorted(texts, reverse=True)])]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        assert isinstance(partition, Written)
        return ((text,) for text in partition.texts)


def newest_on_server(
    session: SparkSession, progress: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Return the last state that the first headrace source of a query wrote. Spark's progress (its
    JSON) has the name of its server (topic.prefix); without progress, it is the only source of the
    driver. None if the driver has several, or has no such source."""
    from pyspark.errors import PySparkException

    try:
        rows = session.read.format("headrace").option(SITUATIONS, "true").load().collect()
    except PySparkException:
        return None  # an older headrace, or none is installed
    situations: list[Mapping[str, Any]] = [json.loads(row[0]) for row in rows]
    server = next(_servers(progress or {}), None)
    if server is not None:
        situations = [
            situation for situation in situations if situation["source"]["server"] == server
        ]
    elif len(situations) > 1:
        return None
    return situations[0] if situations else None


def _servers(progress: Mapping[str, Any]) -> Iterator[str]:
    for source in progress.get("sources") or ():
        end = source_offset(source.get("endOffset"))
        if isinstance(end, dict) and "server" in end:
            yield str(end["server"])
