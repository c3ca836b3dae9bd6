"""headrace's own metrics: their names, descriptions, and places in a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headrace.spark.monitoring.report import STATES, Report
from headrace.version import VERSION

Sample = tuple[Mapping[str, str], float]
"""The labels, besides those of the query, and the value."""
Value = Callable[[Report, float], float | None]


@dataclass(frozen=True)
class OwnMetric:
    """A metric. `samples` returns those of a report at a time (s since 1970)."""

    name: str
    help: str
    samples: Callable[[Report, float], Iterable[Sample]]
    is_counter: bool = False


def _gauge(name: str, text: str, value: Value) -> OwnMetric:
    return OwnMetric(name, text, _single(value))


def _counter(name: str, text: str, value: Value) -> OwnMetric:
    return OwnMetric(name, text, _single(value), is_counter=True)


def _single(value: Value) -> Callable[[Report, float], Iterator[Sample]]:
    def samples(report: Report, now: float) -> Iterator[Sample]:
        figure = value(report, now)
        if figure is not None:
            yield {}, figure

    return samples


def _of_tables(value: Callable[[Mapping[str, Any]], float | None]) -> Any:
    """Return the samples of a figure of each replica."""

    def samples(report: Report, _now: float) -> Iterator[Sample]:
        for table, figures in report.tables.items():
            figure = value(figures)
            if figure is not None:
                yield {"table": table}, figure

    return samples


def _table(name: str, text: str, member: str, *, is_counter: bool = False) -> OwnMetric:
    samples = _of_tables(lambda figures: figures.get(member))
    return OwnMetric(f"headrace_table_{name}", text, samples, is_counter)


def _states(report: Report, _now: float) -> Iterator[Sample]:
    for state in STATES:
        yield {"state": state}, float(state == report.state)


def _errors(report: Report, _now: float) -> Iterator[Sample]:
    if report.error is not None:
        yield {"code": str(report.error["code"])}, 1.0


def _info(_report: Report, _now: float) -> Iterator[Sample]:
    yield {"version": VERSION}, 1.0


def _estimated(report: Report, _now: float) -> Iterator[Sample]:
    estimated = ((report.metrics or {}).get("snapshot") or {}).get("EstimatedRows") or {}
    for table, rows in estimated.items():
        yield {"table": table}, float(rows)


def _incremental(member: str) -> Value:
    def value(report: Report, _now: float) -> float | None:
        member_value = ((report.metrics or {}).get("incremental") or {}).get(member)
        return None if member_value is None else float(member_value)

    return value


def _is_incremental(report: Report, _now: float) -> float | None:
    if report.metrics is None:
        return None
    return float((report.metrics.get("incremental") or {}).get("State") == "RUNNING")


def _waiting(report: Report, now: float) -> float:
    return 0.0 if report.waits_since is None else max(0.0, now - report.waits_since)


def _seconds(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()


def _milliseconds(figure: float | None) -> float | None:
    return None if figure is None else figure / 1000


OWN = (
    OwnMetric("headrace_info", "1, with the version of headrace.", _info),
    OwnMetric(
        "headrace_state", "1 for the state of the query, 0 for the others.", _states
    ),
    OwnMetric(
        "headrace_error",
        "1 with the code of the error that ended the query, or after which the source retries; "
        "absent without an error.",
        _errors,
    ),
    _gauge("headrace_start_time_seconds", "When the query was first started.",
           lambda report, _: report.started),
    _counter("headrace_rows_total", "Events (rows of the stream) of finished micro-batches.",
             lambda report, _: report.rows),
    _counter("headrace_micro_batches_total", "Finished micro-batches.",
             lambda report, _: report.batches),
    _counter("headrace_micro_batch_duration_seconds_total",
             "Time that finished micro-batches took.", lambda report, _: report.busy_seconds),
    _counter("headrace_restarts_total", "Restarts of the query.",
             lambda report, _: report.restarts),
    _counter("headrace_source_retries_total",
             "Attempts of the source to continue after errors, since its process started.",
             lambda report, _: report.retries),
    _gauge("headrace_source_attempts",
           "Consecutive attempts of the source to continue after its current error; 0 "
           "without an error.",
           lambda report, _: report.attempts),
    _gauge("headrace_warnings", "Current warnings of the source.",
           lambda report, _: len(report.warnings)),
    _gauge("headrace_waiting_seconds",
           "How long the source has been waiting, for the lock of a table for example, with "
           "its attempts after errors; 0: it does not wait.", _waiting),
    _gauge("headrace_lag_seconds",
           "How far the sink may lag behind the source: the age of the oldest change that is not "
           "in it, plus the time since the last report if there was none for 15 s. Absent during "
           "a snapshot.", lambda report, now: report.lag_seconds(now)),
    _gauge("headrace_lag_bytes",
           "Log that is not acknowledged yet; absent if the database does not report it.",
           lambda report, _: report.lag_bytes),
    _gauge("headrace_oldest_unacknowledged_seconds",
           "Age of the oldest change that is in no finished micro-batch, at the last report; 0: "
           "each change is in one.", lambda report, _: report.oldest_unacknowledged_seconds),
    _gauge("headrace_last_commit_timestamp_seconds", "When the last micro-batch finished.",
           lambda report, _: report.last_commit),
    _gauge("headrace_last_report_timestamp_seconds",
           "When the query last reported: after each micro-batch, and every 10 s without one. If "
           "the database does not answer, the time of its last answer.",
           lambda report, _: report.reported),
    OwnMetric("headrace_snapshot_estimated_rows",
              "Rows of a table of the snapshot, by the database's statistics.", _estimated),
    _gauge("headrace_incremental_snapshot_running",
           "Whether an incremental snapshot is in progress.", _is_incremental),
    _gauge("headrace_incremental_snapshot_rows",
           "Rows that the incremental snapshot has read so far.", _incremental("RowsScanned")),
    _gauge("headrace_incremental_snapshot_remaining_tables",
           "Tables that the incremental snapshot has not read yet.",
           _incremental("RemainingTableCount")),
    _gauge("headrace_incremental_snapshot_remaining_seconds",
           "Estimated time until the incremental snapshot ends; absent without an estimate.",
           _incremental("RemainingSeconds")),
    _table("changes_total", "Changes of the table.", "changes", is_counter=True),
    _table("written_rows_total", "Rows that were written to the replica.", "written",
           is_counter=True),
    _table("deleted_rows_total", "Rows that were deleted from the replica.", "deleted",
           is_counter=True),
    _table("written_bytes_total", "Bytes that were written to the replica.", "bytes",
           is_counter=True),
    _table("commits_total", "Commits of the replica.", "commits", is_counter=True),
    _table("files", "Data files of the replica.", "files"),
    _table("deletion_vectors", "Data files of the replica that have a deletion vector.", "vectors"),
    OwnMetric("headrace_table_lag_seconds",
              "Time from the last change at the source to the commit of this change in the "
              "replica.",
              _of_tables(lambda figures: _milliseconds(figures.get("delay_ms")))),
    OwnMetric("headrace_table_last_commit_timestamp_seconds", "Time of the replica's last commit.",
              _of_tables(lambda figures: _seconds(figures.get("last_commit")))),
    OwnMetric("headrace_table_error", "Whether the replica has stopped.",
              _of_tables(lambda figures: float(figures.get("error") is not None))),
)  # fmt: skip
