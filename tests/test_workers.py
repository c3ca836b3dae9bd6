"""Tests are given to workers so that at most four of these start Spark at a time."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.workers import Scheduling

FILES = {
    "test_fast.py": "",
    "test_java.py": "@pytest.mark.spark",
    "test_tls.py": '@pytest.fixture(scope="module")',
    "test_stop.py": "@pytest.mark.spark",
    "test_topic.py": "@pytest.mark.spark\ndef test_0(kafka: KafkaServer): ...",
    "test_signals.py": "def test_0(kafka: KafkaServer): ...",
    "test_ends.py": "@pytest.mark.spark\ndef test_0(resident: Resident): ...",
    "test_demo.py": "@pytest.mark.spark\ndef test_0(resident: Resident): ...",
    "test_avro.py": "@pytest.mark.spark\ndef test_0(registry: RegistryServer): ...",
    "test_schemas.py": "def test_0(registry: RegistryServer): ...",
    "test_metrics.py": "@pytest.mark.spark",
    "test_triggers.py": "@pytest.mark.spark",
    "tests/chaos/test_kills.py": "@pytest.mark.spark",
}
CHAOS = "tests/chaos/test_kills.py"
SHARED = (
    *("test_topic.py", "test_signals.py", "test_ends.py", "test_demo.py"),
    *("test_avro.py", "test_schemas.py"),
)
"""Two files with Kafka, two with a resident `headrace`, and two with a registry."""
TESTS = [f"{file}::test_{number}" for file in FILES for number in range(4)]


class Worker:
    """Takes tests, and finishes the first one when `finish` asks for it."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False
        self.waiting: list[int] = []
        self.done: list[str] = []

    def send_runtest_some(self, tests: list[int]) -> None:
        assert not self.shutting_down
        self.waiting += tests

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def current(self) -> str | None:
        """The file of the test that runs: a worker begins one when it knows the next one, or that
        it is the last."""
        ready = len(self.waiting) > 1 or (self.waiting and self.shutting_down)
        return TESTS[self.waiting[0]].partition("::")[0] if ready else None


def begin(folder: Path, count: int) -> tuple[Scheduling, list[Worker]]:
    """Workers with their first tests."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    option: Any = SimpleNamespace(tx=["popen"] * count, maxprocesses=None, loadscopereorder=False)
    config: Any = SimpleNamespace(
        rootpath=folder, option=option, getvalue=lambda name: getattr(option, name)
    )
    scheduling = Scheduling(config)
    workers = [Worker(number) for number in range(count)]
    for worker in workers:
        scheduling.add_node(worker)
    for worker in workers:
        scheduling.add_node_collection(worker, TESTS)
    scheduling.schedule()
    return scheduling, workers


def run(folder: Path, count: int, moments: list[list[str]]) -> list[Worker]:
    """Workers that ran all tests; `moments` gets the files that ran at the same time."""
    scheduling, workers = begin(folder, count)
    finish(scheduling, workers, moments)
    return workers


def finish(scheduling: Scheduling, workers: list[Worker], moments: list[list[str]]) -> None:
    """Run what waits."""
    while any(worker.waiting for worker in workers):
        running = [worker for worker in workers if worker.current]
        assert running, "every worker waits"
        moments.append([str(worker.current) for worker in running])
        for worker in running:
            test = worker.waiting.pop(0)
            worker.done.append(TESTS[test])
            scheduling.mark_test_complete(worker, test)
        if scheduling.tests_finished:  # as xdist does
            for worker in workers:
                worker.shutdown()


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_every_test_runs_once(tmp_path: Path, count: int) -> None:
    workers = run(tmp_path, count, [])
    assert sorted(test for worker in workers for test in worker.done) == sorted(TESTS)


def test_what_workers_that_crashed_have_not_done_is_done_by_others(tmp_path: Path) -> None:
    scheduling, (first, second, left) = begin(tmp_path, 3)
    begun = [TESTS[crashing.waiting[0]] for crashing in (first, second)]
    assert [scheduling.remove_node(crashing) for crashing in (first, second)] == begun
    replacing = [Worker(number) for number in (3, 4)]
    for worker in replacing:
        scheduling.add_node(worker)
    for worker in replacing:  # the second one still collects while the first one begins
        scheduling.add_node_collection(worker, TESTS)
        scheduling.schedule()
    workers = [left, *replacing]
    finish(scheduling, workers, [])
    assert all(worker.done for worker in workers)
    assert sorted(test for worker in workers for test in worker.done) == sorted(TESTS)


def test_one_worker_runs_them_in_order(tmp_path: Path) -> None:
    (worker,) = run(tmp_path, 1, [])
    shared = [test for test in TESTS if test.startswith(SHARED)]
    rest = [test for test in TESTS if test not in shared]
    assert [test for test in worker.done if test not in shared] == rest


@pytest.mark.parametrize(("count", "begin"), [(2, 1), (3, 2), (4, 2), (5, 3)])
def test_spark_runs_from_the_beginning_and_on_four_workers_at_most(
    tmp_path: Path, count: int, begin: int
) -> None:
    moments: list[list[str]] = []
    run(tmp_path, count, moments)
    with_spark = [
        sum("spark" in FILES[file] or file in SHARED for file in files) for files in moments
    ]
    assert with_spark[0] == begin
    assert max(with_spark) == min(4, count)
    assert with_spark[-1] > 0


@pytest.mark.parametrize("count", [2, 3, 5])
def test_what_belongs_together_has_one_worker(tmp_path: Path, count: int) -> None:
    workers = run(tmp_path, count, [])
    alone = (*SHARED, CHAOS)
    together = [[file] for file, text in FILES.items() if text and file not in alone]
    for files in [*together, SHARED[:2], SHARED[2:4], SHARED[4:]]:
        holders = [
            worker for worker in workers if any(t.startswith(tuple(files)) for t in worker.done)
        ]
        assert len(holders) == 1


@pytest.mark.parametrize("count", [2, 4])
def test_kills_which_share_nothing_run_on_several_workers(tmp_path: Path, count: int) -> None:
    workers = run(tmp_path, count, [])
    with_kills = [worker for worker in workers if any(t.startswith(CHAOS) for t in worker.done)]
    assert len(with_kills) > 1
