"""`python -m tests.spark.run_numbers FOLDER SINK IDLE_EXIT`: the numbered stream into a sink,
supervised."""

import json
import os
import sys
from pathlib import Path

from headrace.cli.messages import Messages
from headrace.cli.pipeline import open_session, supervise
from headrace.errors import HeadraceError
from headrace.sinks.console.sink import ConsoleSink
from headrace.sinks.file.output import Output
from headrace.sinks.file.sink import FileSink
from headrace.spark.supervisor import RunLimits
from tests.spark.numbered_source import NumberedSource


def main(folder, sink, idle_exit):
    folder = Path(folder)
    if sink == "file":
        Output(folder / "out.jsonl", folder / "state").open()
    messages = Messages()
    session = open_session(
        "test", messages, kernels={}, master="local[2,4]", idle_exit=float(idle_exit), debug=False
    )
    spark = session.spark
    spark.dataSource.register(NumberedSource)
    spark.dataSource.register(FileSink)
    (folder / "ready").write_text(str(os.getpid()))
    console = ConsoleSink(lines=3)

    def start():
        frame = spark.readStream.format("numbered").option("folder", str(folder)).load()
        writer = frame.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        if sink == "file":
            writer = writer.format("headrace_file").option("path", str(folder / "out.jsonl"))
            writer = writer.option("state", str(folder / "state")).option("slices", "position")
        elif sink == "kafka":
            # Nobody registers it: Spark finds the package.
            writer = writer.format("headrace_kafka").option("name", "numbers")
            writer = writer.option("kafka.bootstrap.servers", (folder / "broker").read_text())
            writer = writer.option("topic.creation.default.partitions", "3")
        else:
            writer = writer.foreachBatch(console.write)
        return writer.start()

    limits = RunLimits(retry_wait_ms=100, idle_exit=float(idle_exit))
    try:
        summary = supervise(session, start, limits, messages, on_progress=console.progress)
        print(
            "summary",
            json.dumps(
                {"reason": summary.reason, "rows": summary.rows, "restarts": summary.restarts}
            ),
        )
    except HeadraceError as error:
        print("failed", error.code, error.message)
    session.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
