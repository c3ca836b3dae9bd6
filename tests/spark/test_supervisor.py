"""A supervised query on a real Spark session, in a process that can be killed where a driver is."""

import contextlib
import json
import signal
import time
from types import SimpleNamespace

import pyspark
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from headrace.errors import HeadraceError
from headrace.spark import supervisor
from headrace.spark.supervisor import RunLimits, Supervisor, find_failure, has_caught_up
from tests.resident.resident import Resident
from tests.spark.supervised import Run, await_lines, ids, written_lines


@pytest.mark.spark
@pytest.mark.chaos
def test_an_idle_query_ends_by_itself_with_every_row_in_order(tmp_path):
    (tmp_path / "head").write_text("23456")
    summary = Run(tmp_path).summary()
    assert summary == {"reason": "idle", "rows": 23456, "restarts": 0}
    assert ids(tmp_path) == list(range(23456))
    assert Run(tmp_path).summary() == {"reason": "idle", "rows": 0, "restarts": 0}


@pytest.mark.spark
def test_a_signal_ends_the_query_cleanly(tmp_path, resident: Resident):
    (tmp_path / "head").write_text("100")
    run = Run(tmp_path, resident, idle_exit=60)
    await_lines(tmp_path, 100)
    run.process.send_signal(signal.SIGTERM)
    assert run.summary()["reason"] == "signal"
    assert ids(tmp_path) == list(range(100))


@pytest.mark.spark
@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.chaos)])
def test_a_killed_driver_continues_without_loss_or_repetition(tmp_path, kills, resident: Resident):
    (tmp_path / "head").write_text("0")
    for round_ in range(kills):
        run = Run(tmp_path, idle_exit=60)
        begun = len(written_lines(tmp_path)) if (tmp_path / "out.jsonl").exists() else 0
        for i in range(1, 21):
            (tmp_path / "head.new").write_text(str((20 * round_ + i) * 777))
            (tmp_path / "head.new").replace(tmp_path / "head")
        await_lines(tmp_path, begun + 5000)
        time.sleep(0.03 * round_)
        run.process.kill()
        run.process.communicate()
    assert Run(tmp_path, resident).summary()["reason"] == "idle"
    assert ids(tmp_path) == list(range(20 * kills * 777))


@pytest.mark.spark
def test_a_killed_worker_is_replaced(tmp_path, resident: Resident):
    (tmp_path / "head").write_text("6000")
    (tmp_path / "die").touch()
    Run(tmp_path, resident).summary()
    assert ids(tmp_path) == list(range(6000))


@pytest.mark.spark
def test_a_failure_that_repeats_ends_the_run_after_three_retries(tmp_path, resident: Resident):
    (tmp_path / "head").write_text("100")
    (tmp_path / "bug").touch()
    run = Run(tmp_path, resident)
    assert "failed spark.query_failed" in run.wait()
    assert run.err.count("retrying in") == 3


@pytest.mark.spark
def test_the_console_shows_a_few_lines_of_a_batch(tmp_path, resident: Resident):
    (tmp_path / "head").write_text("500")
    out = Run(tmp_path, resident, sink="console").wait()
    assert "create    t  id=0" in out
    assert "… and 497 more" in out


class Unstarted(Supervisor):
    """The supervisor of a query that never starts; `_listening` needs a session."""

    def __init__(self, limits: RunLimits) -> None:
        self.starts = 0
        super().__init__(None, self.begin, limits, on_restart=lambda *_: None)

    def begin(self):
        self.starts += 1
        assert self.starts < 1000, "nothing ends it"
        raise self.refusal()

    def refusal(self):
        return AnalysisException("Data source jdbc does not support streamed writing.")

    def _listening(self):
        return contextlib.nullcontext()


def test_what_spark_refuses_to_start_is_not_tried_again():
    run = Unstarted(RunLimits(retry_wait_ms=1))
    with pytest.raises(HeadraceError, match="does not support streamed writing"):
        run.run()
    assert run.starts == 1


class Unreachable(Unstarted):
    """The supervisor of a query whose source can never be reached."""

    def refusal(self):
        error = HeadraceError("test.gone", "The server is gone", "Start it.", retriable=True)
        return StreamingQueryException(f"[STREAM_FAILED] Query terminated:\n{error!r}\n{error}")


@pytest.mark.parametrize("wait_ms", [1, 3_600_000])
def test_a_limit_of_seconds_also_ends_a_run_that_only_fails(wait_ms):
    run = Unreachable(RunLimits(retry_wait_ms=wait_ms, seconds=0.1))
    assert run.run().reason == "seconds"
    assert run.starts >= 1


class Reopened(Unreachable):
    """The supervisor of a query that fails, and whose starts raise `errors`, unless None."""

    def __init__(self, *errors):
        self.errors = errors
        super().__init__(RunLimits(retry_wait_ms=1))

    def begin(self):
        error, self.starts = self.errors[self.starts], self.starts + 1
        if error is not None:
            raise error
        return SimpleNamespace(awaitTermination=self.fail)

    def fail(self, _seconds):
        raise self.refusal()


