"""Tests that share a worker, when several workers run them (`make test`)."""

from __future__ import annotations

from collections import deque
from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

_CHAOS = "tests/chaos/"
"""The folder whose tests start every process by themselves and share nothing: each is one piece of
work, because one worker would take them all while the others rest."""
_KAFKA = "kafka"
_RESIDENT = "resident"
_REGISTRY = "registry"
_SPARK_WORKERS = 4
"""Each starts one session, which all its tests share: a gigabyte, and a core or two in a test."""
_FROM_THE_START = 3
"""The number of workers that begin with Spark, but at most half of all workers, rounded up: tests
with Spark take longer than all others, and workers without any would be idle in the end."""


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """One test after the other, in the order of the run. Files with Spark, and files whose tests
    share a fixture, are one piece of work each; files with Kafka are one together, which has one
    broker, and so are those with a resident `headrace`, which is one with its Spark, and those with
    a schema registry. All three count as Spark, which some files of each have. Three workers
    begin with Spark while the others do the rest; then another joins them."""

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        self._root = config.rootpath
        self._waiting: dict[bool, deque[str]] = {}
        self._places: dict[str, int] = {}

    def schedule(self) -> None:
        """Schedules as xdist does, with an order for each kind of work."""
        if self.collection is None and self.registered_collections:
            nodeids = next(iter(self.registered_collections.values()))
            self._places = {nodeid: place for place, nodeid in enumerate(nodeids)}
            for scope in dict.fromkeys(map(self._split_scope, nodeids)):
                self._waiting.setdefault(self._has_spark(scope), deque()).append(scope)
        super().schedule()
        for node in self.nodes:  # a worker begins a test when it has another one
            if sum(map(len, self.assigned_work[node].values())) == 1:
                self._reschedule(node)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Does what xdist's method does; work that is done is not counted again for each later
        test."""
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        unit = self.assigned_work[node][scope]
        unit[nodeid] = True
        if all(unit.values()):
            del self.assigned_work[node][scope]
        self._reschedule(node)

    def remove_node(self, node: Any) -> str | None:
        """Does what xdist's method does: the unfinished work of a crashed worker waits again."""
        for scope in reversed(self.assigned_work[node]):
            self._waiting.setdefault(self._has_spark(scope), deque()).appendleft(scope)
        crashed: str | None = super().remove_node(node)
        return crashed

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path.startswith(_CHAOS):
            return nodeid
        text = _text(self._root / path)
        if "kafka: KafkaServer" in text:
            return _KAFKA
        if "resident: Resident" in text:
            return _RESIDENT
        if "RegistryServer" in text:
            return _REGISTRY
        return path if self._has_spark(path) or 'scope="module"' in text else nodeid

    def _reschedule(self, node: Any) -> None:
        if node in self.registered_collections:  # one that replaces another may still collect
            super()._reschedule(node)

    def _assign_work_unit(self, node: Any) -> None:
        scope = self._next_scope(node)
        if scope is None:
            node.shutdown()
            return
        unit = self.assigned_work[node][scope] = self.workqueue.pop(scope)
        node.send_runtest_some(
            [self._places[nodeid] for nodeid, is_done in unit.items() if not is_done]
        )

    def _next_scope(self, node: Any) -> str | None:
        """The piece of work that waits and is the next one for `node`; None: none is."""
        if self.numnodes == 1:
            return next(iter(self.workqueue))
        others = sum(self._runs_spark(other) for other in self.nodes if other is not node)
        begin = min(_FROM_THE_START, (self.numnodes + 1) // 2)
        kinds = [True, False] if others < begin else [False, True]
        if others >= _SPARK_WORKERS:
            kinds.remove(True)
        return next(filter(None, map(self._first, kinds)), None)

    def _first(self, with_spark: bool) -> str | None:
        waiting = self._waiting.get(with_spark, deque())
        while waiting and waiting[0] not in self.workqueue:
            waiting.popleft()
        return waiting[0] if waiting else None

    def _runs_spark(self, node: Any) -> bool:
        return any(map(self._has_spark, self.assigned_work[node]))

    def _has_spark(self, scope: str) -> bool:
        path, _, test = scope.partition("::")
        if scope in (_KAFKA, _RESIDENT, _REGISTRY):
            return True
        is_piece = path.startswith(_CHAOS) if test else path.endswith(".py")
        return is_piece and "pytest.mark.spark" in _text(self._root / path)


@cache
def _text(file: Path) -> str:
    return file.read_text()
