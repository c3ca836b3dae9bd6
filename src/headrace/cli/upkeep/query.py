"""The query whose tables or files a verb maintains: its configuration, its sink and its folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from headrace.cli.messages import Messages
from headrace.cli.pipeline import Pipeline, read_pipeline, with_state
from headrace.cli.sinks import with_sink
from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.spark.sinks.definition import SinkDefinition
from headrace.spark.sinks.registry import find_sink
from headrace.spark.state_folder import require_known_format


def add_folder_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the argument `--checkpoint`."""
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder of the query's checkpoint and state (default: headrace.checkpoint.dir)",
    )


def query_of_file(
    arguments: argparse.Namespace, messages: Messages
) -> tuple[Pipeline, SinkDefinition]:
    """Return the pipeline of the file that the arguments name, with the defaults of its sink, and
    that sink. Raises HeadraceError."""
    pipeline = read_pipeline(arguments.file, with_state({}, arguments.checkpoint), messages)
    definition = find_sink(pipeline.config.headrace_sink_type or "console")
    return with_sink(pipeline, definition), definition


def query_folder(verb: str, arguments: argparse.Namespace, config: ConnectorConfig) -> Path:
    """Return the folder that the arguments or the configuration name, as an absolute path. Raises
    HeadraceError("cli.checkpoint_missing"), ("cli.newer_state")."""
    folder = arguments.checkpoint or config.headrace_checkpoint_dir
    if folder is None:
        raise HeadraceError(
            "cli.checkpoint_missing",
            f"headrace {verb} needs the query's folder",
            "Name it with --checkpoint or headrace.checkpoint.dir.",
        )
    require_known_format(Path(folder))
    return Path(folder).absolute()


def require_query(folder: Path, sink: str) -> None:
    """Check that the folder belongs to a query into this sink. Raises
    HeadraceError("cli.no_checkpoint")."""
    if not (folder / sink).is_dir():
        raise HeadraceError(
            "cli.no_checkpoint",
            f"{folder} is not a checkpoint of a query into {sink}: none has run with it",
            "Name the folder of headrace run --checkpoint.",
        )
