"""`headrace run --metrics-port` and `headrace status`, as operators use them."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.cli import main
from tests.cli.commands import properties
from tests.cli.monitoring.runs import WITHIN_S, Run
from tests.servers.sources import ONE_DATABASE, Source


@pytest.fixture
def run(command: Callable[..., subprocess.Popen[str]], source: Source, tmp_path: Path) -> Run:
    file = tmp_path / "shop.properties"
    text = properties(
        source,
        errors_max_retries="-1",
        retriable_restart_connector_wait_ms="200",
        **{source.watch.replace(".", "_"): "500 ms"},
    )
    file.write_text(f"{text}name=orders\nheadrace.sink.type=file\n"
                    f"headrace.sink.path={tmp_path / 'out.jsonl'}\n")  # fmt: skip
    source.insert(1, 20, "existing")
    return Run(
        command(
            "run", str(file), "--checkpoint", str(tmp_path / "state"), "--master", "local[2]",
            "--metrics-port", "0", "--log-format", "json",
        )
    )  # fmt: skip


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any], str]:
    """Exit status, the JSON on standard output and what is on standard error."""
    capsys.readouterr()
    status = main(["status", *words, "--json"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out or "null"), captured.err


@ONE_DATABASE
@pytest.mark.spark
def test_a_run_is_seen_from_outside_until_it_is_killed(
    run: Run, source: Source, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.get("/healthz")[0] == 200
    run.awaited(lambda: run.get("/readyz")[0] == 200)
    # MongoDB's stream has again what changes while the snapshot is read.
    run.awaited(lambda: run.values().get("debezium_metrics_SnapshotCompleted") == 1)
    source.insert(21, 27, "live")
    run.awaited(lambda: run.values().get("headrace_rows_total") == 27)
    run.awaited(lambda: run.values()["debezium_metrics_TotalNumberOfCreateEventsSeen"] == 7)
    run.awaited(lambda: run.values()["headrace_lag_seconds"] == 0)
    values = run.values()
    assert values["headrace_micro_batches_total"] >= 2
    assert values["headrace_restarts_total"] == values["headrace_source_attempts"] == 0
    assert values["headrace_last_commit_timestamp_seconds"] <= time.time()

    state = str(tmp_path / "state")
    # The file is written every two seconds.
    run.awaited(lambda: shown(capsys, state)[1]["rows"] == 27)
    status, report, _ = shown(capsys, state, "--fail-above-lag=60s", "--fail-on-errors")
    assert (status, report["running"], report["state"]) == (0, True, "streaming")
    assert (report["name"], report["server"], report["rows"]) == ("orders", "s", 27)
    assert main(["status", state]) == 0
    text = capsys.readouterr().out
    assert text.startswith("orders: streaming, since ")
    assert "27 events" in text
    assert main(["status"]) == 0
    assert "orders: streaming" in capsys.readouterr().out
    is_postgres = source.name == "postgresql"
    status, _, error_output = shown(capsys, state, "--fail-above-slot-bytes=1TB")
    assert status == (0 if is_postgres else 2), error_output
    if not is_postgres:
        run.awaited(lambda: "headrace_oplog_remaining_seconds" in run.values())
    else:
        run.awaited(lambda: "headrace_slot_retained_bytes" in run.values())
        status, _, error_output = shown(capsys, state, "--fail-above-slot-bytes=0")
        assert status == 1
        assert "the database keeps" in error_output

    run.process.send_signal(signal.SIGKILL)
    run.process.wait()
    status, report, _ = shown(capsys, state)
    assert (status, report["running"], report["rows"]) == (0, False, 27)
    status, _, error_output = shown(capsys, state, "--fail-on-errors")
    assert (status, "no process runs it" in error_output) == (1, True)
    assert main(["status", state]) == 0
    assert "orders: no process runs it, since " in capsys.readouterr().out


@ONE_DATABASE
@pytest.mark.spark
def test_the_endpoint_ends_with_the_run_and_says_how_it_ended(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.awaited(lambda: run.get("/readyz")[0] == 200)
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(WITHIN_S) == 0
    with pytest.raises(ConnectionRefusedError):
        run.get("/healthz")
    status, report, _ = shown(capsys, str(tmp_path / "state"))
    assert (status, report["running"], report["state"]) == (0, False, "stopped")
    assert report["process"]["pid"] == run.process.pid
    assert main(["status", str(tmp_path / "state")]) == 0
    assert "no process runs it" in capsys.readouterr().out


@pytest.mark.spark
def test_a_port_that_is_taken_ends_a_run_before_it_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "shop.properties"
    file.write_text(
        "connector.class=postgresql\ntopic.prefix=s\ndatabase.hostname=127.0.0.1\n"
        "database.port=1\ndatabase.user=u\ndatabase.password=secret-word\ndatabase.dbname=d\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        words = ["run", str(file), "--checkpoint", str(tmp_path / "state"), "--metrics-port", port]
        assert main(words) == 1
    error_output = capsys.readouterr().err
    assert (
        f"Metrics cannot be served at 127.0.0.1, port {port}: Address already in use"
        in error_output
    )
    assert "[spark.metrics_port]" in error_output


@pytest.mark.spark
def test_an_error_of_the_start_is_in_the_state_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, state = tmp_path / "shop.properties", str(tmp_path / "state")
    file.write_text(
        "connector.class=postgresql\ntopic.prefix=s\ndatabase.hostname=127.0.0.1\n"
        "database.port=1\ndatabase.user=u\ndatabase.password=secret-word\ndatabase.dbname=d\n"
    )
    assert main(["run", str(file), "--checkpoint", state, "--log-format", "json"]) == 1
    error = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert (error["level"], error["retriable"]) == ("error", True)
    status, report, _ = shown(capsys, state)
    assert (status, report["state"], report["error"]["code"]) == (0, "failed", error["code"])
    assert "secret-word" not in (tmp_path / "state/status.json").read_text()
    assert shown(capsys, state, "--fail-on-errors")[0] == 1


@pytest.mark.parametrize(
    "words", [["--metrics-port", "65536"], ["--metrics-port", "-1"], ["--metrics-port", "http"]]
)
@pytest.mark.spark
def test_an_invalid_port_is_wrong_usage(words: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "file", *words])
    assert ended.value.code == 2
