"""The headrace contender: `python -m benchmarks.pipeline PROPERTIES COUNT SINK [FILE]`.

SINK is `noop` (counts by Spark's observed metrics, which run at the sink) or `file`. Speaks the
same lines as EngineRunner.java: "ready", "start MILLIS", "done MILLIS EVENTS BYTES".
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import functions as f
from pyspark.sql.streaming.listener import StreamingQueryListener

from headrace.cli.messages import Messages
from headrace.cli.pipeline import read_pipeline
from headrace.cli.sinks import PipelineStream
from headrace.sinks.file.definition import FileDefinition
from headrace.sinks.file.output import Output
from headrace.sinks.file.parts_sink import PartsSink
from headrace.spark.session import build_session, warm_up


class _Count(StreamingQueryListener):
    """Adds what reached the sink, batch by batch: what Spark observed, or what `output` holds."""

    def __init__(self, event_count: int, output: Output | None) -> None:
        self.event_count, self.output = event_count, output
        self.events = self.bytes = 0
        self.done = threading.Event()

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        row = event.progress.observedMetrics.get("sink")
        if os.environ.get("VERBOSE"):
            print(event.progress.batchId, row, event.progress.durationMs, file=sys.stderr)
        if self.output is not None:
            self.events = self.output.rows()
            self.bytes = self.output.path.stat().st_size
        elif row is not None:
            self.events += row["events"]
            self.bytes += row["bytes"] or 0
        if self.events >= self.event_count:
            self.done.set()

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        if event.exception:
            print("failed", event.exception[:2000].replace("\n", " | "), flush=True)
        self.done.set()


def main() -> None:
    """Run until COUNT events are in the sink."""
    path, event_count, sink = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    overrides = FileDefinition().overrides if sink == "file" else {}
    pipeline = read_pipeline([path], overrides, Messages())
    spark = build_session("benchmark")
    with tempfile.TemporaryDirectory() as state:
        checkpoint = Path(state) / "checkpoint"
        target = Output(Path(sys.argv[4]), Path(state) / "file") if sink == "file" else None
        count = _Count(event_count, target)
        spark.streams.addListener(count)
        print("ready", flush=True)
        sys.stdin.readline()
        print("start", int(time.time() * 1000), flush=True)
        warm_up(spark)
        if target is not None:
            # COUNT has the tombstones, which are lines too.
            parts = PartsSink(target, checkpoint)
            parts.open()
            writer = parts.writer(PipelineStream(spark, pipeline, checkpoint))
        else:
            events, size = f.count("value"), f.sum(f.octet_length("value"))
            stream = pipeline.stream(spark, checkpoint)
            stream = stream.observe("sink", events.alias("events"), size.alias("bytes"))
            writer = stream.writeStream.format("noop")
        query = writer.option("checkpointLocation", str(checkpoint)).start()
        count.done.wait()
        print("done", int(time.time() * 1000), count.events, count.bytes, flush=True)
        sys.stdin.readline()
        query.stop()
        spark.stop()


if __name__ == "__main__":
    main()
