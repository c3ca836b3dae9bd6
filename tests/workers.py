"""Which tests share a worker, when several run them (`make test`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

# One Spark session at a time, and one Kafka broker; files are told by what they name.
_SHARED = {"spark": "pytest.mark.spark", "kafka": "kafka: KafkaServer"}


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """One test after the other, in the order of the run; files with Spark are one piece of work,
    and so are those with Kafka."""

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        self._root = config.rootpath

    def _split_scope(self, nodeid: str) -> str:
        return _group(self._root / nodeid.partition("::")[0]) or nodeid


@cache
def _group(file: Path) -> str | None:
    text = file.read_text()
    return next((name for name, sign in _SHARED.items() if sign in text), None)
