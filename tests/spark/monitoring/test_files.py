"""Reports on disk: what another process finds of a query."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.spark.monitoring.files import STATUS, ReportFile, known_of, running_reports
from headrace.spark.monitoring.process import this_process
from headrace.spark.monitoring.report import Report
from headrace.spark.query.status_files import own_file
from tests.spark.monitoring.reports import NOW, report


def of_this_process(**members: object) -> Report:
    return report(process=this_process(), **members)


def spark_checkpoint(folder: Path, query: str) -> Path:
    """A checkpoint as Spark leaves one after two micro-batches."""
    for log in ("offsets", "commits"):
        (folder / log).mkdir(parents=True)
        for number in range(2):
            (folder / log / str(number)).write_text("v1\n{}\n")
    (folder / "metadata").write_text(json.dumps({"id": query}))
    os.utime(folder / "commits/1", (NOW, NOW))
    return folder


def test_a_state_folder_leads_to_the_report_of_its_query(tmp_path: Path) -> None:
    file = ReportFile(str(tmp_path), tmp_path)
    file.write(of_this_process(checkpoint=str(tmp_path), rows=3))
    try:
        known = known_of(tmp_path)
        assert known is not None
        assert known.report is not None
        assert (known.is_running, known.report.rows, known.batch) == (True, 3, -1)
    finally:
        file.end(of_this_process(checkpoint=str(tmp_path), state="stopped", rows=4))
    known = known_of(tmp_path)
    assert known is not None
    assert known.report is not None
    assert (known.is_running, known.report.state, known.report.rows) == (False, "stopped", 4)


NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    "members",
    [
        {"process": None}, {"process": {}}, {"process": {"pid": "1", "hostname": "h"}},
        {"process": {"pid": 1 << 40, "hostname": "h"}}, {"process": {"pid": 1, "hostname": None}},
        {"error": {"code": "x"}}, {"error": "x"}, {"error": {"code": 1, "message": 2, "remedy": 3}},
        {"tables": None}, {"tables": {"a.b": None}}, {"tables": {"a.b": {"error": 1}}},
        {"started": 1e300}, {"started": float("nan")}, {"started": "now"}, {"started": True},
        {"since": -1}, {"since": []}, {"time": None}, {"state": None}, {"name": 1}, {"query": None},
        {"metrics": []}, {"metrics": {}}, {"metrics": {"snapshot": None, "streaming": {}}},
        {"metrics": {"snapshot": {}, "streaming": {}, "database": {"lag_bytes": "many"}}},
        {"metrics": {"snapshot": {}, "streaming": {}, "oldest_unacknowledged_ms": "old"}},
        {"warnings": None}, {"warnings": [1]}, {"waits": {}}, {"attempts": "1"},
        {"rows": 10**400}, {"batches": 0.5}, {"busy_seconds": None},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("words", [[], ["--json", "--fail-on-errors", "--fail-above-lag=1s"]])
def test_a_state_with_a_member_of_another_type_is_unknown(
    members: dict[str, object],
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = of_this_process(checkpoint=str(tmp_path), state="stopped").to_json()
    (tmp_path / STATUS).write_text(json.dumps(whole))
    assert main(["status", str(tmp_path)]) == 0
    (tmp_path / STATUS).write_text(json.dumps(whole | members))
    capsys.readouterr()
    assert main(["status", str(tmp_path), *words]) == 2
    assert "nothing reports its state" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "1", '"x"', NESTED], ids=len)
def test_a_state_that_is_no_object_is_unknown(text: str, tmp_path: Path) -> None:
    (tmp_path / STATUS).write_text(text)
    assert main(["status", str(tmp_path)]) == 2


def test_a_checkpoint_of_spark_leads_to_the_report_of_its_query(tmp_path: Path) -> None:
    query = str(uuid.uuid4())
    checkpoint = spark_checkpoint(tmp_path / "anywhere", query)
    known = known_of(checkpoint)
    assert known is not None
    assert (known.report, known.is_running, known.batch) == (None, False, 1)
    assert known.committed == NOW
    file = ReportFile(query)
    file.write(of_this_process(query=query))
    try:
        known = known_of(checkpoint)
        assert known is not None
        assert known.report is not None
        assert (known.report.query, known.is_running) == (query, True)
        assert query in [report.query for report in running_reports()]
    finally:
        file.end(of_this_process(query=query, state="stopped"))
    assert query not in [report.query for report in running_reports()]


def test_a_folder_that_is_no_checkpoint_is_unknown(tmp_path: Path) -> None:
    assert known_of(tmp_path) is None
    assert known_of(tmp_path / "none") is None


def test_what_is_no_report_is_as_none(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"time": 1}', "null"):
        (tmp_path / STATUS).write_text(text)
        known = known_of(tmp_path)
        assert known is not None
        assert known.report is None, text


def test_a_killed_process_leaves_a_report_that_says_when_it_last_ran(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from tests.spark.monitoring.test_files import of_this_process\n"
        "from headrace.spark.monitoring.files import ReportFile\n"
        "folder = Path(sys.argv[1])\n"
        "ReportFile(str(folder), folder).write(of_this_process(checkpoint=str(folder)))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=root, check=False)
    known = known_of(tmp_path)
    assert known is not None
    assert known.report is not None
    assert (known.is_running, known.report.state, known.report.time) == (False, "streaming", NOW)
    assert str(tmp_path) not in [report.checkpoint for report in running_reports()]


def test_a_process_that_got_the_number_of_a_killed_one_runs_none_of_its_queries(
    tmp_path: Path,
) -> None:
    killed = this_process() | {"began": 1}  # this process has its number, and its file
    file = ReportFile(str(tmp_path), tmp_path)
    file.write(report(process=killed, checkpoint=str(tmp_path)))
    try:
        assert str(tmp_path) not in [report.checkpoint for report in running_reports()]
        known = known_of(tmp_path)
        assert known is not None
        assert known.report is not None
        assert (known.is_running, known.report.state) == (False, "streaming")
    finally:
        file.end(of_this_process())


def test_a_report_that_stays_the_same_is_written_now_and_then(tmp_path: Path) -> None:
    now = [100.0]
    file = ReportFile(str(tmp_path), tmp_path, clock=lambda: now[0])
    try:
        written = []
        for second in range(25):
            now[0] = 100.0 + second
            file.write(of_this_process(time=now[0]))
            time = json.loads((tmp_path / STATUS).read_text())["time"]
            if time not in written:
                written.append(time)
        assert written == [100, 110, 120]
        file.write(of_this_process(time=now[0], rows=1))
        assert json.loads((tmp_path / STATUS).read_text())["rows"] == 1
    finally:
        file.end(of_this_process())


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    file = ReportFile("gone", tmp_path / "gone")
    file.write(of_this_process())
    file.end(of_this_process())
    assert not (tmp_path / "gone").exists()


def test_a_process_that_starts_removes_no_report_that_is_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def replace_beside_a_start(fresh: Path, target: Path) -> Path:
        own_file("another", "query")
        return replace(fresh, target)

    file = ReportFile(str(tmp_path))
    monkeypatch.setattr(Path, "replace", replace_beside_a_start)
    try:
        file.write(of_this_process(checkpoint=str(tmp_path)))
        assert str(tmp_path) in [report.checkpoint for report in running_reports()]
    finally:
        file.end(of_this_process())


def test_other_users_cannot_read_what_lies_beside_the_sources_files(tmp_path: Path) -> None:
    file = ReportFile(str(tmp_path))
    file.write(of_this_process())
    try:
        assert file._own is not None
        assert file._own.parent.stat().st_mode & 0o077 == 0
    finally:
        file.end(of_this_process())