def test_a_sink_that_cannot_be_opened_again_is_tried_again_if_that_may_help():
    locked = HeadraceError("test.locked", "The file is locked", "Wait.", retriable=True)
    lost = HeadraceError("test.lost", "The file is lost", "Restore it.")
    for errors, code in (
        ((None, locked, locked, None, lost), "test.lost"),
        ((None, lost), "test.lost"),
        ((locked,), "test.locked"),  # a command that cannot open its sink at the start ends
    ):
        run = Reopened(*errors)
        with pytest.raises(HeadraceError) as raised:
            run.run()
        assert (raised.value.code, run.starts) == (code, len(errors))


class Watched(Unstarted):
    """The supervisor of a query that runs, and whose source reports what a test sets."""

    def begin(self):
        return SimpleNamespace(awaitTermination=self.looked, isActive=False, exception=lambda: None)

    def looked(self, _seconds):
        self.looks = getattr(self, "looks", 0) + 1
        return False


def test_seconds_do_not_count_before_the_source_has_begun(monkeypatch):
    run = Watched(RunLimits(seconds=0.001))
    monkeypatch.setattr(supervisor, "waited_for", lambda _query: "")
    monkeypatch.setattr(Watched, "_stop_query", lambda *_: None)
    monkeypatch.setattr(supervisor, "has_begun", lambda _query: run.looks > 20)
    assert run.run().reason == "seconds"
    assert run.looks > 20


def test_seconds_count_for_a_source_that_says_nothing_for_long(monkeypatch):
    run = Watched(RunLimits(seconds=0.001))
    monkeypatch.setattr(supervisor, "waited_for", lambda _query: "")
    monkeypatch.setattr(Watched, "_stop_query", lambda *_: None)
    monkeypatch.setattr(supervisor, "has_begun", lambda _query: False)
    monkeypatch.setattr(supervisor, "_STARTS_WITHIN_S", 0.05)
    assert run.run().reason == "seconds"


def test_an_error_of_ours_is_found_in_the_text_of_an_exception():
    text = (
        "[STREAM_FAILED] Query terminated: Traceback\n  File x\n"
        "headrace.errors.HeadraceError: The slot is gone [postgresql.slot_lost]. Make a new one.\n"
    )
    error = find_failure(text)
    assert (error.code, error.retriable) == ("postgresql.slot_lost", False)


def test_a_process_that_died_is_retriable():
    assert find_failure("SparkException: Python worker exited unexpectedly (crashed)").retriable


@pytest.mark.parametrize(
    ("text", "reason", "look"),
    [
        (
            "[STREAM_FAILED] Query [id = 1] terminated with exception: Timed out while waiting for "
            "the Python worker to connect back SQLSTATE: XXKST\n"
            "Caused by: org.apache.spark.SparkException: Timed out while waiting for the Python "
            "worker to connect back\n\tat org.apache.spark.api.python.X\n",
            "(Timed out while waiting for the Python worker to connect back)",
            "more CPU",
        ),
        (
            "Job aborted: org.apache.spark.SparkException: Python worker exited unexpectedly "
            "(crashed)\n\tat org.x\nCaused by: java.io.EOFException\n\tat java.io.Y\n",
            "(Python worker exited unexpectedly (crashed))",
            "out-of-memory",
        ),
        (
            "Job aborted: org.apache.spark.SparkException: Python worker exited unexpectedly "
            "(crashed): killed by signal 9\n",
            "(Python worker exited unexpectedly (crashed): killed by signal 9)",
            "out-of-memory",
        ),
        (
            "Terminated\nCaused by: java.net.SocketException: Connection reset\n\tat java.Z\n"
            "\tat org.apache.spark.sql.execution.python.streaming.PythonStreamingSourceRunner.x\n",
            "(Connection reset)",
            "out-of-memory",
        ),
        # Spark 4.1, whose exception for the end of a connection has no message
        (
            "null\n=== Streaming Query ===\nIdentifier: [id = 7, runId = 8]\n",
            "(Spark gives no reason)",
            "out-of-memory",
        ),
        (
            "[STREAM_FAILED] Query [id = 7, runId = 8] terminated with exception:  SQLSTATE: XXKST"
            "\n=== Streaming Query ===\n",
            "(Spark gives no reason)",
            "out-of-memory",
        ),
    ],
)
def test_a_lost_process_states_the_reason_of_spark_and_promises_no_restart(
    text, reason, look, monkeypatch
):
    if "no reason" in reason:
        monkeypatch.setattr(pyspark, "__version__", "4.2.0")
        assert find_failure(text).code == "spark.query_failed"
        monkeypatch.setattr(pyspark, "__version__", "4.1.4")
    error = find_failure(text)
    assert (error.code, error.retriable) == ("spark.process_lost", True)
    assert reason in error.message
    assert look in error.remedy
    assert "is started again" not in str(error)
    assert "same checkpoint" in error.remedy
    assert HeadraceError.find_in(f"Traceback\nHeadraceError: {error}\n").message == error.message


