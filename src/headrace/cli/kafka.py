"""Runs a pipeline into Kafka's topics."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cli.pipeline import Pipeline, open_session, spark_settings, supervise
from headrace.spark.state_folder import exclusive

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.cli.messages import Messages
    from headrace.spark.supervisor import Summary


def send_to_kafka(
    pipeline: Pipeline,
    state: Path,
    checkpoint: Path,
    arguments: argparse.Namespace,
    messages: Messages,
) -> Summary:
    """Streams a pipeline into Kafka until a limit or a signal. Raises HeadraceError, and before
    Spark starts ("kafka.no_kafka_client")."""
    from headrace.kafka.client import load_client
    from headrace.sinks.kafka.options import SINK
    from headrace.sinks.kafka.plan import PlanFolder
    from headrace.spark.checkpoint import finished_batch
    from headrace.spark.sinks.kafka_source import sink_options

    load_client(SINK)
    options = sink_options(pipeline.config)
    folder = PlanFolder(state / "kafka")
    with exclusive(state, "kafka"):
        pipeline.validate(checkpoint)
        folder.open()
        session = open_session(
            "run",
            messages,
            kernels=pipeline.kernels("kafka"),
            master=arguments.master,
            idle_exit=arguments.idle_exit,
            debug=arguments.debug,
            own=spark_settings(pipeline, arguments),
            tasks=pipeline.begins_with_tasks(checkpoint),
        )
        try:
            from headrace.spark.sinks.foreach_batch import calls_for_each_batch
            from headrace.spark.sinks.kafka_sink import KafkaSink

            spark = session.spark
            sink = KafkaSink(spark, options, folder)

            def start() -> StreamingQuery:
                sink.begin()
                stream = pipeline.kafka_ranges(spark, folder.folder, checkpoint)
                writer = calls_for_each_batch(spark, stream.writeStream, sink)
                return pipeline.start(writer, checkpoint)

            limits = pipeline.limits(idle_exit=arguments.idle_exit, seconds=arguments.seconds)
            try:
                summary = supervise(session, start, limits, messages, rows_of=sink.new_rows)
            finally:
                sink.close(finished_batch(checkpoint))
            summary.rows = sink.rows
            return summary
        finally:
            session.close()
