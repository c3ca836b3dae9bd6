"""Record what the database answers to the connector, without names and values, for a report."""

from __future__ import annotations

import argparse
from pathlib import Path

from headrace.cli.messages import Messages
from headrace.cli.pipeline import add_file_argument, positive_seconds, read_pipeline
from headrace.cli.stopping import STOP
from headrace.connectors.registry import definition_of, support_plan
from headrace.support.archive import dry_run_lines, write
from headrace.support.masking import Masks
from headrace.support.recording import Recording
from headrace.version import VERSION

_SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_file_argument(parser)
    parser.add_argument(
        "--output", metavar="ZIP", type=Path, default=Path("bundle.zip"),
        help="the file to write (default: bundle.zip); it is replaced",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=positive_seconds, default=_SECONDS,
        help="for how long changes are observed (default: 60)",
    )  # fmt: skip
    parser.add_argument(
        "--workload",
        action="store_true",
        help="also create test tables, change them, record the result, and drop them",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="list all statements without sending them",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the archive; its queries only read, except for a workload."""
    messages = Messages()
    config = read_pipeline(arguments.file, {}, messages).config
    plan = support_plan(config, to_be_sent=not arguments.dry_run)
    if arguments.dry_run:
        print("\n".join(dry_run_lines(plan, with_workload=arguments.workload)))
        return 0
    STOP.interrupt_at_hangup()
    recording = Recording(Masks(), plan.error_of)
    messages.phase("recording", f"changes for {arguments.seconds:g} seconds, then the catalogue")
    ended = write(
        arguments.output, plan, recording, arguments.seconds, with_workload=arguments.workload,
        headrace=VERSION, connector=definition_of(config).name,
        driver=plan.driver(),
    )  # fmt: skip
    messages.end()
    failed = sum("error" in record for record in recording.records)
    count = f"{len(recording.records)} statements, {failed} of them refused"
    early = "" if ended is None else ", and then it ended early"
    messages.note(
        f"{arguments.output}: {count}{early}. Names and values are masked; look through it before "
        "you send it."
    )
    if ended is not None:
        raise ended
    return 0
