"""Which tests share a worker, when several run them (`make test`)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

_CHAOS = "tests/chaos/"
"""Its tests start every process by themselves and share nothing: each is one piece of work. They
are the last ones of a run, and one worker would take them all while the others rest."""
_RESIDENT = "resident"
_SPARK_WORKERS = 3  # a test with Spark starts a session of its own: a gigabyte, and a core or two


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """One test after the other, in the order of the run. Files with Spark, and files whose tests
    share a fixture, are one piece of work each; files with Kafka are one together, which has one
    broker, and so are those with a resident `headrace`, which is one with its Spark. One worker
    begins with Spark while the others do the rest; then two others join it."""

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        self._root = config.rootpath

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path.startswith(_CHAOS):
            return nodeid
        text = _text(self._root / path)
        if "kafka: KafkaServer" in text:
            return "kafka"
        if "resident: Resident" in text:
            return _RESIDENT
        return path if self._has_spark(path) or 'scope="module"' in text else nodeid

    def _assign_work_unit(self, node: Any) -> None:
        scope = self._next_scope(node)
        if scope is None:
            node.shutdown()
            return
        self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)

    def _next_scope(self, node: Any) -> str | None:
        """The piece of work that waits and is the next one for `node`; None: none is."""
        with_spark = [scope for scope in self.workqueue if self._has_spark(scope)]
        without = [scope for scope in self.workqueue if not self._has_spark(scope)]
        others = sum(self._runs_spark(other) for other in self.nodes if other is not node)
        if self.numnodes == 1:
            return next(iter(self.workqueue))
        if others == 0:
            return _first([*with_spark, *without])
        return _first([*without, *with_spark] if others < _SPARK_WORKERS else without)

    def _runs_spark(self, node: Any) -> bool:
        assigned = self.assigned_work[node]
        return any(
            self._has_spark(scope) and not all(assigned[scope].values()) for scope in assigned
        )

    def _has_spark(self, scope: str) -> bool:
        path, _, test = scope.partition("::")
        if scope == _RESIDENT:
            return True
        is_piece = path.startswith(_CHAOS) if test else path.endswith(".py")
        return is_piece and "pytest.mark.spark" in _text(self._root / path)


def _first(scopes: Iterable[str]) -> str | None:
    return next(iter(scopes), None)


@cache
def _text(file: Path) -> str:
    return file.read_text()
