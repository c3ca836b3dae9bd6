"""Show what a running query does, from another process; limits set the exit status.

Exit status: 0 all is well, 1 a limit is passed, 2 wrong usage, or nothing is known.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headrace.cli.messages import Messages, one_line
from headrace.config.kinds import ValueKind, duration, size
from headrace.errors import HeadraceError
from headrace.findings import aligned, counted, sized
from headrace.spark.monitoring.files import Known, known_of, running_reports
from headrace.spark.monitoring.report import Report

_PASSED, _UNKNOWN = 1, 2
_TIMES = ("time", "started", "since", "waits_since", "last_commit", "reported")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = __doc__
    parser.add_argument(
        "checkpoint",
        nargs="?",
        metavar="CHECKPOINT",
        help="the folder of headrace run --checkpoint, of headrace events --state, or a checkpoint "
        "of Spark (default: every query of this user that runs on this host)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--fail-above-lag", type=_of(duration(bare_unit="s")), metavar="TIME",
        help="exit with status 1 if the lag is longer than this: 60s, 5m",
    )  # fmt: skip
    parser.add_argument(
        "--fail-above-slot-bytes", type=_of(size()), metavar="SIZE",
        help="exit with status 1 if the database retains more log than this for the query: 10GB",
    )  # fmt: skip
    parser.add_argument(
        "--fail-on-errors",
        action="store_true",
        help="exit with status 1 if the query failed, if it tries again after an error, or if a "
        "replica has stopped",
    )


def _of(kind: ValueKind[int]) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            return kind.parse(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {kind.expects}") from None

    return parse


def run(arguments: argparse.Namespace) -> int:
    """Print the state, and exceeded limits on standard error."""
    messages = Messages()
    try:
        known = _known(arguments.checkpoint)
    except HeadraceError as error:
        messages.error(error.message, error.remedy, error.code)
        return _UNKNOWN
    now = time.time()
    if arguments.json:
        listed = [_json(query, now) for query in known]
        print(json.dumps(listed if arguments.checkpoint is None else listed[0], indent=2))
    else:
        print("\n\n".join("\n".join(_lines(query, now)) for query in known))
    status = 0
    for query in known:
        for exit_status, text in _beyond(query, arguments, now):
            messages.warning(f"{_title(query)}: {text}")
            status = max(status, exit_status)
    return status


def _known(checkpoint: str | None) -> list[Known]:
    if checkpoint is None:
        reports = running_reports()
        if not reports:
            raise HeadraceError(
                "cli.nothing_runs",
                "No query of this user runs on this host and reports its state",
                "Name the folder of its checkpoint. Queries in PySpark report with "
                "spark.streams.addListener(headrace.MetricsListener()).",
            )
        return [Known(report, is_running=True) for report in reports]
    known = known_of(Path(checkpoint))
    if known is None:
        raise HeadraceError(
            "cli.no_checkpoint",
            f"{checkpoint} is not a checkpoint: no query has run with it",
            "Name the folder of headrace run --checkpoint, or a checkpoint of Spark.",
        )
    return [known]


def _beyond(known: Known, arguments: argparse.Namespace, now: float) -> Iterator[tuple[int, str]]:
    """Yield exit statuses with their reasons."""
    report = known.report
    has_limits = (
        arguments.fail_on_errors
        or arguments.fail_above_lag is not None
        or arguments.fail_above_slot_bytes is not None
    )
    if report is None:
        yield _UNKNOWN, "nothing reports its state"
        return
    if not has_limits:
        return
    if not known.is_running:
        yield _PASSED, "no process runs it"
        return
    if arguments.fail_on_errors:
        if report.error is not None:
            yield _PASSED, f"it has an error: {report.error['code']}"
        if report.failing_tables:
            yield _PASSED, f"stopped replicas: {', '.join(report.failing_tables)}"
    if arguments.fail_above_lag is not None:
        lag, limit = report.lag_seconds(now), arguments.fail_above_lag / 1000
        if lag is None:
            yield _UNKNOWN, f"its lag is not known while it is {report.state}"
        elif lag > limit:
            yield _PASSED, f"its lag is {lag:,.1f} s, more than {limit:g} s"
    if arguments.fail_above_slot_bytes is not None:
        retained = report.retained_bytes
        if retained is None:
            yield _UNKNOWN, "how much log the database keeps for it is not known"
        elif retained > arguments.fail_above_slot_bytes:
            most = sized(arguments.fail_above_slot_bytes)
            yield _PASSED, f"the database keeps {sized(retained)} of log for it, more than {most}"


def _json(known: Known, now: float) -> dict[str, Any]:
    members_of_query: dict[str, Any] = {
        "running": known.is_running if known.report is not None else None,
        "last_batch": None if known.batch < 0 else known.batch,
        "last_batch_committed": _iso(known.committed),
    }
    report = known.report
    if report is None:
        return members_of_query
    members = report.to_json()
    for name in _TIMES:
        members[name] = _iso(members[name])
    figures = {
        "lag_seconds": report.lag_seconds(now) if known.is_running else None,
        "lag_bytes": report.lag_bytes,
        "retained_bytes": report.retained_bytes,
        "oldest_unacknowledged_seconds": report.oldest_unacknowledged_seconds,
    }
    return members_of_query | figures | members


def _iso(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _title(known: Known) -> str:
    report = known.report
    if report is None:
        return "the query"
    name = report.name or report.server or report.query
    return one_line(name)


def _lines(known: Known, now: float) -> Iterator[str]:
    report = known.report
    if report is None:
        last = f"micro-batch {known.batch} finished {_ago(known.committed, now)}"
        yield f"the query: nothing reports its state; {last if known.batch >= 0 else 'new'}"
        yield (
            "Queries in PySpark report with spark.streams.addListener(headrace.MetricsListener())."
        )
        return
    process = report.process
    where = f"process {process['pid']} on {process['hostname']}"
    if known.is_running:
        yield f"{_title(known)}: {report.state}, since {_clock(report.since)}"
    elif report.is_over:
        yield f"{_title(known)}: {report.state} {_ago(report.since, now)}; no process runs it"
    else:
        yield f"{_title(known)}: no process runs it, since {_clock(report.time)} ({where} is gone)"
    yield from aligned([[f"  {name}", text] for name, text in _cells(report, known, where, now)])
    if report.error is not None:
        error = report.error
        tried = f" (tried {counted(report.attempts, 'time')})" if report.attempts else ""
        yield one_line(f"  error: {error['message']} [{error['code']}]{tried}")
        yield one_line(f"  remedy: {error['remedy']}")
    for warning in report.warnings:
        yield one_line(f"  warning: {warning}")
    for name in report.failing_tables:
        yield one_line(f"  stopped: {name}: {report.tables[name]['error']}")


def _cells(report: Report, known: Known, where: str, now: float) -> Iterator[tuple[str, str]]:
    connector = " ".join(filter(None, (report.plugin, report.server)))
    yield "connector", one_line(connector or "not known yet")
    if known.is_running:
        yield "runs as", where
    restarts = f", {counted(report.restarts, 'restart')}" if report.restarts else ""
    yield "started", f"{_clock(report.started)}{restarts}"
    batches = f"{report.batches:,} micro-batch" + ("" if report.batches == 1 else "es")
    last = report.last_commit or known.committed
    finished = "" if last is None else f", the last one finished {_ago(last, now)}"
    yield "delivered", f"{counted(report.rows, 'event')} in {batches}{finished}"
    if known.is_running:
        lag = report.lag_seconds(now)
        seconds = "not known" if lag is None else f"{lag:,.1f} s"
        bytes_of_log = "" if report.lag_bytes is None else f", {sized(report.lag_bytes)} of log"
        yield "lag", f"{seconds}{bytes_of_log}"
    if report.retained_bytes is not None:
        yield "kept", f"{sized(report.retained_bytes)} of log by the database"
    if report.waits is not None:
        yield "waits", one_line(report.waits)
    if report.tables:
        yield "replicas", f"{len(report.tables)}, {len(report.failing_tables)} of them stopped"


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "an unknown time"
    return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%d %H:%M:%S}"


def _ago(seconds: float | None, now: float) -> str:
    if seconds is None:
        return "at an unknown time"
    passed = max(0.0, now - seconds)
    span = f"{passed:,.0f} s" if passed < 600 else f"{passed / 60:,.0f} min"
    return f"{span} ago ({_clock(seconds)})"
