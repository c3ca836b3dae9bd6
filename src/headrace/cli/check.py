"""Is this database ready: each finding with its remedy; exit status 1 on an error."""

from __future__ import annotations

import argparse
import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from rich.console import Console
from rich.text import Text

from headrace.cli.messages import Messages, MessagesHandler, one_line
from headrace.cli.pipeline import (
    Pipeline,
    add_file_argument,
    read_pipeline,
    with_state,
)
from headrace.cli.sinks import with_sink
from headrace.connectors.definition import CheckResult
from headrace.connectors.registry import check
from headrace.errors import HeadraceError
from headrace.findings import Finding, Findings, counted, statements, steps
from headrace.offsets.offset import OffsetObject
from headrace.spark.checkpoint import checkpoint_in, finished_batch, stored_offset
from headrace.spark.jvm.jars import other_releases
from headrace.spark.sinks.definition import SinkDefinition
from headrace.spark.sinks.registry import built_in, find_sink
from headrace.spark.state_folder import refuse_file

_SESSION = "ALTER SESSION SET "
_STYLES = {"ok": "green", "warning": "yellow", "error": "bold red"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_file_argument(parser)
    parser.add_argument(
        "--state",
        "--checkpoint",
        metavar="DIR",
        help="folder for checkpoint and state of the query that will continue, as for `headrace "
        "run --checkpoint` and `headrace events --state`, or a checkpoint of Spark (default: "
        "headrace.checkpoint.dir)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print an array of findings, a JSON object each"
    )
    parser.add_argument(
        "--fix-sql",
        action="store_true",
        help="print the SQL of the remedies as a script, without running it",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print findings; return 1 if one is an error."""
    messages = Messages()
    MessagesHandler(messages).open()
    pipeline = read_pipeline(arguments.file, with_state({}, arguments.state), messages)
    of_file, of_sink = Findings(), Findings()

    def look_at_sink() -> None:
        nonlocal pipeline
        pipeline = _check_sink(pipeline, of_sink)

    of_file.guard(look_at_sink)
    folder = pipeline.config.headrace_checkpoint_dir
    checkpoint = stored = None
    if folder is not None:
        refuse_file(Path(folder))
        checkpoint = checkpoint_in(Path(folder))
        stored = stored_offset(checkpoint)
        of_file.extend(_of_checkpoint(checkpoint, stored))
    findings: list[CheckResult] = [
        *of_file,
        *check(pipeline.config, stored),
        *of_sink,
    ]
    findings += _of_start(
        pipeline, checkpoint, {known.code for known in findings if known.level == "error"}
    )
    if arguments.json:
        print(json.dumps([_members(finding) for finding in findings], indent=2))
    elif arguments.fix_sql:
        print(*script(findings), sep="\n")
    elif findings:
        _print_lines(findings)
    else:
        print("No errors: the connector has no checks beside those of a start")
    return int(any(finding.level == "error" for finding in findings))


def _check_sink(pipeline: Pipeline, findings: Findings) -> Pipeline:
    """Add the findings about a pipeline's sink; return the pipeline with the sink's settings.

    Raises HeadraceError, also for an exception of a sink of another package: a defect of it does
    not hide the other findings."""
    definition = find_sink(pipeline.config.headrace_sink_type or "console")
    try:
        pipeline = with_sink(pipeline, definition)
        findings.add_all(_sink_findings(pipeline, definition))
    except HeadraceError:
        raise
    except Exception as error:
        if definition in built_in():
            raise
        raise HeadraceError(
            "cli.sink_check_failed",
            f"The check of the sink {definition.name} failed: {type(error).__name__}: {error}",
            "Correct the sink's definition, or use a version of its package that works.",
        ) from error
    return pipeline


def _members(finding: CheckResult) -> dict[str, object]:
    return {
        "level": finding.level,
        "code": finding.code,
        "message": finding.message,
        "remedy": finding.remedy,
        "sql": statements(finding.remedy),
    }


def _print_lines(findings: Sequence[CheckResult]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    for finding in findings:
        line = Text(f"{finding.level:<8}", style=_STYLES[finding.level])
        line.append(f"{one_line(finding.message)} [{finding.code}]", style="default")
        console.print(line)
        if finding.level != "ok" and finding.remedy:
            console.print(Text(f"{'':8}{one_line(finding.remedy)}", style="dim"))
    levels = Counter(finding.level for finding in findings)
    console.print(
        f"{counted(len(findings), 'check')}, {counted(levels['error'], 'error')}, "
        f"{counted(levels['warning'], 'warning')}"
    )


def script(findings: Sequence[CheckResult]) -> Iterator[str]:
    """Yield the lines of a script that corrects findings. Statements of warnings are comments,
    because the user may choose, and so are statements with a `…`, which the user has to complete.
    Other parts of a remedy, a restart of the server for example, are comments in their places.

    A remedy's ALTER SESSION SET names the container of the statements after it. The statements of
    one container form a section, which begins with it; sections are in the order of their first
    occurrence, after the statements that run in any container.
    """
    sections: dict[str, list[str]] = {"": []}
    for finding in findings:
        if finding.level == "ok":
            continue
        remark = f"-- {finding.level}: {' '.join(finding.message.split())}"
        section = ""
        begun: set[str] = set()
        for step, is_statement in _ordered(finding.remedy):
            if step.startswith(_SESSION):
                section = step
                continue
            lines = sections.setdefault(section, [])
            if section not in begun:
                lines.append(remark)
                begun.add(section)
            is_ready = is_statement and finding.level == "error" and "…" not in step
            lines.append(step if is_ready else f"-- {step}")
    for section, lines in sections.items():
        if section:
            yield ""
            yield section
        yield from lines


def _ordered(remedy: str) -> Iterator[tuple[str, bool]]:
    """Yield the steps of a remedy; words before a change of the container follow it, with the
    statements that they introduce."""
    words = None
    for step in steps(remedy):
        text, is_statement = step
        if words is not None and not text.startswith(_SESSION):
            yield words
            words = None
        if is_statement:
            yield step
        else:
            words = step
    if words is not None:
        yield words


def _of_checkpoint(checkpoint: Path, stored: OffsetObject | None) -> Iterator[Finding]:
    """Yield a finding about the query of the folder; none if Spark's log in it cannot be read."""
    if stored is None and not checkpoint.exists():
        yield Finding("cli.checkpoint", "ok", f"There is no {checkpoint}: a query begins")
    if stored is not None:
        number = finished_batch(checkpoint)
        place = f"after micro-batch {number}" if number >= 0 else "in its first micro-batch"
        yield Finding("cli.checkpoint", "ok", f"The query of {checkpoint} goes on {place}")


def _of_start(pipeline: Pipeline, checkpoint: Path | None, codes: Set[str]) -> Findings:
    """Return the errors for which `headrace run` refuses to start, except those whose code is
    already found; the check calls the start's own validation, so it is never weaker. Warnings are
    reported elsewhere."""
    findings, logger = Findings(), logging.getLogger("headrace")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        pipeline.validate(checkpoint)
    except HeadraceError as error:
        if error.code not in codes:
            findings.add_error(error)
    finally:
        logger.setLevel(level)
    return findings


def _release(package: str) -> str:
    """Return `artifact version` of Maven coordinates."""
    _, artifact, version = package.split(":")
    return f"{artifact} {version}"


def _sink_findings(pipeline: Pipeline, definition: SinkDefinition) -> Findings:
    """Return the findings about the sink of a pipeline, which has the sink's settings. Raises
    HeadraceError."""
    config = pipeline.config
    findings = Findings()
    findings.add_all(definition.check(config))
    findings.guard(
        lambda: findings.add_all(
            Finding(problem.code, "warning", problem.message, problem.remedy)
            for problem in definition.option_warnings(config)
        )
    )
    if any(finding.level == "error" for finding in findings):
        return findings
    findings.add_all(definition.check_by_java(config, pipeline.spark))
    packages = definition.packages(config)
    if others := other_releases(packages, pipeline.spark):
        findings.add(
            "spark.other_release",
            "warning",
            f"Spark's class path has {', '.join(others)} beside {_release(packages[0])}, which the "
            "sink brings: it is undefined from which of them Spark loads a class",
            "Remove the others from spark.jars, spark.jars.packages and Spark's own jars.",
        )
    return findings
