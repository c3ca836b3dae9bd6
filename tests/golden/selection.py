"""Workloads that run on a server in `make test`, and those of them that are not replayed: the lists
`live.txt` of the databases. All others run on a server in `make golden-live`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

_NOT_REPLAYED = "# not replayed"


def live(folder: Path) -> dict[str, str]:
    """The path to the server that each workload of `make test` covers."""
    return {name: path for name, path, _ in _lines(folder)}


def not_replayed(folder: Path) -> set[str]:
    """Workloads of `live` that have no conversation, for the reason that the list says."""
    return {name for name, _, replayed in _lines(folder) if not replayed}


def on_a_server(folder: Path, names: Iterable[str]) -> list[ParameterSet]:
    """The workloads as parameters of a test; `make test` leaves out those that no list has."""
    live_names = live(folder)
    return [
        pytest.param(name, marks=[] if name in live_names else pytest.mark.golden_live)
        for name in names
    ]


def _lines(folder: Path) -> list[tuple[str, str, bool]]:
    entries, replayed = [], True
    for line in (folder / "live.txt").read_text().splitlines():
        if line.startswith(_NOT_REPLAYED):
            replayed = False
        elif line and not line.startswith("#"):
            name, _, path = line.partition(": ")
            entries.append((name, path, replayed))
    return entries