@pytest.mark.parametrize(
    "text",
    [
        "Job aborted\nCaused by: java.net.ConnectException: Connection refused\n"
        "\tat com.acme.Sink.write(Sink.java:1)\n\tat org.apache.spark.sql.X\n",
        "[STREAM_FAILED] Query [id = 7] terminated with exception: org.postgresql.util."
        "PSQLException: Connection refused; java.net.ConnectException SQLSTATE: XXKST",
        "Traceback (most recent call last):\n  File x\nBrokenPipeError: [Errno 32] Broken pipe\n",
    ],
)
def test_a_sink_that_lost_its_connection_is_no_lost_process(text):
    assert find_failure(text).code == "spark.query_failed"


def test_a_second_query_on_the_same_checkpoint_is_named():
    error = find_failure(
        "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs "
        "detected for 7.\nPlease make sure only one streaming job runs on a specific checkpoint "
        "location at a time. SQLSTATE: 40000"
    )
    assert (error.code, error.retriable) == ("spark.other_run", False)
    assert "checkpoint of its own" in error.remedy


def test_an_unknown_failure_names_its_last_error():
    error = find_failure("Traceback\n  File x\nZeroDivisionError: division by zero\n\tat org.x\n")
    assert error.code == "spark.query_failed"
    assert "division by zero" in error.message


@pytest.mark.parametrize(
    ("latest", "end", "caught_up"),
    [
        ('{"at":5}', '{"at":5}', True),
        ('{"at":6}', '{"at":5}', True),
        ('{"at":9}', '{"at":5}', False),
        (None, {"at": 5}, True),
        ({"at": 5}, {"at": 4, "snapshot": {"table": 1}}, False),
        ({"at": 5}, {"at": 4, "snapshot": {"table": 1, "done": True}}, True),
    ],
)
def test_a_source_has_caught_up_when_its_connector_says_so(latest, end, caught_up):
    progress = {"sources": [{"latestOffset": latest, "endOffset": end}]}
    assert has_caught_up(progress, lambda head, place: head["at"] - place["at"] < 2) is caught_up
    if latest is not None and latest != end:
        assert not has_caught_up(progress)


@pytest.mark.parametrize(
    ("state", "is_over"),
    [
        ("starting", False),
        ("snapshotting", False),
        ("waiting to stream", False),
        ("blocked", False),
        ("catching up", False),
        ("streaming", True),
        ("ended", True),
        (None, True),
    ],
)
def test_only_a_source_that_streams_or_has_ended_is_idle(monkeypatch, state, is_over):
    monkeypatch.setattr(supervisor, "source_state", lambda _query: state)
    watched = Supervisor(None, lambda: None, RunLimits(idle_exit=1.0))
    watched._watch.said_idle = True  # Spark found nothing new, and no micro-batch has run yet
    waiting = SimpleNamespace(status={"isTriggerActive": True, "message": "Waiting for data"})
    assert watched._is_idle(waiting, watched._watch.last_active + 2) is is_over


@pytest.mark.parametrize(
    ("rows", "start", "end", "is_over"),
    [
        (2, {"heartbeat": 5}, '{"at":1,"heartbeat":7}', True),
        (1, None, {"heartbeat": 1}, True),
        (3, '{"at":1,"heartbeat":5}', {"heartbeat": 7}, False),
        (1, {"heartbeat": 5}, {"heartbeat": 5}, False),
    ],
)
def test_a_source_that_gives_nothing_but_heartbeats_is_idle(monkeypatch, rows, start, end, is_over):
    monkeypatch.setattr(supervisor, "source_state", lambda _query: "streaming")
    watched = Supervisor(None, lambda: None, RunLimits(idle_exit=10.0))
    watch = watched._watch
    now = time.monotonic()
    watch.last_active = now - 20
    running = SimpleNamespace(status={"isTriggerActive": True, "message": "Processing new data"})
    waiting = SimpleNamespace(status={"isTriggerActive": True, "message": "Waiting for data"})
    assert not watched._is_idle(running, now)
    assert not watched._is_idle(waiting, now)  # it has not said yet what it had
    progress = {"sources": [{"startOffset": start, "endOffset": end}], "numInputRows": rows}
    event = SimpleNamespace(progress=lambda: SimpleNamespace(json=lambda: json.dumps(progress)))
    listener = supervisor._Listener(watch, None, supervisor._input_rows, lambda: None)
    listener.onQueryProgress(event)
    # The first one of a start may have been planned before it, and says nothing of the log's end.
    assert not watched._is_idle(waiting, now)
    listener.onQueryProgress(event)
    assert watched._is_idle(waiting, now) is is_over


def test_a_micro_batch_that_is_run_again_within_a_snapshot_is_not_the_end_of_the_log():
    end = {"lsn_commit": 5, "snapshot": {"tables": [], "done": False}}
    progress = {"sources": [{"latestOffset": None, "endOffset": end}]}
    assert not has_caught_up(progress)
    end["snapshot"]["done"] = True
    assert has_caught_up(progress)
